"""Parts of the client that need no service."""

from __future__ import annotations

import inspect

import pytest
from pydantic import TypeAdapter

import agent_session_service
from agent_session_service import AsyncClient, Client, ConnectionFailed, models
from agent_session_service._async.transport import key_in
from agent_session_service._json import encode, parse, query_string
from agent_session_service._sse import Frame, Ping, RetryLine, SseParser


def parsed(data: bytes, size: int) -> list[object]:
    parser = SseParser()
    return [item for start in range(0, len(data), size) for item in parser.push(data[start : start + size])]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_stream_is_parsed_however_it_is_cut(end: str) -> None:
    lines = ["retry: 2000", ": ping", "", "id: t:1", "event: x", "data: é😀", "data:two", "", "data: 3", "", ": end"]
    for size in range(1, 20):
        assert parsed(end.join(lines).encode(), size) == [RetryLine(2.0), Ping(), Frame("t:1", "é😀\ntwo"), Frame("t:1", "3")]


def test_a_frame_may_have_megabytes_in_small_pieces() -> None:
    text = "x" * 16_000_000
    assert parsed(f"id: t:1\ndata: {text}\n\n".encode(), 500) == [Frame("t:1", text)]


def test_unknown_variants_fields_and_values_are_kept() -> None:
    event = parse(models.StreamEvent, '{"type":"agent.new","turn_id":"turn_1","fact":{"n":12345678901234567890123}}')
    assert isinstance(event, models.UnknownEvent)
    assert (event.type, event.fact) == ("agent.new", {"n": 12345678901234567890123})
    action = parse(models.RequiredAction, '{"type":"elicitation","mode":"voice","elicitation_id":"elic_1"}')
    assert isinstance(action, models.UnknownAction)
    tool = TypeAdapter[models.SessionTool](models.SessionTool).validate_python({"type": "browser", "depth": 2})
    assert isinstance(tool, models.UnknownTool)
    assert parse(models.SessionStatus, '"PAUSED"') == "PAUSED"
    delta = parse(
        models.StreamEvent, '{"type":"agent.message.delta","turn_id":"t","message_id":"m","content":"\\ud83d","more":1}'
    )
    assert isinstance(delta, models.DeltaEvent)
    assert (delta.content, delta.model_extra) == ("\ud83d", {"more": 1})


def test_integers_keep_every_digit() -> None:
    digits = "-" + "1234567890" * 700
    event = parse(models.Event, f'{{"type":"x","n":{digits}}}')
    high, low = divmod(-event.n, 10**10)
    assert low == 1234567890
    assert high % 10 == 0


def test_json_carries_models_dates_and_halves_of_surrogate_pairs() -> None:
    policy = models.PermissionPolicyInput(type="always_ask")
    assert encode({"é": [policy], "half": "a\ud83d"}) == b'{"\\u00e9":[{"type":"always_ask"}],"half":"a\\ud83d"}'
    assert encode({"é": 1}) == '{"é":1}'.encode()
    with pytest.raises(TypeError):
        encode({"a": object()})
    with pytest.raises(ValueError, match="JSON"):
        encode(float("nan"))


def test_queries_have_lists_with_commas_and_pairs_in_brackets() -> None:
    query = {"types": ["a", "b"], "metadata": {"k y": "v"}, "requires_action": True, "none": None}
    assert query_string(query) == "?types=a%2Cb&metadata%5Bk+y%5D=v&requires_action=true"
    assert query_string({}) == ""


def test_the_two_clients_have_the_same_methods() -> None:
    for name, method in inspect.getmembers(AsyncClient, inspect.isfunction):
        if not name.startswith("_"):
            twin = inspect.signature(getattr(Client, name)).parameters
            assert list(twin) == list(inspect.signature(method).parameters)


def test_each_list_has_an_iterator() -> None:
    lists = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if name.startswith("list_")}
    iterators = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if name.startswith("each_")}
    assert len(lists) == len(iterators)
    assert {"each_session", "each_event", "each_file", "each_webhook_delivery", "each_timeline_entry"} <= iterators


def test_a_client_needs_an_address_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_SESSION_BASE_URL", raising=False)
    monkeypatch.delenv("AGENT_SESSION_API_KEY", raising=False)
    with pytest.raises(ValueError, match="AGENT_SESSION_BASE_URL"):
        Client()
    with pytest.raises(ValueError, match="AGENT_SESSION_API_KEY"):
        Client("http://127.0.0.1:9")
    monkeypatch.setenv("AGENT_SESSION_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AGENT_SESSION_API_KEY", "ask_1")
    Client().close()
    assert agent_session_service.__version__


@pytest.mark.parametrize("key", ["", "ask_a\nb", "ask_é", "ask a"])
def test_a_key_that_no_header_can_carry_is_refused_at_once(key: str) -> None:
    with Client("http://127.0.0.1:1", lambda: key) as client, pytest.raises(ValueError, match="is no key"):
        client.list_models()
    assert key_in("ask_key\r\n") == "ask_key"


def test_a_service_that_is_not_there_is_named_with_the_reason() -> None:
    with Client("http://user:secret@127.0.0.1:1", "ask_key", retry_for=0) as client:
        with pytest.raises(ConnectionFailed, match=r"GET /v1/models: .* \(http://127\.0\.0\.1:1: .*refused") as failed:
            client.list_models()
        assert "secret" not in str(failed.value)
