"""Checks requests of webhooks (Standard Webhooks)."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import time
from collections.abc import Iterator, Mapping, Sequence

from ._generated.models import WebhookPayload
from ._json import parse

TOLERANCE_SECONDS = 300.0


class WebhookVerificationError(Exception):
    """A request that is not from the service, or too old: answer 401."""


def verify_webhook(
    body: bytes | str,
    headers: Mapping[str, str],
    secrets: str | Sequence[str],
    *,
    tolerance: float = TOLERANCE_SECONDS,
) -> WebhookPayload:
    """Checks the signature and the age of a webhook request and returns its payload.

    Args:
        body: The body as it came: the signature is of these bytes.
        headers: The headers of the request, in any case.
        secrets: The webhook's secret (`whsec_…`); several while you move from one to another.
        tolerance: How many seconds `webhook-timestamp` may be from this machine's clock.

    Raises:
        WebhookVerificationError: It is not from the service, or too old.
        ValueError: A secret is not `whsec_` and base64.
    """
    values = {name.lower(): value for name, value in headers.items()}
    delivery, timestamp = _header(values, "webhook-id"), _header(values, "webhook-timestamp")
    signatures = list(_signatures(_header(values, "webhook-signature")))
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > tolerance:
        raise WebhookVerificationError("webhook-timestamp is too far from the time of this machine.")
    content = body.encode() if isinstance(body, str) else body
    signed = f"{delivery}.{timestamp}.".encode() + content
    for secret in [secrets] if isinstance(secrets, str) else secrets:
        expected = hmac.new(_key(secret), signed, hashlib.sha256).digest()
        # Compares in constant time.
        if any([hmac.compare_digest(expected, signature) for signature in signatures]):
            payload: WebhookPayload = parse(WebhookPayload, content)
            return payload
    raise WebhookVerificationError("No signature of webhook-signature is one of this secret.")


def _header(headers: Mapping[str, str], name: str) -> str:
    value = headers.get(name)
    if value is None:
        raise WebhookVerificationError(f"The request has no header {name}.")
    return value


def _signatures(header: str) -> Iterator[bytes]:
    for part in header.split(" "):
        if part.startswith("v1,"):
            try:
                yield base64.b64decode(part[3:], validate=True)
            except (binascii.Error, ValueError):
                continue


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("The secret is not whsec_ and base64.")
    return key
