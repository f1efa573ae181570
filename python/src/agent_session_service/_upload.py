"""The body of an upload."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO
from urllib.parse import quote
from uuid import uuid4

FileSource = str | os.PathLike[str] | bytes | IO[bytes]
"""A path, bytes, or a file that is open for reading bytes."""

CHUNK_BYTES = 256 * 1024


@dataclass
class Upload:
    """A multipart body. `repeatable`: it can be read again from its start."""

    head: bytes
    tail: bytes
    content_type: str
    path: str | None
    file: IO[bytes] | None
    start: int
    size: int | None
    repeatable: bool

    @property
    def headers(self) -> dict[str, str]:
        length = {} if self.size is None else {"Content-Length": str(len(self.head) + self.size + len(self.tail))}
        return {"Content-Type": self.content_type, **length}


def upload_of(source: FileSource, filename: str | None) -> Upload:
    """Raises OSError if a path cannot be read, and ValueError for bytes or a file without a name."""
    path: str | None = None
    file: IO[bytes] | None = None
    name: str | None
    start = 0
    size: int | None = None
    repeatable = True
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        with open(path, "rb"):
            size = os.stat(path).st_size
        name = filename or Path(path).name
    elif isinstance(source, bytes):
        file, size, name = BytesIO(source), len(source), filename
    else:
        file = source
        own = getattr(source, "name", None)
        name = filename or (Path(own).name if isinstance(own, str) else None)
        try:
            start = source.tell()
            size = source.seek(0, os.SEEK_END) - start
            source.seek(start)
        except (OSError, AttributeError):
            # A pipe can be read only once.
            start, size, repeatable = 0, None, False
    if name is None:
        raise ValueError("Give the upload a `filename`: bytes and files without a name have none")
    boundary = f"upload-{uuid4().hex}"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; {_filename_parameters(name)}\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    tail = f"\r\n--{boundary}--\r\n"
    content_type = f"multipart/form-data; boundary={boundary}"
    return Upload(head.encode(), tail.encode(), content_type, path, file, start, size, repeatable)


def _filename_parameters(name: str) -> str:
    """RFC 5987 supports any name; the plain form is for logs and old parsers."""
    plain = re.sub(r'[^\x20-\x7e]|["\\]', "_", name)
    encoded = quote(name.encode("utf-8", "replace"), safe="!#$&+-.^_`|~")
    return f"filename=\"{plain}\"; filename*=UTF-8''{encoded}"
