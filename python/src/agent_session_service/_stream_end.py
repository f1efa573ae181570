"""Which events end a turn."""

from __future__ import annotations

from typing import TypeGuard

from ._generated.models import Event, StreamEvent, TurnCancelledEvent, TurnCompletedEvent, TurnFailedEvent

TerminalEvent = TurnCompletedEvent | TurnCancelledEvent | TurnFailedEvent
"""The event that ends a turn."""


def is_terminal(event: StreamEvent | Event) -> TypeGuard[TerminalEvent]:
    """True if the event ends its turn."""
    return isinstance(event, (TurnCompletedEvent, TurnCancelledEvent, TurnFailedEvent))
