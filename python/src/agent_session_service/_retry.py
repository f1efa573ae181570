"""When a failed request is sent again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from ._errors import ApiError, ConnectionFailed

FIRST_SECONDS = 0.5
MAX_SECONDS = 8.0


@dataclass(frozen=True)
class Retry:
    """A failed attempt that is made again."""

    method: str
    path: str
    error: ApiError | ConnectionFailed
    attempt: int
    """Failed attempts so far, this one included."""
    delay: float
    """The seconds until the next attempt."""


def back_off(failures: int, first: float = FIRST_SECONDS) -> float:
    """Exponential backoff with jitter, in seconds, so that clients do not retry at the same moment."""
    seconds = min(first * 2.0 ** min(failures, 32), max(MAX_SECONDS, first))
    return seconds / 2 + random.random() * seconds / 2


def delay_after(error: ApiError | ConnectionFailed | None, failures: int, first: float = FIRST_SECONDS) -> float:
    """The seconds to wait: the backoff, or what the service asks for if that is longer."""
    asked = error.retry_after if isinstance(error, ApiError) else None
    return max(asked or 0.0, back_off(failures, first))


def can_help(error: Exception) -> bool:
    """True if another attempt can have another result."""
    return isinstance(error, ConnectionFailed) or (isinstance(error, ApiError) and error.retryable)
