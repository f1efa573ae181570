"""A client of the Agent Session Service: `Client`, and `AsyncClient` for asyncio and trio."""

from . import models
from ._async.client import AsyncClient
from ._async.download import AsyncDownload
from ._async.pages import AsyncItems
from ._async.stream import AsyncEventStream
from ._errors import (
    AgentSessionError,
    ApiError,
    AuthenticationError,
    ConflictError,
    ConnectionFailed,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ServerError,
)
from ._generated.models import UnknownEvent
from ._not_given import NOT_GIVEN, NotGiven
from ._retry import Retry
from ._run import Decision, ElicitationDecision, RunResult, ToolFunction
from ._stream_end import TerminalEvent, is_terminal
from ._sync.client import Client
from ._sync.download import Download
from ._sync.pages import Items
from ._sync.stream import EventStream
from ._upload import FileSource
from ._webhook import WebhookVerificationError, verify_webhook

__version__ = "1.0.0"

__all__ = [
    "NOT_GIVEN",
    "AgentSessionError",
    "ApiError",
    "AsyncClient",
    "AsyncDownload",
    "AsyncEventStream",
    "AsyncItems",
    "AuthenticationError",
    "Client",
    "ConflictError",
    "ConnectionFailed",
    "Decision",
    "Download",
    "ElicitationDecision",
    "EventStream",
    "FileSource",
    "InvalidRequestError",
    "Items",
    "NotFoundError",
    "NotGiven",
    "PermissionDeniedError",
    "RateLimitError",
    "Retry",
    "RunResult",
    "ServerError",
    "TerminalEvent",
    "ToolFunction",
    "UnknownEvent",
    "WebhookVerificationError",
    "is_terminal",
    "models",
    "verify_webhook",
]
