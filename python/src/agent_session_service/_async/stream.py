"""Event streams that reconnect."""

from __future__ import annotations

import math
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
from typing_extensions import Self

from .._errors import ApiError, ConnectionFailed, error_of, unexpected_answer
from .._generated.models import StreamEvent
from .._json import parse
from .._retry import Retry, can_help, delay_after
from .._sse import Frame, Ping, RetryLine, SseParser
from .._stream_end import is_terminal
from .._waits import async_sleep
from .transport import AsyncTransport, KeyFailed, Outgoing

# The service pings every 10 s, so after this time without a byte the connection is dead.
IDLE_SECONDS = 30.0
# If the client already has the turn's last event, the service sends only this `retry`.
RETRY_OF_THE_END = 15.0


class AsyncEventStream:
    """The events of a session's current turn up to its terminal event, or those of all turns from there on.

    An iterator, over one or more connections. The next event is read on demand: a slow reader slows down the stream and loses
    nothing. Leaving the loop closes the connection, and so does the end of a `with` block around it.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        path: str,
        *,
        last_event_id: str | None,
        reconnect_for: float | None,
        query: dict[str, str] | None = None,
        of_session: bool = False,
    ) -> None:
        self._transport = transport
        self._path = path
        self._query = query or {}
        self._of_session = of_session
        self._reconnect_for = (math.inf if of_session else 120.0) if reconnect_for is None else reconnect_for
        self._last_event_id = last_event_id or ""
        self._retry = 2.0
        # Failed attempts since the last frame or ping.
        self._failures = 0
        self._was_connected = False
        # The service has nothing more to send (204), or the block around the stream was left.
        self._is_over = False
        self._response: httpx.Response | None = None

    @property
    def last_event_id(self) -> str:
        """The id of the last frame that the loop got, to resume in another stream; empty before the first one."""
        return self._last_event_id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connection and ends the iteration. The turn goes on."""
        self._is_over = True
        if self._response is not None:
            await self._response.aclose()

    async def __aiter__(self) -> AsyncIterator[StreamEvent]:
        """Raises ApiError (for example for an unknown session or a revoked key), ConnectionFailed, and what `api_key` raises."""
        # Time of the last frame or ping, or of the last request for one. A proxy that only answers gives no sign of the service.
        last_sign = time.monotonic()
        self._was_connected = self._is_over = False
        while True:
            failure: ApiError | ConnectionFailed | None = None
            try:
                had_sign = False
                connection = self._connection()
                try:
                    async for item in connection:
                        if isinstance(item, RetryLine):
                            self._retry = item.seconds
                            continue
                        had_sign = True
                        self._failures = 0
                        last_sign = time.monotonic()
                        if isinstance(item, Ping):
                            continue
                        event: StreamEvent = parse(StreamEvent, item.data)
                        self._last_event_id = item.id
                        yield event
                        # While the reader was busy, no bytes were read.
                        last_sign = time.monotonic()
                        if self._is_over or (is_terminal(event) and not self._of_session):
                            return
                finally:
                    # Not left to the garbage collector, which closes at a time of its own.
                    await close_iterator(connection)
                if self._is_over or self._retry >= RETRY_OF_THE_END:
                    return
                if not had_sign:
                    raise ConnectionFailed(f"GET {self._path}: the stream ended before its first event or ping")
            except KeyFailed as failed:
                raise failed.cause from None
            except (ApiError, ConnectionFailed) as error:
                if self._is_over:
                    return
                # A stream of the session ends when the session is deleted.
                if self._of_session and self._was_connected and isinstance(error, ApiError) and error.type == "session_not_found":
                    return
                if not can_help(error) or time.monotonic() - last_sign > self._reconnect_for:
                    raise
                failure = error
            delay = delay_after(failure, self._failures, self._retry)
            self._failures += 1
            if failure is None:
                await async_sleep(delay)
            else:
                await self._transport.pause(Retry("GET", self._path, failure, self._failures, delay))

    async def _connection(self) -> AsyncIterator[Frame | RetryLine | Ping]:
        """Reads one connection to its end."""
        headers = {"Accept": "text/event-stream"}
        if self._last_event_id:
            headers["Last-Event-ID"] = self._last_event_id
        outgoing = Outgoing("GET", self._path, query=self._query, headers=headers, idle_timeout=IDLE_SECONDS)
        response = self._response = await self._transport.attempt(outgoing)
        try:
            if not response.is_success:
                raise error_of(response, await self._transport.read_body(response, IDLE_SECONDS))
            if response.status_code == 204:
                self._is_over = True
                return
            if not re.match(r"\s*text/event-stream\s*(;|$)", response.headers.get("content-type", ""), re.IGNORECASE):
                raise unexpected_answer(response, "an event stream")
            self._was_connected = True
            parser = SseParser()
            async for chunk in response.aiter_bytes():
                for item in parser.push(chunk):
                    yield item
        except (httpx.RequestError, httpx.StreamError) as cause:
            raise ConnectionFailed(f"GET {self._path}: the stream broke off, or sent no data for too long") from cause
        finally:
            await response.aclose()


async def close_iterator(iterator: Any) -> None:
    """Closes what a generator function returned."""
    await iterator.aclose()
