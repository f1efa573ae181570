"""A server whose tool is called as a task, with the Python SDK's experimental tasks; the port is the first argument."""

import contextlib
import json
import sys

import mcp.types as types
import uvicorn
from mcp.server.experimental.task_context import ServerTaskContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import Mount

FORM = {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"]}
server = Server("python-tasks")
server.experimental.enable_tasks()


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    schema = {"type": "object", "properties": {"ask": {"type": "string"}}}
    execution = types.ToolExecution(taskSupport=types.TASK_REQUIRED)
    return [types.Tool(name="build", description="Builds.", inputSchema=schema, execution=execution)]


@server.call_tool()
async def call_tool(name: str, arguments: dict) -> types.CreateTaskResult:
    async def work(task: ServerTaskContext) -> types.CallToolResult:
        await task.update_status("Compiling")
        answer = None
        if arguments.get("ask") == "form":
            answer = await task.elicit("Which branch?", FORM)
        elif arguments.get("ask") == "url":
            answer = await task.elicit_url("Please pay.", "https://pay.example.com/1", "p1")
        elif arguments.get("ask") == "fail":
            raise ValueError("No space left.")
        text = "Built." if answer is None else json.dumps({"action": answer.action, "content": answer.content})
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    return await server.request_context.experimental.run_task(work)


sessions = StreamableHTTPSessionManager(server)


@contextlib.asynccontextmanager
async def lifespan(_: Starlette):
    async with sessions.run():
        yield


async def handle(scope, receive, send) -> None:
    await sessions.handle_request(scope, receive, send)


app = Starlette(routes=[Mount("/mcp", app=handle)], lifespan=lifespan)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]))
