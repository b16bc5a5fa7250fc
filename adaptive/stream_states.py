"""The states that streams are in, and come back to: what was learned in one of them is right there again.

A state is what is measured: the rows of each relation, and of the measured joins of two. What is counted of larger
joins, and what plans take, is remembered for each state by itself. Numbers that come from samples are off by chance,
the first ones most: by so much they may differ within one state.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from adaptive.corrections import Corrections

# A state whose numbers are all within this factor of those of now is the present one.
SAME_STATE = math.log(1.8)

# From this factor on, another known state may be nearer: it is the present one where it is but so many times as far.
_LEAVING = math.log(1.35)
_CLEARLY_NEARER = 0.5

# Within this factor a new state is so much like a known one that plans take about as long, compared with each other.
_ALIKE = math.log(2.5)

# Differences within so many standard errors are chance, as where they are measured (`ClusterStatistics.scala`).
_CHANCE = 3.0

# What a state's numbers were taken from is replaced by what errs by less than so many times as much, not by each
# sample: a state would drift with them.
_BETTER = 0.8

# Few rows more or less are the same, however few there are.
_SLACK = 8.0

# States remembered; the one left for longest goes first.
_REMEMBERED = 16


@dataclass(frozen=True)
class _Levels:
    """Numbers of rows as logarithms, and the standard errors of those that were not counted."""

    rows: dict[object, float]
    errors: dict[object, float]

    @staticmethod
    def of(rows: Mapping[object, float], errors: Mapping[object, float]) -> _Levels:
        """Those of numbers of rows and errors of some of them."""
        some = {key: max(0.0, count) + _SLACK for key, count in rows.items()}
        return _Levels(
            {key: math.log(count) for key, count in some.items()},
            {key: error / some[key] for key, error in errors.items()},
        )

    def refine(self, newer: _Levels) -> None:
        """Take up what could not be measured so far, or not nearly as well."""
        for key, level in newer.rows.items():
            error, known = newer.errors.get(key, 0.0), self.errors.get(key, 0.0)
            if key not in self.rows or error < _BETTER * known:
                self.rows[key], self.errors[key] = level, error

    def apart(self, other: _Levels, far: float = math.inf) -> float:
        """The largest difference of a number that is more than chance; what only one of them knows does not count.

        From `far` on it is not known by how much they differ.
        """
        apart, others = 0.0, other.rows
        for key, level in self.rows.items():
            if (known := others.get(key)) is not None:
                difference = abs(level - known)
                if difference > apart:
                    here, there = self.errors.get(key, 0.0), other.errors.get(key, 0.0)
                    if difference <= _CHANCE * math.hypot(here, there):
                        continue
                    apart = difference
                    if apart >= far:
                        break
        return apart


@dataclass(frozen=True)
class _State:
    number: int
    levels: _Levels
    corrections: Corrections
    like: int | None = None


class StreamStates:
    """Tells states apart by numbers of rows, and keeps the corrections of each.

    >>> states = StreamStates(Corrections())
    >>> [states.recognise({"now": rows}) for rows in (100.0, 110.0, 1_000.0, 95.0)]
    [0, 0, 1, 0]

    By how much samples may be off says what is another state:

    >>> states = StreamStates(Corrections())
    >>> [states.recognise({"join": rows}, {"join": error}) for rows, error in ((4e3, 2e3), (9e3, 900.0), (3e3, 300.0))]
    [0, 0, 1]
    """

    def __init__(self, corrections: Corrections) -> None:
        self.version = 0
        """Grows with each change of state."""
        self._present = _State(0, _Levels({}, {}), corrections)
        self._known = [self._present]  # the one seen last stands last
        self._made = 1

    @property
    def corrections(self) -> Corrections:
        """Those of the present state."""
        return self._present.corrections

    @property
    def number(self) -> int:
        """The number of the present state; no other state will have it."""
        return self._present.number

    @property
    def like(self) -> int | None:
        """The number of the state that the present one was much like when it was new, if there was one.

        >>> states = StreamStates(Corrections())
        >>> [(states.recognise({"now": rows}), states.like) for rows in (100.0, 1_000.0, 2_200.0)]
        [(0, None), (1, None), (2, 1)]
        """
        return self._present.like

    def recognise(
        self, rows: Mapping[object, float], errors: Mapping[object, float] | None = None
    ) -> int:
        """The number of the state in which so many rows are counted, which is the present one from now on.

        `errors` are the standard errors, in rows, of those that were estimated from samples.

        One that is new begins with what is known in the one that is most like it. Between two known ones, the present
        one is left when the other one is clearly nearer: what was learned there is about these numbers.
        """
        levels = _Levels.of(rows, errors or {})
        from_present = levels.apart(self._present.levels)
        if from_present > _LEAVING:
            near, apart = self._nearest(levels)
            if from_present > SAME_STATE and apart > SAME_STATE:
                like = near.number if apart <= _ALIKE else None
                near = _State(self._made, levels, near.corrections.copy(), like)
                self._made += 1
            elif from_present <= SAME_STATE and apart > _CLEARLY_NEARER * from_present:
                near = self._present
            if near is not self._present:
                self._enter(near)
                self.version += 1
        self._present.levels.refine(levels)
        return self.number

    def _nearest(self, levels: _Levels) -> tuple[_State, float]:
        near, apart = self._known[-1], math.inf
        for state in reversed(self._known):
            if (distance := levels.apart(state.levels, apart)) < apart:
                near, apart = state, distance
        return near, apart

    def _enter(self, state: _State) -> None:
        others = [known for known in self._known if known is not state]
        self._known = [*others[-_REMEMBERED + 1 :], state]
        self._present = state
