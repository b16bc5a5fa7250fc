"""Elements that were pushed one by one and wait to be handed over together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from static_data.files.rdf_version import RdfVersion

_MOST_ELEMENTS = 4096
_MOST_CHARACTERS = 1 << 20


class PushedElements:
    """A block of elements in the making, as ElementLines.scala reads it.

    >>> waiting = PushedElements()
    >>> waiting.add(5, None, ["<http://e/s> <http://e/p> <http://e/o> ."])
    >>> waiting.take()
    b'@5 - 1 0\\n<http://e/s> <http://e/p> <http://e/o> .'
    >>> waiting.take()
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._elements = 0
        self._characters = 0

    def add(self, time: int, graph: str | None, lines: Sequence[str]) -> None:
        """Add an element whose lines are sound, each one line."""
        self._lines.append(f"@{time} {graph or '-'} {len(lines)} 0")
        self._lines += lines
        self._elements += 1
        self._characters += sum(map(len, lines))

    @property
    def is_full(self) -> bool:
        """Whether it is time to hand the elements over."""
        return self._elements >= _MOST_ELEMENTS or self._characters >= _MOST_CHARACTERS

    def take(self) -> bytes | None:
        """The block, which is empty afterwards; None if it is already."""
        if not self._lines:
            return None
        block = "\n".join(self._lines).encode()
        self._lines = []
        self._elements = self._characters = 0
        return block


def are_sound(lines: Iterable[str], version: RdfVersion = RdfVersion.STAR) -> bool:
    """Whether all lines are triples, without a graph, so that the JVM will take them.

    >>> are_sound(["<http://e/s> <http://e/p> 'o' ."]), are_sound(['<http://e/s> <http://e/p> "o"@en .'])
    (False, True)
    """
    try:
        for line in lines:
            if "\n" in line or "\r" in line:
                return False
            statement = parse_line(line, version)
            if statement is None or statement[3] is not None:
                return False
    except MalformedLineError:
        return False
    return True
