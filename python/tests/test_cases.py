"""The cases that the TypeScript client is tested with as well (test/client/cases.test.ts)."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from agent_session_service import (
    ApiError,
    AsyncClient,
    Client,
    ConnectionFailed,
    Retry,
    WebhookVerificationError,
    verify_webhook,
)

from .conftest import Harness

CASES: dict[str, Any] = json.loads((Path(__file__).parents[2] / "test" / "client" / "cases.json").read_text("utf-8"))


class Pipe(io.RawIOBase):
    """A stream that can be read only once."""

    def __init__(self) -> None:
        super().__init__()
        self._left = b"content"

    def read(self, size: int = -1) -> bytes:
        left, self._left = self._left, b""
        return left


CALLS: dict[str, Callable[[Any], Any]] = {
    "listModels": lambda client: client.list_models(),
    "createSession": lambda client: client.create_session(model_id="m"),
    "createSession with the key job-17": lambda client: client.create_session(model_id="m", idempotency_key="job-17"),
    "deleteSession": lambda client: client.delete_session("ses_1"),
    "callMcpTool": lambda client: client.call_mcp_tool("mcp_1", "refund", input={}),
    "uploadFile": lambda client: client.upload_file(b"content", "a.txt"),
    "uploadFile as a stream": lambda client: client.upload_file(Pipe(), "a.txt"),
}
BACKENDS = ["blocking", "asyncio", "trio"]


def name_of(case: dict[str, Any]) -> str:
    return case["name"]


def start(kind: str, case: dict[str, Any], harness: Harness, backend: str) -> tuple[str, list[Retry], dict[str, Any]]:
    url = str(httpx.URL(f"{harness.cases}/").join(f"{kind}/")) + f"{case['name']}/{backend}"
    url = str(httpx.URL(url))
    retries: list[Retry] = []
    options: dict[str, Any] = {"base_url": url, "api_key": "ask_1", "on_retry": retries.append}
    given = case.get("client", {})
    if "retry_for_ms" in given:
        options["retry_for"] = given["retry_for_ms"] / 1000
    if "timeout_ms" in given:
        options["timeout"] = given["timeout_ms"] / 1000
    return url, retries, options


def check(failure: Exception | None, expected: dict[str, Any], url: str, retries: list[Retry]) -> None:
    requests = httpx.get(f"{url}/log").json()
    assert len(requests) == expected["requests"], failure
    error = expected.get("error")
    if error is None:
        assert failure is None, failure
    elif error == "connection":
        assert isinstance(failure, ConnectionFailed)
    else:
        assert isinstance(failure, ApiError)
        assert (failure.status, failure.type, failure.retryable) == (error["status"], error["type"], error["retryable"])
        assert failure.retry_after == error["retry_after_ms"] / 1000 if "retry_after_ms" in error else True
        assert error.get("message", "") in failure.message
    if "pauses" in expected:
        assert len(retries) == len(expected["pauses"])
        for retry, (least, most) in zip(retries, expected["pauses"], strict=True):
            assert least - 1 <= retry.delay * 1000 <= most + 1
    if "retries" in expected:
        assert len(retries) == expected["retries"]
    assert [retry.attempt for retry in retries] == list(range(1, len(retries) + 1)) or "events" in expected
    keys = {one["key"] for one in requests}
    if expected.get("keys") == "same":
        assert len(keys) == 1
        assert None not in keys
    elif "keys" in expected:
        assert keys == {None if expected["keys"] == "none" else expected["keys"]}
    if "bodies" in expected:
        assert len({one["body"] for one in requests}) == 1
    if "sent" in expected:
        assert [one["last_event_id"] for one in requests] == expected["sent"]
    assert all(expected.get("paths", "") in one["path"] for one in requests)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES["requests"], ids=name_of)
def test_retries(case: dict[str, Any], backend: str, harness: Harness) -> None:
    url, retries, options = start("requests", case, harness, backend)
    failure: Exception | None = None

    async def asynchronous() -> None:
        async with AsyncClient(**options) as client:
            await CALLS[case["call"]](client)

    try:
        if backend == "blocking":
            with Client(**options) as client:
                CALLS[case["call"]](client)
        else:
            anyio.run(asynchronous, backend=backend)
    except (ApiError, ConnectionFailed) as error:
        failure = error
    check(failure, case["expect"], url, retries)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES["streams"], ids=name_of)
def test_streams(case: dict[str, Any], backend: str, harness: Harness) -> None:
    url, retries, options = start("streams", case, harness, backend)
    failure: Exception | None = None
    seen: list[str] = []
    last: list[str] = []
    method, _, after = case["call"].partition(" after ")
    again = case.get("client", {}).get("reconnect_for_ms")
    given: dict[str, Any] = {} if again is None else {"reconnect_for": again / 1000}
    if after:
        given["after" if method == "follow" else "last_event_id"] = after

    async def asynchronous() -> None:
        async with AsyncClient(**options) as client:
            stream = getattr(client, method)("ses_1", **given)
            async for event in stream:
                seen.append(event.type)
            last.append(stream.last_event_id)

    try:
        if backend == "blocking":
            with Client(**options) as client:
                stream = getattr(client, method)("ses_1", **given)
                seen.extend(event.type for event in stream)
                last.append(stream.last_event_id)
        else:
            anyio.run(asynchronous, backend=backend)
    except (ApiError, ConnectionFailed) as error:
        failure = error
    assert seen == case["expect"]["events"], failure
    if "last_event_id" in case["expect"]:
        assert last == [case["expect"]["last_event_id"]]
    check(failure, case["expect"], url, retries)


@pytest.mark.parametrize("case", CASES["webhooks"], ids=name_of)
def test_webhooks(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(CASES["now"]))
    more = {"tolerance": case["tolerance"]} if "tolerance" in case else {}
    headers = {name.title(): value for name, value in case["headers"].items()}
    if "error" not in case:
        for body in (case["body"], case["body"].encode()):
            payload = verify_webhook(body, headers, case["secrets"], **more)
            assert payload.model_dump(mode="json", exclude_unset=True) == json.loads(case["body"])
        return
    kind = ValueError if case["error"] == "secret" else WebhookVerificationError
    with pytest.raises(kind, match=case["error"]):
        verify_webhook(case["body"], headers, case["secrets"], **more)
