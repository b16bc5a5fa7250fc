"""What becomes of input that is not well-formed: it fails, is skipped, or is taken as far as it can be."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import chain
from pathlib import Path

from static_data.errors import StaticDataError


class OnError(Enum):
    """What to do about a statement that is not well-formed.

    FAIL: nothing is loaded, and the error names the place. SKIP: the statement is left out, counted, and
    written to a side file. ACCEPT: IRIs are taken as they stand, whatever characters they hold, relative
    ones too where a format has no base; surrogate pairs that are written as two escapes are one
    character; anything else fails.
    """

    FAIL = "fail"
    SKIP = "skip"
    ACCEPT = "accept"

    @classmethod
    def named(cls, name: str | OnError) -> OnError:
        """The one of that name; raises StaticDataError for any other text.

        >>> OnError.named("skip")
        <OnError.SKIP: 'skip'>
        """
        try:
            return cls(name)
        except ValueError:
            known = ", ".join(repr(one.value) for one in cls)
            raise StaticDataError(f"on_error is one of {known}, not {name!r}") from None


@dataclass(frozen=True, slots=True)
class Skipped:
    """One statement that was left out; line and column count from 1, None is unknown."""

    file: str
    line: int | None
    column: int | None
    reason: str
    text: str | None = None

    def __str__(self) -> str:
        place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        return f"{place}: {self.reason}"


def note_skipped(skipped: Iterable[Skipped], file: str | Path | None) -> tuple[int, str | None]:
    """Write entries as they are made, see `write_skipped`; returns how many there were, and where they are, if any."""
    count = 0

    def counted() -> Iterator[Skipped]:
        nonlocal count
        for one in skipped:
            count += 1
            yield one

    entries = counted()
    first = next(entries, None)
    if first is None:
        return 0, None
    path = write_skipped(chain([first], entries), file)
    return count, path


def write_skipped(skipped: Iterable[Skipped], file: str | Path | None) -> str:
    """Add entries to a side file, JSON Lines with the fields of `Skipped`; returns its path.

    None: a new file in the folder for temporary files, which stays. Raises OSError.
    """
    if file is None:
        with tempfile.NamedTemporaryFile(prefix="skipped-", suffix=".jsonl", delete=False) as made:
            file = made.name
    with Path(file).open("a", encoding="utf-8") as out:
        for one in skipped:
            entry = {"file": one.file, "line": one.line, "column": one.column}
            text = {} if one.text is None else {"text": one.text}
            out.write(json.dumps(entry | {"reason": one.reason} | text, ensure_ascii=False) + "\n")
    return str(file)
