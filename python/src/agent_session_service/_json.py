"""JSON and addresses: what is sent, and what is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, cast
from urllib.parse import quote, urlencode

from pydantic import BaseModel, TypeAdapter, ValidationError


def encode(value: object) -> bytes:
    """The JSON of a value of plain types, models, dates, mappings and sequences, in UTF-8. Raises TypeError or ValueError for others."""
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair: JSON can carry it escaped.
        return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":")).encode()


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, Sequence):
        return list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    raise TypeError(f"a value of type {type(value).__name__} cannot be sent as JSON")


def parse(kind: object, text: bytes | str) -> Any:
    """The value of a type in `text`. Raises ValueError if it is no JSON, and pydantic.ValidationError, a ValueError too, if it does not fit."""
    adapter = adapter_of(kind)
    try:
        return adapter.validate_json(text)
    except ValidationError:
        # json reads what pydantic's parser does not: half of a surrogate pair, and integers of thousands of digits.
        return adapter.validate_python(json.loads(text, parse_int=_integer))


@cache
def adapter_of(kind: Any) -> TypeAdapter[Any]:
    """Reads values of a model, or of a union of models."""
    return TypeAdapter(kind)


def _integer(digits: str) -> int:
    """Python's own conversion refuses more than 4,300 digits."""
    if len(digits) <= 4000:
        return int(digits)
    half = len(digits) // 2
    head = _integer(digits[:half])
    rest = _integer(digits[half:])
    whole: int = head * 10 ** (len(digits) - half) + (-rest if digits.startswith("-") else rest)
    return whole


def segment(value: str) -> str:
    """An id as a part of a path. `.` and `..` would change the path, and are no ids. Raises ValueError."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} is not an id")
    return quote(value, safe="")


def query_string(query: Mapping[str, Any]) -> str:
    """The query with its question mark. Lists become texts with commas, and mappings `name[key]=value`."""
    pairs: list[tuple[str, str]] = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, Mapping):
            entries = cast("Mapping[str, Any]", value)
            pairs.extend((f"{name}[{key}]", _query_text(one)) for key, one in entries.items())
        elif isinstance(value, Sequence) and not isinstance(value, str):
            pairs.append((name, ",".join(_query_text(one) for one in _members(value))))
        else:
            pairs.append((name, _query_text(value)))
    return f"?{urlencode(pairs)}" if pairs else ""


def _members(value: Any) -> list[Any]:
    return list(value)


def _query_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime) else str(value)
