"""The client with a real service: operations, runs, streams and files."""

from __future__ import annotations

import io
import signal
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest
from pydantic import BaseModel

from agent_session_service import (
    ApiError,
    AsyncClient,
    AuthenticationError,
    Client,
    ConflictError,
    Decision,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RunResult,
    is_terminal,
    models,
)

from .conftest import Harness

WORDS = [f"word{n} " for n in range(40)]
WEATHER = models.CustomToolInput(
    type="custom",
    name="get_weather",
    description="Weather.",
    input_schema=models.CustomToolInputSchema(type="object"),
)


def mail_tools(harness: Harness) -> dict[str, Any]:
    ask = {
        "type": "mcp_toolset",
        "mcp_server_id": harness.server_id,
        "default_config": {"permission_policy": {"type": "always_ask"}},
    }
    return {"mcp_servers": [harness.server_id], "tools": [ask]}


def is_before_last(event: models.StreamEvent) -> bool:
    return event.type == "agent.message.delta" and event.content.endswith(WORDS[-2])


def test_operations_return_models(client: Client) -> None:
    created = client.create_session(model_id="scripted", instruction=None, metadata={"customer": "4711"})
    assert isinstance(created, models.Session)
    assert (created.status, created.instruction, created.metadata) == ("IDLE", None, {"customer": "4711"})
    assert created.created_at.tzinfo is not None
    assert client.get_session(created.id) == created
    client.update_session(created.id, metadata={"customer": "4712"})
    found = client.list_sessions(
        metadata={"customer": "4712"}, created_after=created.created_at - timedelta(seconds=1), requires_action=False
    )
    assert [session.id for session in found.items] == [created.id]
    client.delete_session(created.id)
    with pytest.raises(NotFoundError):
        client.get_session(created.id)


def test_a_field_that_is_not_given_is_not_sent_and_none_is_null(client: Client, session: str) -> None:
    target = {"type": "existing_session", "session_id": session}
    schedule = client.create_schedule(name="Daily", cron="0 8 1 1 *", target=target, message={"content": "Report"})
    assert client.update_schedule(schedule.id, overlap="queue").name == "Daily"
    assert client.update_schedule(schedule.id, name=None).name is None
    client.delete_schedule(schedule.id)


def test_a_name_that_python_keeps_ends_in_an_underscore(client: Client) -> None:
    since = datetime.now(timezone.utc) - timedelta(days=1)
    page = client.list_usage(from_=since, to=datetime.now(timezone.utc), group_by="model")
    assert isinstance(page, models.UsageGroupPage)


def test_errors_have_classes_and_details(client: Client, harness: Harness) -> None:
    with pytest.raises(InvalidRequestError) as unknown:
        client.create_session(model_id="no-such-model")
    error = unknown.value
    assert (error.status, error.type, error.retryable) == (422, "unknown_model", False)
    assert error.details is not None
    assert error.details.available_models == ["scripted"]
    assert error.request_id is not None
    with Client(harness.service, "ask_wrong") as stranger, pytest.raises(AuthenticationError):
        stranger.list_models()
    session = client.create_session(model_id="scripted").id
    with pytest.raises(ConflictError) as nothing:
        client.continue_turn(session)
    assert nothing.value.type == "turn_not_continuable"
    with (
        Client(harness.service, harness.new_key(session_id=session, scopes=["read"])) as page,
        pytest.raises(PermissionDeniedError),
    ):
        page.cancel_turn(session)
    with pytest.raises(ValueError, match="is not an id"):
        client.get_session("..")


def test_lists_run_over_all_pages_and_begin_again_at_their_cursor(client: Client, session: str) -> None:
    for _ in range(2):
        client.run(session, content="Count")
    events = client.each_event(session, limit=2)
    assert events.cursor is None
    ids = [event.id for event in events if not isinstance(event, models.UnknownEvent)]
    assert len(ids) == len(set(ids)) >= 6
    client.run(session, content="Count")
    rest = [event.type for event in client.each_event(session, limit=2, cursor=events.cursor)]
    assert rest[-1] == "turn.completed"
    assert "user.message" in rest
    newest = client.each_event(session, types=["user.message", "turn.completed"], order="desc", limit=1)
    assert [event.type for event in newest] == ["turn.completed", "user.message"] * 3
    assert [turn.status for turn in client.each_turn(session)] == ["completed"] * 3


