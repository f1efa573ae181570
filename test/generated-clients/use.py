"""Uses the client that openapi-python-client makes: a session, a message, its stream, an answer, and the history in pages.

Prints what it saw as JSON. The folder with the client is its first argument.
"""

import io
import json
import os
import sys

sys.path.insert(0, sys.argv[1])

from agents import AuthenticatedClient
from agents.api.files import delete_file, list_files, upload_file
from agents.api.sessions import create_session, get_session, list_events, send_answers, send_message, update_session
from agents.types import File
from agents.models import (
    AgentRequiresActionEvent,
    ConfirmationResult,
    ErrorResponse,
    FileUpload,
    McpDefaultConfigInput,
    McpToolsetInput,
    NewAnswers,
    NewMessage,
    NewSession,
    SessionChange,
    PermissionPolicyInput,
    PermissionPolicyType,
    ToolConfirmationAction,
    ToolConfirmationAnswer,
)

client = AuthenticatedClient(base_url=os.environ["BASE"], token=os.environ["KEY"], raise_on_unexpected_status=True)
server = os.environ["MCP_SERVER_ID"]
ask = McpDefaultConfigInput(permission_policy=PermissionPolicyInput(type_=PermissionPolicyType.ALWAYS_ASK))
toolset = McpToolsetInput(type_="mcp_toolset", mcp_server_id=server, default_config=ask)
body = NewSession(model_id="scripted", mcp_servers=[server], tools=[toolset])
session = create_session.sync(client=client, body=body, idempotency_key=f"python-{server}")
message = send_message.sync(session.id, client=client, body=NewMessage(content="Go"))


def answer(event: AgentRequiresActionEvent) -> list:
    events = [
        ToolConfirmationAnswer(type_="user.tool_confirmation", tool_use_id=one.tool_use_id, result=ConfirmationResult.ALLOW)
        for one in event.required_actions
        if isinstance(one, ToolConfirmationAction)
    ]
    return send_answers.sync(session.id, client=client, body=NewAnswers(events=events)).items


streamed, stored = [], []
# The generator has no streams: its HTTP client reads the frames.
with client.get_httpx_client().stream("GET", f"/v1/sessions/{session.id}/events/stream", timeout=60) as response:
    for line in response.iter_lines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line.removeprefix("data: "))
        streamed.append(event["type"])
        if event["type"] == "agent.requires_action":
            stored += answer(AgentRequiresActionEvent.from_dict(event))

history, cursor = [], {}
while True:
    page = list_events.sync(session.id, client=client, limit=2, **cursor)
    history += [event.type_ for event in page.items]
    if page.meta.next_cursor is None:
        break
    cursor = {"cursor": page.meta.next_cursor}

# A call of each kind: PATCH, the upload of a file, DELETE.
changed = update_session.sync(session.id, client=client, body=SessionChange.from_dict({"metadata": {"by": "python"}}))
assert changed.metadata["by"] == "python"
upload = FileUpload(file=File(payload=io.BytesIO(b"content"), file_name="a.txt"))
file = upload_file.sync(client=client, body=upload)
assert [one.id for one in list_files.sync(client=client).items] == [file.id]
assert delete_file.sync_detailed(file.id, client=client).status_code == 204

unknown = get_session.sync("ses_unknown", client=client)
assert isinstance(unknown, ErrorResponse)
print(
    json.dumps(
        {
            "turn": message.turn_id,
            "streamed": streamed,
            "answered": [one.type_ for one in stored],
            "history": history,
            "status": get_session.sync(session.id, client=client).status.value,
            "error": unknown.error.type_,
        }
    )
)
