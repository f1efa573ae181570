"""Parses an event stream (WHATWG "Server-sent events") as it arrives."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    id: str
    data: str


@dataclass(frozen=True)
class RetryLine:
    seconds: float


@dataclass(frozen=True)
class Ping:
    """A comment."""


_LINE_END = re.compile("\r\n|\n|\r")
_PING = Ping()


class SseParser:
    """Fields other than `id`, `data` and `retry` are skipped: the data contains the type of an event."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # The incomplete last line: a line may have megabytes in thousands of chunks, so its pieces are joined once.
        self._line: list[str] = []
        self._ended_in_cr = False
        self._data: list[str] = []
        self._id = ""

    def push(self, chunk: bytes) -> Iterator[Frame | RetryLine | Ping]:
        """Adds a chunk and yields the items that are complete."""
        decoded = self._decoder.decode(chunk)
        if decoded == "":
            return
        # A CR at the end may be the first half of a CRLF: it waits for the next chunk.
        text = f"\r{decoded}" if self._ended_in_cr else decoded
        self._ended_in_cr = text.endswith("\r")
        *ends, begun = _LINE_END.split(text[:-1] if self._ended_in_cr else text)
        for end in ends:
            self._line.append(end)
            line = "".join(self._line)
            self._line.clear()
            yield from self._take(line)
        if begun:
            self._line.append(begun)

    def _take(self, line: str) -> Iterator[Frame | RetryLine | Ping]:
        if line == "":
            if self._data:
                yield Frame(self._id, "\n".join(self._data))
            self._data = []
            return
        if line.startswith(":"):
            yield _PING
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and re.fullmatch("[0-9]{1,9}", value):
            yield RetryLine(int(value) / 1000)