def test_run_calls_tools_and_sends_what_they_return(client: Client) -> None:
    session = client.create_session(model_id="scripted", tools=[WEATHER]).id
    seen: list[Any] = []
    types: list[str] = []

    def weather(input: dict[str, Any], action: models.CustomToolResultAction) -> dict[str, Any]:
        seen.append((input, action.tool_use_id))
        return {"sky": "blue"}

    result = client.run(
        session, content="Weather?", tools={"get_weather": weather}, on_event=lambda event: types.append(event.type)
    )
    assert (result.status, result.message, result.output) == ("completed", "Sunny.", None)
    # Integers keep every digit.
    assert seen == [({"city": "Rome", "n": 123456789012345678901234567890}, "toolu_w")]
    answers = [event for event in result.events if isinstance(event, models.UserCustomToolResultEvent)]
    assert [(answer.content, answer.is_error) for answer in answers] == [('{"sky":"blue"}', False)]
    assert "agent.message.delta" in types or types[-1] == "turn.completed"
    assert result.usage is not None


@pytest.mark.parametrize(
    ("value", "content"), [([1, None], "[1,null]"), (7, "7"), ("plain", "plain"), (None, ""), (WEATHER, None)]
)
def test_a_tool_returns_a_text_or_a_value(client: Client, value: object, content: str | None) -> None:
    session = client.create_session(model_id="scripted", tools=[WEATHER]).id

    def weather(input: dict[str, Any]) -> object:
        return value

    result = client.run(session, content="Weather?", tools={"get_weather": weather})
    answer = next(event for event in result.events if isinstance(event, models.UserCustomToolResultEvent))
    assert answer.content == content if content is not None else answer.content.startswith('{"type":"custom"')


def test_an_exception_of_a_tool_is_the_tools_error(client: Client) -> None:
    session = client.create_session(model_id="scripted", tools=[WEATHER]).id

    def fail(input: dict[str, Any]) -> str:
        raise RuntimeError("No network.")

    result = client.run(session, content="Weather?", tools={"get_weather": fail})
    answer = next(event for event in result.events if isinstance(event, models.UserCustomToolResultEvent))
    assert (answer.content, answer.is_error) == ("No network.", True)


def test_confirm_allows_and_denies(client: Client, harness: Harness) -> None:
    session = client.create_session(model_id="scripted", **mail_tools(harness)).id

    def confirm(action: models.ToolConfirmationAction) -> Any:
        return "allow" if action.tool_use_id == "toolu_1" else {"deny": "Once is enough."}

    result = client.run(session, content="Mail", confirm=confirm, actor="ada")
    answers = [event for event in result.events if isinstance(event, models.UserToolConfirmationEvent)]
    assert sorted((one.tool_use_id, one.result, one.actor) for one in answers) == [
        ("toolu_1", "allow", "ada"),
        ("toolu_2", "deny", "ada"),
    ]
    assert {one.deny_message for one in answers} == {None, "Once is enough."}


def test_confirm_changes_the_input_and_remembers(client: Client, harness: Harness) -> None:
    decisions: dict[str, Decision] = {
        "toolu_1": {"allow": {"input": {"to": "ada"}}},
        "toolu_2": {"allow": {"remember": "session"}},
    }
    session = client.create_session(model_id="scripted", **mail_tools(harness)).id
    result = client.run(session, content="Mail", confirm=lambda action: decisions[action.tool_use_id])
    answers = [event for event in result.events if isinstance(event, models.UserToolConfirmationEvent)]
    assert sorted((one.tool_use_id, one.result, str(one.input), one.remember) for one in answers) == [
        ("toolu_1", "allow", "{'to': 'ada'}", None),
        ("toolu_2", "allow", "None", "session"),
    ]
    # Nothing is asked any more.
    assert client.run(session, content="Mail").status == "completed"


