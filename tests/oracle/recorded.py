"""What was put on a stream, as the oracle sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Element:
    """One element: its time, its triples as N-Triples lines, its graph's name and time triple if it has them."""

    time: int
    triples: tuple[str, ...]
    graph: str | None = None
    about: tuple[str, ...] = ()


Streams = Mapping[str, Sequence[Element]]
"""Elements by the IRI of their stream."""


def element(time: int, *triples: str) -> Element:
    """An element without a name.

    >>> element(5, "<http://e/s> <http://e/p> <http://e/o> .").time
    5
    """
    return Element(time, triples)
