"""The joins of two relations whose rows are measured, as sums of what is measured of their parts."""

from __future__ import annotations

import math
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
    >>> pairs.read([5.0], [0.0])                # of one part nothing is measured yet
    ({}, {})
    >>> pairs.add(("a", "b"))
    >>> pairs.read([5.0, -1.0], [0.0, 0.0])
    ({}, {})
    >>> pairs.read([5.0, 7.0], [4.0, 3.0])
    ({('a', 'b'): 22.0}, {('a', 'b'): 5.0})
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

    def read(
        self, numbers: Iterable[float], errors: Iterable[float]
    ) -> tuple[dict[Pair, float], dict[Pair, float]]:
        """The rows of the pairs of which all parts have been measured, and the standard errors of those sampled.

        A number below 0 says nothing; an error of 0 is that of a part that was counted.
        """
        found: dict[Pair, list[tuple[float, float]]] = {}
        for pair, rows, error in zip(self._told, numbers, errors, strict=False):
            found.setdefault(pair, []).append((rows, error))
        all_rows, all_errors = {}, {}
        for pair, parts in found.items():
            if len(parts) == self._parts[pair] and min(parts)[0] >= 0.0:
                all_rows[pair] = sum(rows for rows, _ in parts) + self._known[pair]
                if error := math.hypot(*(error for _, error in parts)):
                    all_errors[pair] = error
        return all_rows, all_errors