def test_run_answers_what_an_agent_that_was_called_asks(client: Client, harness: Harness) -> None:
    agent = client.create_agent(name="mailer", model_id="scripted", **mail_tools(harness)).id
    asked: list[tuple[str, str | None]] = []

    def confirm(action: models.ToolConfirmationAction) -> Any:
        asked.append((action.tool_use_id, action.session_id))
        return "allow"

    session = client.create_session(model_id="scripted", tools=[{"type": "agent", "agent_id": agent}]).id
    result = client.run(session, content="Delegate", confirm=confirm)
    assert (result.status, result.message) == ("completed", "It is sent.")
    [child] = client.each_session(parent_session_id=session)
    assert sorted(asked) == [("toolu_1", child.id), ("toolu_2", child.id)]

    async def main() -> RunResult[dict[str, Any]]:
        async with AsyncClient(harness.service, harness.key) as other:
            another = await other.create_session(model_id="scripted", tools=[{"type": "agent", "agent_id": agent}])
            return await other.run(another.id, content="Delegate", confirm=confirm)

    assert anyio.run(main).message == "It is sent."
    client.delete_agent(agent)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_confirm_of_the_async_client_waits_beside_the_stream(harness: Harness, backend: str) -> None:
    async def main() -> None:
        async with AsyncClient(harness.service, harness.key) as client:
            session = (await client.create_session(model_id="scripted", **mail_tools(harness))).id
            waiting: set[str] = set()
            both = anyio.Event()

            async def confirm(action: models.ToolConfirmationAction) -> Any:
                # Neither call waits for the decision about the other.
                waiting.add(action.tool_use_id)
                if len(waiting) == 2:
                    both.set()
                await both.wait()
                return "allow"

            result = await client.run(session, content="Mail", confirm=confirm)
            assert (result.status, result.message) == ("completed", "Done.")

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_what_confirm_raises_is_raised_and_the_call_stays_open(harness: Harness, backend: str) -> None:
    class NobodyIsHere(Exception):
        pass

    async def main() -> None:
        async with AsyncClient(harness.service, harness.key) as client:
            session = (await client.create_session(model_id="scripted", **mail_tools(harness))).id

            async def confirm(action: models.ToolConfirmationAction) -> Any:
                raise NobodyIsHere

            with pytest.raises(NobodyIsHere):
                await client.run(session, content="Mail", confirm=confirm)
            assert len((await client.get_session(session)).required_actions) == 2
            await client.cancel_turn(session)

    anyio.run(main, backend=backend)
    with Client(harness.service, harness.key) as client:
        session = client.create_session(model_id="scripted", **mail_tools(harness)).id

        def confirm(action: models.ToolConfirmationAction) -> Any:
            raise NobodyIsHere

        with pytest.raises(NobodyIsHere):
            client.run(session, content="Mail", confirm=confirm)
        client.cancel_turn(session)


def test_run_accepts_that_another_client_was_faster(client: Client, harness: Harness) -> None:
    session = client.create_session(model_id="scripted", **mail_tools(harness)).id

    def confirm(action: models.ToolConfirmationAction) -> Any:
        client.send_answers(
            session, events=[{"type": "user.tool_confirmation", "tool_use_id": action.tool_use_id, "result": "deny"}]
        )
        return "allow"

    result = client.run(session, content="Mail", confirm=confirm)
    answers = [event for event in result.events if isinstance(event, models.UserToolConfirmationEvent)]
    assert [one.result for one in answers] == ["deny", "deny"]


def test_run_gives_the_output_as_an_instance_of_a_class(client: Client, session: str) -> None:
    class Report(BaseModel):
        late: list[int]
        note: str | None = None

    result = client.run(session, content="Output", output=Report)
    assert result.output == Report(late=[4711])
    plain = client.run(session, content="Output", output=Report.model_json_schema())
    assert plain.output == {"late": [4711], "note": None}
    assert client.run(session, content="Count").output is None


def test_run_with_the_same_key_follows_the_same_turn(client: Client, session: str) -> None:
    first = client.run(session, content="Count", idempotency_key="job-17")
    again = client.run(session, content="Count", idempotency_key="job-17")
    assert (first.turn_id, first.events) == (again.turn_id, again.events)
    assert client.follow_turn(session, first.turn_id).message == "".join(WORDS)


def test_follow_message_waits_for_the_turn_of_a_message_that_queues(client: Client, session: str, harness: Harness) -> None:
    client.send_message(session, content="Go slowly")
    queued = client.send_message(session, content="Count", when_running="queue")
    assert queued.state == "queued"
    harness.open_gate()
    result = client.follow_message(session, queued)
    assert (result.turn_id, result.message) == (queued.turn_id, "".join(WORDS))
    earlier = client.follow_turn(session, next(turn.id for turn in client.each_turn(session) if turn.id != queued.turn_id))
    assert earlier.status == "completed"


def test_a_cancelled_turn_is_a_result(client: Client, session: str) -> None:
    result = client.run(
        session, content="Go slowly", on_event=lambda event: is_before_last(event) and client.cancel_turn(session)
    )
    assert result.status == "cancelled"


