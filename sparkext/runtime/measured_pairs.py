"""The joins of two relations whose rows are measured, as sums of what is measured of their parts."""

from __future__ import annotations

from collections.abc import Iterable

Pair = tuple[str, str]
"""Two relations, by their names."""


class MeasuredPairs:
    """Tells which joins of two relations the JVM's numbers say something about.

    A relation that merges windows with static data has two parts, so that its join with another one has up to four:
    windows with windows and windows with static data are measured, each by a number; what static data have in common is
    known beforehand.

    >>> pairs = MeasuredPairs()
    >>> pairs.expect(("a", "b"), 2, known=10.0)
    >>> pairs.add(("a", "b"))
    >>> pairs.read([5.0])                       # of one part nothing is measured yet
    {}
    >>> pairs.add(("a", "b"))
    >>> pairs.read([5.0, -1.0]), pairs.read([5.0, 7.0])
    ({}, {('a', 'b'): 22.0})
    """

    def __init__(self) -> None:
        self._parts: dict[Pair, int] = {}
        self._known: dict[Pair, float] = {}
        self._told: list[Pair] = []

    def expect(self, pair: Pair, parts: int, known: float = 0.0) -> None:
        """So many parts of a pair are measured, its other rows are known; there is nothing to tell before all are."""
        self._parts[pair], self._known[pair] = parts, known

    def add(self, pair: Pair) -> None:
        """The next number of the JVM's is of a part of this pair."""
        self._told.append(pair)

    def read(self, numbers: Iterable[float]) -> dict[Pair, float]:
        """The rows of the pairs of which all parts have been measured; a number below 0 says nothing."""
        found: dict[Pair, list[float]] = {}
        for pair, rows in zip(self._told, numbers, strict=False):
            found.setdefault(pair, []).append(rows)
        return {
            pair: sum(rows) + self._known[pair]
            for pair, rows in found.items()
            if len(rows) == self._parts[pair] and min(rows) >= 0.0
        }
