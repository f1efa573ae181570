"""Answers the calls and questions of a turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._errors import ApiError
from .._generated.models import AgentRequiresActionEvent, CustomToolResultAction, StreamEvent, ToolConfirmationAction
from .._run import (
    Action,
    AsyncConfirm,
    AsyncElicit,
    OnEvent,
    ToolFunction,
    answerable,
    arguments_of,
    confirmation,
    elicitation_result,
    error_text,
    id_of,
    is_closed,
    text_of,
    tool_result,
)
from .._waits import AsyncTasks, async_call


@dataclass(frozen=True)
class AsyncAnswering:
    """The functions that a run was given."""

    tools: Mapping[str, ToolFunction] = field(default_factory=dict[str, ToolFunction])
    confirm: AsyncConfirm | None = None
    elicit: AsyncElicit | None = None
    actor: str | None = None
    on_event: OnEvent | None = None


class AsyncAnswers:
    """Answers each call in a turn's events once."""

    def __init__(
        self, answering: AsyncAnswering, tasks: AsyncTasks, send: Callable[[dict[str, Any], str | None], Awaitable[object]]
    ) -> None:
        """`send` gets an answer, and the child session that asks; None for the session of the turn."""
        self._answering = answering
        self._tasks = tasks
        self._send = send
        self._taken: set[tuple[str | None, str]] = set()

    async def take(self, event: StreamEvent) -> None:
        """Shows an event to `on_event`, and begins to answer what it asks."""
        if self._answering.on_event is not None:
            await async_call(self._answering.on_event, event)
        if not isinstance(event, AgentRequiresActionEvent):
            return
        for action in answerable(event.required_actions):
            # Two sessions may have calls with the same id.
            key = (action.session_id, id_of(action))
            if key not in self._taken:
                self._taken.add(key)
                self._tasks.start(self._answer, action)

    async def _answer(self, action: Action) -> None:
        answer = await self._answer_of(action)
        if answer is None:
            return
        if self._answering.actor is not None:
            answer["actor"] = self._answering.actor
        try:
            await self._send(answer, action.session_id)
        except ApiError as error:
            if not is_closed(error):
                raise

    async def _answer_of(self, action: Action) -> dict[str, Any] | None:
        """None leaves the call open, so that another client can answer it."""
        given = self._answering
        if isinstance(action, CustomToolResultAction):
            tool = given.tools.get(action.name)
            return None if tool is None else await self._result(tool, action)
        if isinstance(action, ToolConfirmationAction):
            decision = None if given.confirm is None else await async_call(given.confirm, action)
            return None if decision is None else confirmation(action, decision)
        answer = None if given.elicit is None else await async_call(given.elicit, action)
        return None if answer is None else elicitation_result(action, answer)

    async def _result(self, tool: ToolFunction, action: CustomToolResultAction) -> dict[str, Any]:
        try:
            return tool_result(action, text_of(await async_call(tool, *arguments_of(tool, action))))
        except Exception as failure:
            return tool_result(action, error_text(failure), is_error=True)
