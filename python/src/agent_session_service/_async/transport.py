"""Sends requests, with retries if these are safe and can help."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, TypeVar
from uuid import uuid4

import httpx
from pydantic import ValidationError

from .._errors import ApiError, ConnectionFailed, error_of, unexpected_answer
from .._json import encode, parse, query_string
from .._not_given import NOT_GIVEN
from .._retry import Retry, can_help, delay_after
from .._upload import CHUNK_BYTES, FileSource, Upload, upload_of
from .._waits import AsyncLock, async_call, async_deadline, async_open_binary, async_read_some, async_sleep

Answer = TypeVar("Answer")

AsyncApiKey = str | Callable[[], str | Awaitable[str]]
"""A key, or a function that gives one."""


@dataclass(frozen=True)
class Outgoing:
    """A request as an operation describes it. `timeout`: seconds for one attempt; None: no limit."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict[str, Any])
    content: bytes | None = None
    upload: Upload | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    repeatable: bool = True
    timeout: float | None = None
    idle_timeout: float | None = None


class _Key:
    """A key that the function gave. Requests that are refused together share the next one."""

    def __init__(self, text: str) -> None:
        self.text = text


class KeyFailed(Exception):
    """The function `api_key` raised its `cause`."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class AsyncTransport:
    def __init__(
        self,
        *,
        base_url: str,
        api_key: AsyncApiKey,
        retry_for: float,
        timeout: float,
        http_client: httpx.AsyncClient | None,
        on_retry: Callable[[Retry], object] | None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._retry_for = retry_for
        self._timeout = timeout
        self._on_retry = on_retry
        self._owns_http = http_client is None
        # Streams hold a connection each: no limit of connections.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self._http = httpx.AsyncClient(limits=limits, follow_redirects=True) if http_client is None else http_client
        self._key: _Key | None = None
        self._lock = AsyncLock()

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()

    async def json(
        self,
        method: str,
        path: str,
        kind: object,
        *,
        query: Mapping[str, Any] | None = None,
        body: object = NOT_GIVEN,
        upload: tuple[FileSource, str | None] | None = None,
        idempotency_key: str | None = None,
        creates: bool = False,
        repeatable: bool = True,
    ) -> Any:
        """The answer as a value of `kind`. Raises ApiError, ConnectionFailed, and what `api_key` raises.

        `creates`: a POST that has its effect once for each idempotency key; without one it gets its own.
        """
        headers: dict[str, str] = {}
        if idempotency_key is not None or creates:
            headers["Idempotency-Key"] = uuid4().hex if idempotency_key is None else idempotency_key
        whole = None if upload is None else upload_of(*upload)
        content = None if body is NOT_GIVEN else encode(body)
        if content is not None:
            headers["Content-Type"] = "application/json"
        outgoing = Outgoing(
            method,
            path,
            query=query or {},
            content=content,
            upload=whole,
            headers=headers,
            repeatable=repeatable and (whole is None or whole.repeatable),
            timeout=None if whole else self._timeout,
        )

        async def read(response: httpx.Response) -> Any:
            text = await self.read_body(response, outgoing.timeout)
            return value_in(response, text, kind, outgoing)

        return await self.send(outgoing, read)

    async def no_content(
        self, method: str, path: str, *, query: Mapping[str, Any] | None = None, body: object = NOT_GIVEN
    ) -> None:
        """An operation without an answer. Raises as `json`."""
        content = None if body is NOT_GIVEN else encode(body)
        headers = {} if content is None else {"Content-Type": "application/json"}
        outgoing = Outgoing(method, path, query=query or {}, content=content, headers=headers, timeout=self._timeout)

        async def read(response: httpx.Response) -> None:
            if response.is_success and response.status_code != 204:
                raise unexpected_answer(response, "an answer without content (204)")

        await self.send(outgoing, read)

    async def send(
        self, outgoing: Outgoing, read: Callable[[httpx.Response], Awaitable[Answer]], *, leave_open: bool = False
    ) -> Answer:
        """What `read` makes of a successful response. Raises as `json`. `leave_open`: the caller closes the response."""
        until = time.monotonic() + self._retry_for
        may_have_worked = False
        failures = 0
        while True:
            try:
                response = await self.attempt(outgoing)
                is_open = False
                try:
                    # A retried deletion may get a 404, because an attempt without a response has deleted the resource.
                    is_gone = outgoing.method == "DELETE" and response.status_code == 404 and may_have_worked
                    if response.is_success or is_gone:
                        answer = await read(response)
                        is_open = leave_open
                        return answer
                    raise error_of(response, await self.read_body(response, outgoing.timeout))
                finally:
                    if not is_open:
                        await response.aclose()
            except KeyFailed as failed:
                raise failed.cause from None
            except (ApiError, ConnectionFailed) as failure:
                error = failure
            except httpx.RequestError as failure:
                error = broken_off(outgoing, failure)
            may_have_worked = may_have_worked or isinstance(error, ConnectionFailed) or error.type == "unknown"
            delay = delay_after(error, failures)
            failures += 1
            if not can_help(error) or not outgoing.repeatable or time.monotonic() + delay > until:
                raise error
            await self.pause(Retry(outgoing.method, outgoing.path, error, failures, delay))

    async def pause(self, retry: Retry) -> None:
        """Reports a failed attempt and waits for the next one."""
        if self._on_retry is not None:
            self._on_retry(retry)
        await async_sleep(retry.delay)

    async def attempt(self, outgoing: Outgoing) -> httpx.Response:
        """One attempt: any response, open. When the key is refused, the function is asked for another one, once.

        Raises ConnectionFailed, KeyFailed.
        """
        key = await self._current_key(None)
        response = await self._send_once(outgoing, key)
        if response.status_code != 401 or isinstance(self._api_key, str) or not outgoing.repeatable:
            return response
        await response.aclose()
        return await self._send_once(outgoing, await self._current_key(key))

    async def _current_key(self, refused: _Key | None) -> _Key:
        """The key that is known and was not refused, or else a new one."""
        async with self._lock:
            if self._key is None or self._key is refused:
                self._key = None
                try:
                    text = key_in(self._api_key if isinstance(self._api_key, str) else await async_call(self._api_key))
                except Exception as cause:
                    raise KeyFailed(cause) from cause
                self._key = _Key(text)
            return self._key

    async def _send_once(self, outgoing: Outgoing, key: _Key) -> httpx.Response:
        upload = outgoing.upload
        silence = outgoing.timeout if outgoing.idle_timeout is None else outgoing.idle_timeout
        # A file that is sent for hours still waits for each part at most this long.
        timeout = httpx.Timeout(self._timeout if silence is None else silence, pool=None)
        request = self._http.build_request(
            outgoing.method,
            f"{self.base_url}{outgoing.path}{query_string(outgoing.query)}",
            content=outgoing.content if upload is None else parts_of(upload),
            headers={
                "Authorization": f"Bearer {key.text}",
                **outgoing.headers,
                **({} if upload is None else upload.headers),
            },
            timeout=timeout,
        )
        try:
            with async_deadline(outgoing.timeout):
                return await self._http.send(request, stream=True, follow_redirects=True)
        except (httpx.RequestError, TimeoutError) as failure:
            raise broken_off(outgoing, failure) from failure

    async def read_body(self, response: httpx.Response, timeout: float | None) -> bytes:
        """The whole body. Raises ConnectionFailed if it breaks off, or takes longer than `timeout` seconds."""
        until = None if timeout is None else time.monotonic() + timeout
        chunks: list[bytes] = []
        try:
            with async_deadline(timeout):
                async for chunk in response.aiter_bytes():
                    chunks.append(chunk)
                    if until is not None and time.monotonic() > until:
                        raise TimeoutError
        except (httpx.RequestError, TimeoutError) as failure:
            raise ConnectionFailed(f"{response.request.method} {response.request.url.path}: the answer broke off") from failure
        return b"".join(chunks)


def broken_off(outgoing: Outgoing, cause: Exception | None) -> ConnectionFailed:
    message = f"{outgoing.method} {outgoing.path}: the service gave no answer, or the connection broke"
    if isinstance(cause, httpx.RequestError):
        url = cause.request.url
        message += f" ({url.scheme}://{url.netloc.decode()}: {cause or type(cause).__name__})"
    error = ConnectionFailed(message)
    error.__cause__ = cause
    return error


def key_in(text: str) -> str:
    """A key, without the line end that a file or a secret often has after it.

    Raises ValueError for what no header can carry: a request with it would fail as if the service were away, again and again.
    """
    key = text.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise ValueError("`api_key` is no key: it is empty, or has blanks or other characters that keys do not have")
    return key


def value_in(response: httpx.Response, text: bytes, kind: object, outgoing: Outgoing) -> Any:
    """The value in an answer. Raises ConnectionFailed for JSON that was cut off, and ApiError for an answer that is not the service's."""
    try:
        return parse(kind, text)
    except ValidationError as failure:
        raise unexpected_answer(response, f"the JSON that was expected ({failure.error_count()} fields do not fit)") from failure
    except ValueError as failure:
        if "json" in response.headers.get("content-type", "").lower():
            raise broken_off(outgoing, failure) from failure
        raise unexpected_answer(response, "JSON") from failure


async def parts_of(upload: Upload) -> AsyncIterator[bytes]:
    """The body of an upload in parts, from its start."""
    yield upload.head
    file: IO[bytes]
    if upload.path is not None:
        file = await async_open_binary(upload.path)
    else:
        assert upload.file is not None
        file = upload.file
        if upload.repeatable:
            file.seek(upload.start)
    try:
        while chunk := await async_read_some(file, CHUNK_BYTES):
            yield chunk
    finally:
        if upload.path is not None:
            file.close()
    yield upload.tail
