"""What the two clients do differently, in pairs: waiting, locks, deadlines, files, and work beside the stream.

The build makes the blocking client from the async one. A name that begins with `async_` or `Async` becomes the name after it.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import IO, Any, TypeVar

import anyio
import anyio.to_thread
from typing_extensions import Self

Result = TypeVar("Result")

AsyncLock = anyio.Lock
Lock = threading.Lock
async_sleep = anyio.sleep
sleep = time.sleep
async_open_file = anyio.open_file
open_file = open


def async_deadline(seconds: float | None) -> AbstractContextManager[object]:
    """Raises TimeoutError in the block after the time."""
    return nullcontext() if seconds is None else anyio.fail_after(max(0.0, seconds))


@contextmanager
def deadline(seconds: float | None) -> Generator[None, None, None]:
    """Raises TimeoutError at the end of a block that took longer. Inside of it each read has the timeout of the request."""
    started = time.monotonic()
    yield
    if seconds is not None and time.monotonic() - started > seconds:
        raise TimeoutError


async def async_call(function: Callable[..., Any], *given: object) -> Any:
    """The value of a function, or of what it returns to be awaited."""
    value = function(*given)
    return await value if inspect.isawaitable(value) else value


def call(function: Callable[..., Any], *given: object) -> Any:
    return function(*given)


async def async_read_some(file: IO[bytes], size: int) -> bytes:
    return await anyio.to_thread.run_sync(file.read, size)


def read_some(file: IO[bytes], size: int) -> bytes:
    return file.read(size)


async def async_open_binary(path: str) -> IO[bytes]:
    return await anyio.to_thread.run_sync(lambda: open(path, "rb"))


def open_binary(path: str) -> IO[bytes]:
    return open(path, "rb")


class AsyncTasks:
    """Work beside a block. A failure of the work cancels the block and is raised at its end, and so is that of the block."""

    def __init__(self) -> None:
        self._failure: Exception | None = None
        self._group = anyio.create_task_group()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    def start(self, function: Callable[..., Any], *given: object) -> None:
        """Begins the work: a function that is awaited."""
        self._group.start_soon(self._run, function, given)

    async def _run(self, function: Callable[..., Any], given: tuple[object, ...]) -> None:
        try:
            await function(*given)
        except Exception as failure:
            self._failure = self._failure or failure
            self._group.cancel_scope.cancel()

    async def __aexit__(self, kind: type[BaseException] | None, raised: BaseException | None, trace: Any) -> bool:
        if isinstance(raised, Exception):
            # Not by the group, which would wrap it.
            self._group.cancel_scope.cancel()
            await self._group.__aexit__(None, None, None)
            return False
        handled = await self._group.__aexit__(kind, raised, trace)
        if self._failure is not None:
            raise self._failure
        return bool(handled)


class Tasks:
    """Work that is done at once, in the block."""

    def __enter__(self) -> Self:
        return self

    def start(self, function: Callable[..., Any], *given: object) -> None:
        function(*given)

    def __exit__(self, *_: object) -> None:
        return
