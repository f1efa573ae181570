"""Makes the blocking twin of a module: the same text without async and await, and with the names of the blocking classes."""

from __future__ import annotations

import re

REPLACEMENTS = [
    (r"\basync (def|with|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basync_(?=\w)", ""),
    (r"\b_async\b", "_sync"),
    (r"__a(enter|exit|iter|next)__", r"__\1__"),
    (r"\ba(close|read|iter_bytes)\b", r"\1"),
    (r"(?m)^(from collections\.abc import .*)\bAwaitable, ", r"\1"),
]


def blocking(text: str) -> str:
    for pattern, replacement in REPLACEMENTS:
        text = re.sub(pattern, replacement, text)
    return without_awaitables(text)


def without_awaitables(text: str) -> str:
    """``Awaitable[X]`` becomes ``X``."""
    mark = "Awaitable["
    while (start := text.find(mark)) >= 0:
        end, depth = start + len(mark), 1
        while depth > 0:
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            end += 1
        text = text[:start] + text[start + len(mark) : end - 1] + text[end:]
    return text
