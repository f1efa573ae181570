"""The errors that the client raises."""

from __future__ import annotations

import email.utils
import json
import re
import time
from typing import Any

import httpx
from pydantic import ValidationError

from ._generated.models import ErrorDetails


class AgentSessionError(Exception):
    """The base of `ApiError` and `ConnectionFailed`."""


class ConnectionFailed(AgentSessionError):
    """No answer came: the service could not be reached, or the connection broke."""


class ApiError(AgentSessionError):
    """The service refused a request, or failed."""

    status: int
    """The HTTP status."""
    type: str
    """The kind of error. Decide by it. `unknown` if the answer is not the service's, for example a proxy's."""
    message: str
    """An explanation for people."""
    details: ErrorDetails | None
    """Facts about the error. Which of them are there depends on its type."""
    request_id: str | None
    """Names the request to the operator."""
    retryable: bool
    """True if another attempt can help. The client has made attempts for `retry_for` seconds already."""
    retry_after: float | None
    """The seconds that the service asks to wait before another attempt."""

    def __init__(
        self,
        status: int,
        type: str,
        message: str,
        details: ErrorDetails | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.type = type
        self.message = message
        self.details = details
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.status} {self.type}: {self.message}"


class AuthenticationError(ApiError):
    """401: the key is missing, wrong or revoked."""


class PermissionDeniedError(ApiError):
    """403: the key lacks a permission."""


class NotFoundError(ApiError):
    """404: nothing has this id, or it is gone."""


class ConflictError(ApiError):
    """409: the state of the resource does not allow it."""


class RateLimitError(ApiError):
    """429: too many requests, or too much at once."""


class InvalidRequestError(ApiError):
    """Another 4xx: something is wrong in the request."""


class ServerError(ApiError):
    """5xx: the service, or a proxy before it, has failed."""


_CLASSES: dict[int, type[ApiError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    429: RateLimitError,
}


def error_of(response: httpx.Response, body: bytes) -> ApiError:
    """The error in an answer whose body has been read."""
    status, text = response.status_code, body.decode("utf-8", "replace")
    found = _error_in(text)
    retry_after = _retry_after(response)
    message = f"The service answered {status}{f': {text[:200]}' if text else ''}" if found is None else str(found["message"])
    return _class_of(status)(
        status,
        "unknown" if found is None else str(found["type"]),
        message,
        None if found is None else _details(found.get("details")),
        response.headers.get("x-request-id"),
        _is_retryable(response, retry_after),
        retry_after,
    )


def unexpected_answer(response: httpx.Response, expected: str) -> ApiError:
    """A success whose content is none of the service's, such as the sign-in page of a proxy. Another attempt gets the same."""
    content_type = response.headers.get("content-type")
    came = f"{response.status_code} with " + (
        "no content type" if content_type is None else f"the content type {content_type[:100]}"
    )
    if response.history:
        url = response.url
        came += f", after a redirect to {url.scheme}://{url.netloc.decode()}{url.path}"
    return _class_of(response.status_code)(
        response.status_code,
        "unknown",
        f"The answer is not the service's: {came}, in place of {expected}. Look at `base_url`, and at proxies before the "
        "service: some answer with a page to sign in.",
        request_id=response.headers.get("x-request-id"),
    )


def _class_of(status: int) -> type[ApiError]:
    if status >= 500:
        return ServerError
    return _CLASSES.get(status, InvalidRequestError if status >= 400 else ApiError)


def _error_in(text: str) -> dict[str, Any] | None:
    try:
        error = json.loads(text)["error"]
        return error if isinstance(error["type"], str) and isinstance(error["message"], str) else None
    except (ValueError, KeyError, TypeError):
        return None


def _details(value: object) -> ErrorDetails | None:
    try:
        return None if value is None else ErrorDetails.model_validate(value)
    except ValidationError:
        return None


def _is_retryable(response: httpx.Response, retry_after: float | None) -> bool:
    """`X-Should-Retry` decides. Without it: a 429 that names a delay (others can last forever), and answers of gateways."""
    said = response.headers.get("x-should-retry")
    if said is not None:
        return bool(said == "true")
    if response.status_code == 429:
        return retry_after is not None
    return response.status_code == 408 or response.status_code >= 500


def _retry_after(response: httpx.Response) -> float | None:
    said = response.headers.get("retry-after")
    if said is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", said):
        return float(said)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, TypeError):
        return None
