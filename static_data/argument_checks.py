"""Arguments of public calls, looked at before anything is done with them.

What Python's types let through and neither UTF-8 nor Arrow can hold, a lone surrogate in a text above all,
would otherwise fail somewhere inside, in words of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path

from static_data.errors import ArgumentError

_SHOWN = 60
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*")


def lone_surrogate(text: str) -> int | None:
    r"""Where, from 0, a lone surrogate stands in a text, which no UTF-8 can hold; None where none does.

    >>> lone_surrogate("ab\ud800"), lone_surrogate("\U0001F600")
    (2, None)
    """
    if text.isascii():
        return None
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return error.start
    return None


def described(value: object) -> str:
    """A value as a message shows it: on one line, not for ever.

    >>> described(None), described(list(range(99)))
    ('None', 'list [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1...')
    """
    if value is None:
        return "None"
    try:
        shown = " ".join(repr(value).split())
    except Exception:  # the values of others may fail in any way
        shown = "..."
    return f"{type(value).__name__} {shown[:_SHOWN]}{'...' * (len(shown) > _SHOWN)}"


class ArgumentChecks:
    """Checks that raise one class of error, which is given the argument's name and what is wrong with it."""

    def __init__(self, error: type[ArgumentError]) -> None:
        self._error = error

    def wrong(self, name: str, wanted: str, value: object) -> ArgumentError:
        """The error of an argument that is something else than wanted."""
        return self._error(name, f"must be {wanted}, not {described(value)}")

    def plain(self, name: str, value: object) -> object:
        """Plain data, as JSON has them."""
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise self.wrong(name, "plain data that JSON can hold", value) from None
        return value

    def text(self, name: str, value: object, wanted: str = "a text") -> str:
        """A text that UTF-8 can hold."""
        if not isinstance(value, str):
            raise self.wrong(name, wanted, value)
        place = lone_surrogate(value)
        if place is not None:
            raise self._error(
                name,
                f"character {place + 1} of {described(value)} is a lone surrogate: no text in UTF-8",
            )
        return value

    def iri(self, name: str, value: object) -> str:
        """An absolute IRI, without angle brackets."""
        text = self.text(name, value, "an absolute IRI")
        if _ABSOLUTE.fullmatch(text) is None:
            raise self.wrong(name, "an absolute IRI", value)
        return text

    def graph(self, name: str, value: object) -> None:
        """The name of a graph: an IRI, perhaps in angle brackets, or a blank node; None is the default graph."""
        if value is None:
            return
        text = self.text(name, value, "the IRI of a graph, or None")
        if not text or re.search(r"\s", text):
            raise self.wrong(name, "the IRI of a graph, or None", value)

    def path(self, name: str, value: object, wanted: str = "a path") -> str | Path:
        """A path of a file or folder, or a URI of one."""
        if isinstance(value, PathLike) and isinstance(fspath(value), str):
            value = Path(value)
        if not isinstance(value, str | Path):
            raise self.wrong(name, wanted, value)
        if "\0" in self.text(name, str(value)) or not str(value):
            raise self.wrong(name, wanted, value)
        return value

    def paths(self, name: str, value: object) -> list[str | Path]:
        """One path or several."""
        wanted = "a path, or a list of paths"
        if isinstance(value, str | PathLike):
            return [self.path(name, value, wanted)]
        if isinstance(value, bytes | bytearray | dict) or not isinstance(value, Iterable):
            raise self.wrong(name, wanted, value)
        return [self.path(f"{name}[{n}]", path) for n, path in enumerate(value)]

    def flag(self, name: str, value: object, or_none: bool = False) -> None:
        """True or False, perhaps None."""
        if not isinstance(value, bool) and not (or_none and value is None):
            raise self.wrong(name, f"True{', False or None' if or_none else ' or False'}", value)

    def whole(self, name: str, value: object) -> int:
        """A whole number."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.wrong(name, "a whole number", value)
        if not -(1 << 63) <= value < 1 << 63:
            raise self.wrong(name, "a whole number of 64 bits", value)
        return value

    def callable(self, name: str, value: object) -> None:
        """Something to be called."""
        if not callable(value):
            raise self.wrong(name, "a function", value)


check = ArgumentChecks(ArgumentError)
"""Those of this package."""
