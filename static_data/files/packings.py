"""Packed files as streams of their unpacked bytes: .gz .bz2 .xz .zst, and .zip with one file in it.

Zstandard is read by pyarrow, which is here anyway; the others are in the standard library.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from static_data.limits.expansion import MOST_EXPANSION, check_expansion


class Compression(Enum):
    """How the bytes of a file are packed; the value is the ending of its name."""

    NONE = ""
    GZIP = "gz"
    BZIP2 = "bz2"
    XZ = "xz"
    ZSTANDARD = "zst"
    ZIP = "zip"


PACKED_ENDINGS = tuple(c.value for c in Compression if c.value)

ByteStream = IO[bytes]
Opener = Callable[[], ByteStream]

BROKEN = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What reading a packed file raises when it is not whole, or packed in another way."""

_MAGIC = {
    Compression.GZIP: b"\x1f\x8b",
    Compression.BZIP2: b"BZh",
    Compression.XZ: b"\xfd7zXZ\x00",
    Compression.ZSTANDARD: b"\x28\xb5\x2f\xfd",
    Compression.ZIP: b"PK\x03\x04",
}
_UTF8_MARK = b"\xef\xbb\xbf"
_BUFFER = 1 << 16


def packing_of(head: bytes) -> Compression:
    """How a file is packed by its first bytes.

    >>> packing_of(b"BZh91AY"), packing_of(b"<http://")
    (<Compression.BZIP2: 'bz2'>, <Compression.NONE: ''>)
    """
    return next((c for c, magic in _MAGIC.items() if head.startswith(magic)), Compression.NONE)


def open_unpacked(path: Path, compression: Compression, most: float = MOST_EXPANSION) -> ByteStream:
    """Open a file for reading its unpacked bytes, without a byte order mark of UTF-8.

    Raises one of `BROKEN`, now or when it is read, for a file that is not packed so, or unpacks to more than `most`
    times its size.
    """
    return _unpacking(path.open("rb"), compression, most)


def unpacked(content: bytes, compression: Compression, most: float = MOST_EXPANSION) -> ByteStream:
    """As `open_unpacked`, of a file that is in memory."""
    return _unpacking(io.BytesIO(content), compression, most)


def zipped_name(path: Path) -> str:
    """The name of the one file in a .zip; raises one of `BROKEN` unless it holds just one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _only_member(archive)
    except RuntimeError as error:  # of a version or a packing that is not known, or encrypted
        raise ValueError(str(error)) from None


def _unpacking(packed: ByteStream, compression: Compression, most: float) -> ByteStream:
    stream: Any = packed
    try:
        # A file without any byte is empty, packed or not.
        if not packed.read(1):
            compression = Compression.NONE
        packed.seek(0)
        if compression is Compression.GZIP:
            stream = gzip.GzipFile(fileobj=packed)
        elif compression is Compression.BZIP2:
            stream = bz2.BZ2File(packed)
        elif compression is Compression.XZ:
            stream = lzma.LZMAFile(packed)  # noqa: SIM115 - closed with the stream that reads it
        elif compression is Compression.ZSTANDARD:
            stream = io.BufferedReader(cast(Any, _Readable(packed)))
        elif compression is Compression.ZIP:
            try:
                archive = zipfile.ZipFile(packed)
                stream = archive.open(_only_member(archive))
            except RuntimeError as error:
                raise ValueError(str(error)) from None
        if compression is not Compression.NONE:
            stream = _Bounded(stream, packed, most)
        return cast(ByteStream, io.BufferedReader(cast(Any, _Unmarked(stream, packed)), _BUFFER))
    except BaseException:
        packed.close()
        raise


def _only_member(archive: zipfile.ZipFile) -> str:
    names = [
        info.filename
        for info in archive.infolist()
        if not info.filename.endswith("/") and not info.filename.startswith("__MACOSX/")
    ]
    if len(names) != 1:
        listed = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
        raise ValueError(f"it holds {len(names)} files, not one{': ' if names else ''}{listed}")
    return names[0]


class _Readable(io.RawIOBase):
    """The unpacked bytes of a .zst."""

    def __init__(self, packed: ByteStream) -> None:
        super().__init__()
        self._stream = pa.CompressedInputStream(packed, "zstd")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class _Bounded:
    """What is unpacked, as long as it is not too much for what has been taken from the packed file."""

    def __init__(self, stream: Any, packed: ByteStream, most: float) -> None:
        self._stream = stream
        self._packed = packed
        self._most = most
        self._given = 0

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self._given += len(data)
        check_expansion(self._packed.tell(), self._given, self._most)
        return data

    def close(self) -> None:
        self._stream.close()


class _Unmarked(io.RawIOBase):
    """A stream without the byte order mark it may begin with; closing it closes what is below, too."""

    def __init__(self, stream: ByteStream, packed: ByteStream) -> None:
        super().__init__()
        self._stream = stream
        self._packed = packed
        self._head: bytes | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._head is None:
            head = b""
            while len(head) < len(_UTF8_MARK) and (more := self._stream.read(3 - len(head))):
                head += more
            self._head = head.removeprefix(_UTF8_MARK)
        if self._head:
            data, self._head = self._head[: len(buffer)], self._head[len(buffer) :]
        else:
            data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
            self._packed.close()
        super().close()
