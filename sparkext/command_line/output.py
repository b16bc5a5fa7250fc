"""Where a command writes: standard output, or a file that appears only when it is complete."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from sparkext.errors import InputFileError


def check_output(file: str | None) -> None:
    """Raises InputFileError when `file` cannot be written."""
    if file is None:
        return
    path = Path(file)
    if path.is_dir():
        raise InputFileError(file, None, None, "is a folder")
    if not path.parent.is_dir():
        raise InputFileError(file, None, None, f"no such folder: {path.parent}")
    target = path if path.exists() and not path.is_file() else path.resolve().parent
    if not os.access(target, os.W_OK):
        raise InputFileError(file, None, None, "no permission to write here")


@contextmanager
def added_output(file: str) -> Iterator[tuple[TextIO, Iterator[str]]]:
    """A file of JSON Lines that is added to, and the whole lines in it; a line that was cut off goes."""
    path = Path(file).resolve()
    end = 0
    if path.exists():
        with path.open("rb") as written:
            end = sum(len(line) for line in written if line.endswith(b"\n"))
        os.truncate(path, end)
    with path.open("a", encoding="utf-8", newline="") as target:
        yield target, _lines(path, end)


def _lines(path: Path, end: int) -> Iterator[str]:
    if end:
        with path.open(encoding="utf-8", errors="replace", newline="\n") as written:
            yield from written


@contextmanager
def opened_output(file: str | None) -> Iterator[TextIO]:
    """A text file in UTF-8 with line ends as written.

    With a name, a file beside it is written and put in its place at the end; after a failure, what
    was there before is there still.
    """
    if file is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield sys.stdout
        return
    path = Path(file).resolve()
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with path.open("w", encoding="utf-8", newline="") as target:
            yield target
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("w", encoding="utf-8", newline="") as target:
            yield target
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
