"""Blocks of bytes for the JVM, and long answers of it, handed over in a file that lies in memory where the machine has
such files.

py4j would escape or encode the bytes, one by one, and sends what is too long for a packet 40 milliseconds later.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

_MOST_KEPT = 1 << 25


class Handover:
    """The file `path`, in which one block at a time waits for the JVM; `jvm` is the JVM's side, ingest.Handover.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     handover = Handover(Path(folder) / "block", None)
    ...     length = handover.write(b"a block")
    ...     (Path(folder) / "block").read_bytes()[:length]
    b'a block'
    """

    def __init__(self, path: Path, jvm: Any) -> None:
        self.jvm = jvm
        self._path = path
        self._file: int | None = None
        self._size = 0

    def write(self, block: bytes | memoryview) -> int:
        """Have the JVM find this block; gives its length. Raises OSError where there is no room for it."""
        file = self._opened()
        view = memoryview(block).cast("B")
        if self._size > _MOST_KEPT >= len(view):
            os.ftruncate(file, 0)
            self._size = 0
        done = 0
        while done < len(view):
            done += os.pwrite(file, view[done:], done)
        self._size = max(self._size, done)
        return done

    def answer(self, text: str) -> str:
        """What the JVM has answered through its Handover."""
        if not text.startswith("@"):
            return text
        length = int(text[1:])
        self._size = max(self._size, length)
        return os.pread(self._opened(), length, 0).decode()

    def _opened(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._file

    def close(self) -> None:
        """Let go of the file, which the engine's folder is deleted with."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