def test_a_stream_continues_after_cuts_without_losing_or_repeating_an_event(
    client: Client, session: str, harness: Harness
) -> None:
    harness.faults({"cut": 900}, {"answer": {"status": 502, "body": "Bad Gateway"}}, {"cut": "before the answer"}, {"cut": 700})
    client.send_message(session, content="Go slowly")
    words, stored = "", list[str]()
    with Client(harness.proxy, harness.key) as behind:
        for event in behind.stream(session):
            if event.type == "agent.message.delta":
                words += event.content
            elif not isinstance(event, models.RetryEvent | models.UnknownEvent | models.DeltaEvent):
                stored.append(event.id)
            if is_before_last(event):
                harness.open_gate()
    assert words == "".join(WORDS)
    assert stored == [event.id for event in client.each_event(session)]
    assert len([one for one in harness.requests() if one["path"].endswith("/stream")]) >= 4


def test_leaving_a_loop_closes_the_connection_and_the_turn_goes_on(client: Client, session: str, harness: Harness) -> None:
    http = httpx.Client()
    with Client(harness.service, harness.key, http_client=http) as own:
        own.send_message(session, content="Go slowly")
        stream = own.stream(session)
        for event in stream:
            if event.type == "agent.message.delta":
                break
        assert connections(http) == ["idle or closed"]
        with own.stream(session, last_event_id=stream.last_event_id) as second:
            for event in second:
                if is_before_last(event):
                    break
        assert connections(http) == ["idle or closed"]
        harness.open_gate()
        rest = [event.type for event in own.stream(session, last_event_id=second.last_event_id)]
    assert rest[-1] == "turn.completed"
    assert http.get(f"{harness.service}/health").status_code in (200, 404)
    http.close()


def connections(http: httpx.Client) -> list[str]:
    pool: Any = vars(http)["_transport"]
    states = {"idle or closed" if one.is_idle() or one.is_closed() else "open" for one in pool._pool.connections}
    return sorted(states) or ["idle or closed"]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_task_ends_the_wait_and_not_the_turn(harness: Harness, backend: str) -> None:
    async def main() -> None:
        async with AsyncClient(harness.service, harness.key) as client:
            session = (await client.create_session(model_id="scripted")).id
            with anyio.CancelScope() as scope:
                await client.run(session, content="Go slowly", on_event=lambda event: is_before_last(event) and scope.cancel())
            assert scope.cancelled_caught
            assert (await client.get_session(session)).status == "RUNNING"
            harness.open_gate()
            async with client.stream(session) as stream:
                last = [event async for event in stream][-1]
            assert is_terminal(last)
            assert last.type == "turn.completed"

    anyio.run(main, backend=backend)


def test_follow_shows_the_turns_that_begin(client: Client, session: str) -> None:
    client.run(session, content="Count")
    ends = 0
    with client.follow(session) as stream:
        for event in stream:
            if is_terminal(event):
                ends += 1
                if ends == 1:
                    client.send_message(session, content="Count")
                else:
                    client.delete_session(session)
    assert ends == 2


def test_ctrl_c_ends_the_wait_and_not_the_turn(client: Client, session: str, harness: Harness) -> None:
    code = (
        "import sys\nfrom agent_session_service import Client\n"
        "def show(event):\n    print(event.type, flush=True)\n"
        "Client().run(sys.argv[1], content='Go slowly', on_event=show)\n"
    )
    root = Path(__file__).parents[1]
    env = {"AGENT_SESSION_BASE_URL": harness.service, "AGENT_SESSION_API_KEY": harness.key, "PYTHONPATH": str(root / "src")}
    command = [sys.executable, "-c", code, session]
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "user.message\n"
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
    assert "KeyboardInterrupt" in err
    assert client.get_session(session).status == "RUNNING"
    client.cancel_turn(session)


