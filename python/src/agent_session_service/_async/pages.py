"""Lists over all their pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Generic, Protocol, TypeVar

from .._not_given import NOT_GIVEN, NotGiven

Item = TypeVar("Item")
Listed = TypeVar("Listed", covariant=True)


class PageOf(Protocol[Listed]):
    """A page of a list."""

    @property
    def items(self) -> list[Any]: ...

    @property
    def meta(self) -> Any: ...


class AsyncItems(Generic[Item]):
    """The items of a list. It requests the next page when its first item is needed."""

    def __init__(self, load: Callable[[str | NotGiven], Awaitable[PageOf[Any]]], cursor: str | None) -> None:
        self._load = load
        self._cursor = cursor

    @property
    def cursor(self) -> str | None:
        """The cursor of the page under way; None on the first one.

        An iteration that is given it begins with this page again: it repeats the items of one page at most, skips none, and
        finds those that were added at the end since then.
        """
        return self._cursor

    async def __aiter__(self) -> AsyncIterator[Item]:
        while True:
            page = await self._load(NOT_GIVEN if self._cursor is None else self._cursor)
            for item in page.items:
                yield item
            if page.meta.next_cursor is None:
                return
            self._cursor = page.meta.next_cursor
