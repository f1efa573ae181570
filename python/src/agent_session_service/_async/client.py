"""The client: one method for each operation, and what goes on for longer than a request."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeVar, overload

import httpx
from pydantic import BaseModel
from typing_extensions import Self, Unpack

from .._errors import ApiError
from .._generated.async_operations import AsyncOperations
from .._generated.fields import MessageFields
from .._generated.models import Event, SentMessage, StreamEvent, WaitingMessage
from .._json import segment
from .._not_given import NOT_GIVEN
from .._retry import Retry
from .._run import AsyncConfirm, AsyncElicit, OnEvent, RunResult, ToolFunction, result_of, schema_of, with_output
from .._waits import AsyncTasks, async_sleep
from .answers import AsyncAnswering, AsyncAnswers
from .stream import AsyncEventStream, close_iterator
from .transport import AsyncApiKey, AsyncTransport

OutputModel = TypeVar("OutputModel", bound=BaseModel)

# How often to look at a queue that is held: nothing starts by itself.
HELD_SECONDS = 2.0


class AsyncClient(AsyncOperations):
    """A client of the Agent Session Service, and a context manager that closes its connections.

    Args:
        base_url: Address of the service without `/v1`; by default `AGENT_SESSION_BASE_URL` of the environment.
        api_key: A key or a session token; by default `AGENT_SESSION_API_KEY` of the environment. A function is asked before
            the first request, and once again after a 401. What it raises is raised to the caller.
        retry_for: How many seconds to keep retrying a request that failed with a retryable error; 0: never. The default is longer
            than a window of the rate limit, a restart of the service, and the lease of an interrupted request on its key.
        timeout: Seconds for one attempt. Uploads, downloads and streams have no such limit.
        http_client: Sends the requests. You close it.
        on_retry: Called before each wait for another attempt, also of a stream that was cut off.

    Raises:
        ValueError: There is no address or no key, or the address is not http or https.
    """

    def __init__(
        self,
        base_url: str | None = None,
        api_key: AsyncApiKey | None = None,
        *,
        retry_for: float = 70.0,
        timeout: float = 120.0,
        http_client: httpx.AsyncClient | None = None,
        on_retry: Callable[[Retry], object] | None = None,
    ) -> None:
        address = base_url or os.environ.get("AGENT_SESSION_BASE_URL")
        key = api_key or os.environ.get("AGENT_SESSION_API_KEY")
        if not address or not address.startswith(("http://", "https://")):
            raise ValueError("Give the client `base_url`, or set AGENT_SESSION_BASE_URL: https://…")
        if not key:
            raise ValueError("Give the client `api_key`, or set AGENT_SESSION_API_KEY")
        self._transport = AsyncTransport(
            base_url=address, api_key=key, retry_for=retry_for, timeout=timeout, http_client=http_client, on_retry=on_retry
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections of the client."""
        await self._transport.close()

    def stream(
        self, session_id: str, *, last_event_id: str | None = None, reconnect_for: float | None = None
    ) -> AsyncEventStream:
        """The events of the current turn, from its start to its terminal event.

        Args:
            session_id: Id of the session.
            last_event_id: Resumes after this frame (`last_event_id` of another stream), instead of at the start of the turn.
            reconnect_for: Seconds without an event or ping after which it gives up; by default 120.
        """
        path = f"/v1/sessions/{segment(session_id)}/events/stream"
        return AsyncEventStream(self._transport, path, last_event_id=last_event_id, reconnect_for=reconnect_for)

    def follow(
        self,
        session_id: str,
        *,
        after: str | None = None,
        last_event_id: str | None = None,
        reconnect_for: float | None = None,
    ) -> AsyncEventStream:
        """The events of the current turn, and then those of every turn of the session that begins.

        It ends when the session is deleted, or when you leave the loop. `after`: begins after this stored event, such as the last
        one of the history; `last_event_id` has priority. `reconnect_for`: by default it never gives up.
        """
        path = f"/v1/sessions/{segment(session_id)}/events/stream"
        query = {"follow": "session"} if after is None else {"follow": "session", "after": after}
        return AsyncEventStream(
            self._transport, path, last_event_id=last_event_id, reconnect_for=reconnect_for, query=query, of_session=True
        )

    @overload
    async def run(
        self,
        session_id: str,
        *,
        output: type[OutputModel],
        tools: Mapping[str, ToolFunction] | None = None,
        confirm: AsyncConfirm | None = None,
        elicit: AsyncElicit | None = None,
        on_event: OnEvent | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
        **message: Unpack[MessageFields],
    ) -> RunResult[OutputModel]: ...

    @overload
    async def run(
        self,
        session_id: str,
        *,
        output: Mapping[str, Any] | None = None,
        tools: Mapping[str, ToolFunction] | None = None,
        confirm: AsyncConfirm | None = None,
        elicit: AsyncElicit | None = None,
        on_event: OnEvent | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
        **message: Unpack[MessageFields],
    ) -> RunResult[dict[str, Any]]: ...

    async def run(
        self,
        session_id: str,
        *,
        output: type[BaseModel] | Mapping[str, Any] | None = None,
        tools: Mapping[str, ToolFunction] | None = None,
        confirm: AsyncConfirm | None = None,
        elicit: AsyncElicit | None = None,
        on_event: OnEvent | None = None,
        actor: str | None = None,
        idempotency_key: str | None = None,
        **message: Unpack[MessageFields],
    ) -> RunResult[Any]:
        """Sends a message and waits for the end of its turn. It does not raise when the turn fails or is cancelled: look at `status`.

        Ctrl-C or a cancelled task ends the wait, not the turn: `cancel_turn` does that.

        Args:
            session_id: Id of the session.
            output: A JSON Schema, or a class of pydantic: the turn ends with a value of it, the result's `output`.
            tools: Functions that run the session's custom tools, by name. A call without one stays open for another client.
            confirm: Decides about calls that need a person's decision. If it returns None, the call stays open; what it raises is raised.
            elicit: Answers questions of MCP servers in the same way.
            on_event: Called with every event, including deltas.
            actor: Who decides, at most 128 characters: stored with each answer.
            idempotency_key: With a key of yours, the same call follows the same turn after a crash of your process (24 hours).
            message: The fields of the message, as `send_message` has them: `content`, `files`, `skills`, …

        Raises:
            ApiError, ConnectionFailed, and what `confirm`, `elicit` and `on_event` raise.
        """
        sent = await self.send_message(
            session_id,
            **message,
            output_schema=NOT_GIVEN if output is None else schema_of(output),
            idempotency_key=idempotency_key,
        )
        answering = AsyncAnswering(tools or {}, confirm, elicit, actor, on_event)
        return with_output(await self._follow_message(session_id, sent, answering), output)

    async def follow_message(
        self,
        session_id: str,
        message: SentMessage | WaitingMessage,
        *,
        tools: Mapping[str, ToolFunction] | None = None,
        confirm: AsyncConfirm | None = None,
        elicit: AsyncElicit | None = None,
        on_event: OnEvent | None = None,
        actor: str | None = None,
    ) -> RunResult[dict[str, Any]]:
        """Waits for the turn that gets this message, and for its end, as `run` does.

        The message may wait in the queue, or steer the open turn: then calls of that turn are answered too. If the queue is held, it
        waits until somebody opens it. Raises NotFoundError with `event_not_found` if the message was withdrawn.
        """
        answering = AsyncAnswering(tools or {}, confirm, elicit, actor, on_event)
        return await self._follow_message(session_id, message, answering)

    async def follow_turn(
        self,
        session_id: str,
        turn_id: str,
        *,
        tools: Mapping[str, ToolFunction] | None = None,
        confirm: AsyncConfirm | None = None,
        elicit: AsyncElicit | None = None,
        on_event: OnEvent | None = None,
        actor: str | None = None,
    ) -> RunResult[dict[str, Any]]:
        """Waits for the end of a turn that was started elsewhere, and answers its calls, as `run` does."""
        answering = AsyncAnswering(tools or {}, confirm, elicit, actor, on_event)
        return await self._follow_turn(session_id, turn_id, answering)

    async def _follow_message(
        self, session_id: str, message: SentMessage | WaitingMessage, answering: AsyncAnswering
    ) -> RunResult[dict[str, Any]]:
        if message.state != "queued":
            result = await self._follow_turn(session_id, message.turn_id, answering)
            if any(getattr(event, "id", None) == message.id for event in result.events):
                return result
        return await self._follow_turn(session_id, await self._delivered_to(session_id, message.id), answering)

    async def _follow_turn(self, session_id: str, turn_id: str, answering: AsyncAnswering) -> RunResult[dict[str, Any]]:
        """Follows a turn to its end. If the stream has moved on to a later turn, the missing events come from the history."""
        events: dict[str, Event] = {}

        async def send(answer: dict[str, Any], child_id: str | None) -> None:
            await self.send_answers(child_id or session_id, events=[answer])

        async with AsyncTasks() as tasks:
            answers = AsyncAnswers(answering, tasks, send)
            reading = self._events_of(session_id, turn_id, events)
            try:
                async for event in reading:
                    await answers.take(event)
            finally:
                await close_iterator(reading)
        return result_of(turn_id, list(events.values()))

    async def _events_of(self, session_id: str, turn_id: str, events: dict[str, Event]) -> AsyncIterator[StreamEvent]:
        """The events of a turn; those that are stored are also put into `events`."""
        async with self.stream(session_id) as stream:
            async for event in stream:
                if getattr(event, "turn_id", turn_id) != turn_id:
                    # Another message was sent right after this turn had ended.
                    break
                event_id = getattr(event, "id", None)
                if isinstance(event_id, str):
                    stored: Any = event
                    events[event_id] = stored
                yield event
            else:
                return
        async for earlier in self.each_event(session_id, turn_id=turn_id):
            event_id = getattr(earlier, "id", None)
            if isinstance(event_id, str) and event_id not in events:
                events[event_id] = earlier
                yield earlier

    async def _delivered_to(self, session_id: str, message_id: str) -> str:
        """Waits until a message is delivered; returns the turn that has it.

        While other turns run it reads their streams; otherwise the queue is held, and it asks again after a pause.
        """
        while True:
            try:
                return await self._turn_of(session_id, message_id)
            except ApiError as error:
                if error.type != "event_not_found":
                    raise
            queue = await self.list_queue(session_id, limit=100)
            if all(waiting.id != message_id for waiting in queue.items):
                # Either it was delivered meanwhile, or it was withdrawn.
                return await self._turn_of(session_id, message_id)
            session = await self.get_session(session_id)
            if session.status != "RUNNING":
                await async_sleep(HELD_SECONDS)
            elif await self._appears(session_id, message_id):
                return await self._turn_of(session_id, message_id)

    async def _turn_of(self, session_id: str, message_id: str) -> str:
        turn_id: str = (await self.get_event(session_id, message_id)).turn_id
        return turn_id

    async def _appears(self, session_id: str, message_id: str) -> bool:
        """Reads a turn to its end, or to the message."""
        async with self.stream(session_id) as stream:
            async for event in stream:
                if getattr(event, "id", None) == message_id:
                    return True
        return False