def test_200_streams_of_one_process_get_every_event_once(harness: Harness) -> None:
    sessions, readers = 20, 10

    async def main() -> None:
        async with AsyncClient(harness.service, harness.key) as direct, AsyncClient(harness.proxy, harness.key) as client:
            ids = [(await direct.create_session(model_id="scripted")).id for _ in range(sessions)]
            seen: list[tuple[str, list[str], list[str]]] = []
            harness.faults(*({"cut": 300 + 7 * n} for n in range(sessions * readers)))
            opened = 0
            whole = anyio.Event()

            async def read(session: str) -> None:
                nonlocal opened
                words, stored = list[str](), list[str]()
                seen.append((session, words, stored))
                async for event in client.stream(session):
                    if event.type == "agent.message.delta":
                        words.append(event.content)
                    elif (event_id := getattr(event, "id", None)) is not None:
                        stored.append(event_id)
                    if is_before_last(event):
                        opened += 1
                        if opened == sessions * readers:
                            whole.set()

            async with anyio.create_task_group() as group:
                for session in ids:
                    await direct.send_message(session, content="Go slowly")
                    for _ in range(readers):
                        group.start_soon(read, session)
                await whole.wait()
                await anyio.to_thread.run_sync(harness.open_gate)
            assert len(seen) == sessions * readers
            for session, words, stored in seen:
                assert "".join(words) == "".join(WORDS)
                assert stored == [
                    event.id async for event in direct.each_event(session) if not isinstance(event, models.UnknownEvent)
                ]

    anyio.run(main)
    assert len([one for one in harness.requests() if one["path"].endswith("/stream")]) >= 2 * sessions * readers


def test_files_are_uploaded_and_downloaded(client: Client, harness: Harness, tmp_path: Path) -> None:
    source = tmp_path / "Größe 1.txt"
    source.write_bytes(b"from a path")
    by_path = client.upload_file(source)
    assert (by_path.filename, by_path.size_bytes) == ("Größe 1.txt", 11)
    by_bytes = client.upload_file(b"bytes", "b.txt")
    with open(source, "rb") as file:
        by_file = client.upload_file(file, filename="c.txt", idempotency_key="upload-1")
        file.seek(0)
        assert client.upload_file(file, filename="c.txt", idempotency_key="upload-1").id == by_file.id
    target = tmp_path / "copy"
    assert client.download_file(by_path.id).save(target) == 11
    assert target.read_bytes() == b"from a path"
    assert client.download_file(by_bytes.id).text() == "bytes"
    assert b"".join(client.download_file(by_file.id)) == b"from a path"
    with pytest.raises(NotFoundError):
        client.download_file("file_none").read()
    with pytest.raises(ValueError, match="filename"):
        client.upload_file(io.BytesIO(b"x"))
    for one in (by_path, by_bytes, by_file):
        client.delete_file(one.id)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_files_of_the_async_client(harness: Harness, tmp_path: Path, backend: str) -> None:
    source = tmp_path / "large.bin"
    source.write_bytes(bytes(range(256)) * 12_000)

    async def main() -> None:
        async with AsyncClient(harness.proxy, harness.key) as client:
            await anyio.to_thread.run_sync(partial(harness.faults, {"cut": "before the answer"}))
            file = await client.upload_file(str(source))
            assert file.size_bytes == 256 * 12_000
            # A download that broke off begins again.
            await anyio.to_thread.run_sync(partial(harness.faults, {"cut": 100_000}))
            await client.download_file(file.id).save(tmp_path / "copy.bin")
            chunks = [chunk async for chunk in client.download_file(file.id)]
            assert b"".join(chunks) == source.read_bytes()
            await client.delete_file(file.id)

    anyio.run(main, backend=backend)
    assert (tmp_path / "copy.bin").read_bytes() == source.read_bytes()


def test_a_key_that_is_a_function_is_asked_once_and_again_after_a_401(session: str, harness: Harness) -> None:
    keys = ["sst_old.x", harness.new_key(session_id=session)]
    asked: list[str] = []

    def next_key() -> str:
        asked.append(keys[len(asked)])
        return asked[-1]

    with Client(harness.service, next_key) as client:
        client.get_session(session)
        client.get_session(session)
    assert asked == keys

    async def main() -> None:
        asked.clear()

        async def later() -> str:
            await anyio.lowlevel.checkpoint()
            return next_key()

        async with AsyncClient(harness.service, later) as client, anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(client.get_session, session)

    anyio.run(main)
    assert asked == keys

    class SignedOut(Exception):
        pass

    def fail() -> str:
        raise SignedOut

    with Client(harness.service, fail) as client:
        with pytest.raises(SignedOut):
            client.get_session(session)
        with pytest.raises(SignedOut):
            next(iter(client.stream(session)))


def test_the_second_401_is_raised(session: str, harness: Harness) -> None:
    asked: list[int] = []
    with Client(harness.service, lambda: f"ask_wrong{asked.append(1)}") as client, pytest.raises(ApiError) as refused:
        client.get_session(session)
    assert (refused.value.status, len(asked)) == (401, 2)
