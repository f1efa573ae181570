"""A server as people write them with the Python SDK; the port is the first argument."""

import asyncio
import sys

from mcp.server.fastmcp import Context, FastMCP, Image
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = FastMCP("python-sdk", host="127.0.0.1", port=int(sys.argv[1]))
cancelled: list[str] = []
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
def add(a: int, b: int = 1) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail(reason: str) -> str:
    """Fails."""
    raise ValueError(reason)


@server.tool()
def picture() -> Image:
    """Draws one pixel."""
    return Image(data=PNG, format="png")


@server.tool()
async def slow(steps: int, ctx: Context) -> str:
    """Reports progress at each step."""
    try:
        for step in range(steps):
            await ctx.report_progress(step + 1, steps)
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        cancelled.append("slow")
        raise
    return "done"


@server.tool()
def cancelled_calls() -> list[str]:
    """Names the calls that were cancelled."""
    return cancelled


class Order(BaseModel):
    city: str = Field(description="Where to?", min_length=1)
    express: bool = False


@server.tool()
async def order(ctx: Context) -> str:
    """Asks for the fields of a form."""
    answer = await ctx.elicit("Where to?", Order)
    return f"{answer.action} {answer.data.model_dump_json()}" if answer.action == "accept" else answer.action


@server.tool()
async def pay(ctx: Context) -> str:
    """Asks the person to open an address."""
    return (await ctx.elicit_url("Please pay.", "https://pay.example.com/1", "p1")).action


server.run(transport="streamable-http")
