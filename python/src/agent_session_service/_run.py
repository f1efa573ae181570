"""What the two clients share about runs: their results, and the answers to what a turn asks."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypedDict, TypeVar, final

from pydantic import BaseModel
from pydantic_core import to_json

from ._errors import ApiError, ConnectionFailed
from ._generated.models import (
    AgentMessageEvent,
    CustomToolResultAction,
    ElicitationFormAction,
    ElicitationUrlAction,
    Event,
    StreamEvent,
    ToolConfirmationAction,
    TurnCompletedEvent,
    Usage,
)
from ._stream_end import TerminalEvent, is_terminal

Output = TypeVar("Output")

Question = ElicitationFormAction | ElicitationUrlAction
"""A question that an MCP server asks."""
Action = ToolConfirmationAction | CustomToolResultAction | Question
"""What a function of a run can answer."""


@final
class Denial(TypedDict):
    """The call does not run, and the agent gets the reason."""

    deny: str


@final
class ChangedInput(TypedDict):
    """The call runs with this input, in place of what the agent wrote."""

    input: Mapping[str, Any]


@final
class RememberedApproval(TypedDict):
    """The call runs, and later calls of this tool in the session run without asking."""

    remember: Literal["session"]


@final
class Approval(TypedDict):
    """The call runs, and more."""

    allow: ChangedInput | RememberedApproval


Decision = Literal["allow", "deny"] | Denial | Approval
"""A person's decision about a call: `"allow"`, `"deny"`, `{"deny": reason}`, `{"allow": {"input": {…}}}` or `{"allow": {"remember": "session"}}`."""
ElicitationDecision = Literal["accept", "decline", "cancel"] | Mapping[str, Any]
"""A person's answer to a question. `{"accept": {…}}` carries the fields of a form."""

ToolFunction = Callable[..., Any]
"""Runs a custom tool: it gets the call's input as a dict, and the action if it takes two arguments. It returns a text, or any value
that JSON can carry, or raises: the agent gets the message of the exception."""
Confirm = Callable[[ToolConfirmationAction], Decision | None]
AsyncConfirm = Callable[[ToolConfirmationAction], Decision | Awaitable[Decision | None] | None]
Elicit = Callable[[Question], ElicitationDecision | None]
AsyncElicit = Callable[[Question], ElicitationDecision | Awaitable[ElicitationDecision | None] | None]
OnEvent = Callable[[StreamEvent], object]
"""Called with every event, including deltas. In `AsyncClient` it may be async: the next event waits for it."""

# Another client answered first, the call has expired, or the turn was cancelled.
CLOSED = ("tool_use_not_pending", "elicitation_not_pending")


@dataclass(frozen=True)
class RunResult(Generic[Output]):
    """The result of a turn."""

    turn_id: str
    status: Literal["completed", "cancelled", "failed"]
    message: str
    """The agent's last message; empty if there was none."""
    output: Output | None
    """The value that the agent gave, in a turn with a schema of its output; None without one."""
    events: list[Event]
    """Every stored event of the turn, in order."""
    usage: Usage | None
    """None when the turn never ran."""
    end: TerminalEvent
    """The terminal event: `stop_reason`, `error`, `timing` and all."""


STATUSES: dict[str, Literal["completed", "cancelled", "failed"]] = {
    "turn.completed": "completed",
    "turn.cancelled": "cancelled",
    "turn.failed": "failed",
}


def result_of(turn_id: str, events: list[Event]) -> RunResult[dict[str, Any]]:
    """Raises ConnectionFailed if the events end before the turn."""
    end = events[-1] if events else None
    if end is None or not is_terminal(end):
        raise ConnectionFailed(f"the stream ended before the turn {turn_id} did")
    messages = [event.content for event in events if isinstance(event, AgentMessageEvent)]
    output = end.output if isinstance(end, TurnCompletedEvent) else None
    value: Any = output.model_dump(mode="json") if isinstance(output, BaseModel) else output
    return RunResult(turn_id, STATUSES[end.type], messages[-1] if messages else "", value, events, end.usage, end)


def schema_of(output: type[BaseModel] | Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON Schema of a run's output."""
    return output.model_json_schema() if isinstance(output, type) else output


def with_output(result: RunResult[dict[str, Any]], output: type[BaseModel] | Mapping[str, Any] | None) -> RunResult[Any]:
    """The result with its output as an instance of a class. Raises pydantic.ValidationError if the class refuses the value."""
    if not isinstance(output, type) or result.output is None:
        return result
    value = output.model_validate(result.output)
    return RunResult(result.turn_id, result.status, result.message, value, result.events, result.usage, result.end)


def id_of(action: Action) -> str:
    """What an answer names."""
    return action.elicitation_id if isinstance(action, (ElicitationFormAction, ElicitationUrlAction)) else action.tool_use_id


def answerable(actions: Iterable[object]) -> list[Action]:
    """Whoever owns the budget raises it with `update_session`, the user authorizes a server in a browser, and a newer client answers the rest."""
    kinds = (ToolConfirmationAction, CustomToolResultAction, ElicitationFormAction, ElicitationUrlAction)
    return [action for action in actions if isinstance(action, kinds)]


def confirmation(action: ToolConfirmationAction, decision: Decision) -> dict[str, Any]:
    base = {"type": "user.tool_confirmation", "tool_use_id": action.tool_use_id}
    if isinstance(decision, str):
        return {**base, "result": decision}
    if "deny" in decision:
        return {**base, "result": "deny", "deny_message": decision["deny"]}
    return {**base, "result": "allow", **decision["allow"]}


def elicitation_result(question: Question, decision: ElicitationDecision) -> dict[str, Any]:
    base = {"type": "user.elicitation_result", "elicitation_id": question.elicitation_id}
    if isinstance(decision, str):
        return {**base, "action": decision}
    return {**base, "action": "accept", "content": decision["accept"]}


def tool_result(action: CustomToolResultAction, content: str, is_error: bool = False) -> dict[str, Any]:
    base = {"type": "user.custom_tool_result", "tool_use_id": action.tool_use_id, "content": content}
    return {**base, "is_error": True} if is_error else base


def text_of(value: object) -> str:
    """A text as it is, nothing as an empty text, everything else as JSON. Raises ValueError for a value that JSON cannot carry."""
    if isinstance(value, str):
        return value
    return "" if value is None else to_json(value).decode()


def error_text(failure: Exception) -> str:
    """The message of an exception. Of some the message is empty or only a key: then with the name of the class."""
    message = str(failure)
    return message if message and not isinstance(failure, LookupError) else f"{type(failure).__name__}: {message}"


def arguments_of(function: ToolFunction, action: CustomToolResultAction) -> tuple[Any, ...]:
    """The input, and the action if the function takes two arguments."""
    given: dict[str, Any] = action.input
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return (given,)
    positional = [
        one
        for one in parameters
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is inspect.Parameter.empty
    ]
    return (given, action) if len(positional) >= 2 else (given,)


def is_closed(error: ApiError) -> bool:
    return error.type in CLOSED
