"""A file to which sinks add texts, each of them whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG


class AddedFile:
    """A file that is written anew or, with `append`, gone on with; raises OSError.

    There is no buffer: a text that could not be written would stay in it, and come once more for each try.
    """

    def __init__(self, path: str | Path, append: bool) -> None:
        self._file = Path(path).open("ab" if append else "wb", buffering=0)  # noqa: SIM115
        self._can_be_cut = S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._whole: int | None = None  # what to cut off from, where a text is there in part

    def add(self, text: str) -> None:
        """Add a text in UTF-8; where that fails, nothing of it is left, unless in a pipe or a device."""
        left = memoryview(text.encode())
        self._cut()  # what could not be cut off at once
        place = self._file.fileno()
        if self._can_be_cut:
            self._whole = os.fstat(place).st_size
        try:
            while left:
                left = left[os.write(place, left) :]
        except BaseException:  # Ctrl-C, too
            with suppress(OSError):
                self._cut()
            raise
        self._whole = None

    def _cut(self) -> None:
        if self._whole is not None:
            self._file.truncate(self._whole)
            self._file.seek(0, os.SEEK_END)
            self._whole = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()
