"""The content of a file, read as it comes."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from .._waits import async_open_file
from .transport import AsyncTransport, Outgoing, broken_off


class AsyncDownload:
    """A file of the service. It is requested when it is read: by `save`, by `read` and `text`, or in a loop over its chunks."""

    def __init__(self, transport: AsyncTransport, path: str, *, query: Mapping[str, Any] | None = None) -> None:
        self._transport = transport
        self._outgoing = Outgoing("GET", path, query=query or {})

    async def save(self, path: str | os.PathLike[str]) -> int:
        """Writes the content to a file and returns its bytes. A download that broke off begins again. Raises ApiError, ConnectionFailed, OSError."""

        async def write(response: httpx.Response) -> int:
            size = 0
            async with await async_open_file(path, "wb") as file:
                async for chunk in response.aiter_bytes():
                    await file.write(chunk)
                    size += len(chunk)
            return size

        return await self._transport.send(self._outgoing, write)

    async def read(self) -> bytes:
        """The whole content, in memory."""

        async def whole(response: httpx.Response) -> bytes:
            return await self._transport.read_body(response, None)

        return await self._transport.send(self._outgoing, whole)

    async def text(self) -> str:
        """The whole content as UTF-8."""
        return (await self.read()).decode()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The chunks. Raises ConnectionFailed if the connection breaks between them: the loop has had a part then."""
        response = await self._transport.send(self._outgoing, _itself, leave_open=True)
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.RequestError as failure:
            raise broken_off(self._outgoing, failure) from failure
        finally:
            await response.aclose()


async def _itself(response: httpx.Response) -> httpx.Response:
    return response
