"""What executed joins counted, remembered as a factor for each join set that was seen.

The estimate of a set multiplies what is known about its parts as if nothing depended on anything
else. Where an operator counted otherwise, the set keeps the ratio, as a logarithm, and sets that
contain it share it until they are counted themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from adaptive.errors import StatisticsError

HALF_LIFE = 50.0
"""Evaluations after which half of a correction is forgotten, unless the set is counted again."""

# A single count may not overrule the model by more than this, as it may be a passing extreme.
LARGEST_FACTOR = math.log(10_000.0)

# Weight of a new count against all older ones, once there are some.
_SMOOTHING = 0.3

# The factor in use follows the remembered one only in steps: a search between two evaluations has
# nothing to do while a factor fades by less than this (a tenth).
_STEP = math.log(1.1)

# Half-lives after which a set that is not counted any more is forgotten.
_FORGOTTEN = 6.0

# Sets remembered at most; the one not counted for longest goes first.
_REMEMBERED = 128


@dataclass(slots=True)
class _Memory:
    value: float
    weight: float
    counted: float


class Corrections:
    """Join set (names of relations) -> logarithm of counted over estimated rows.

    >>> corrections = Corrections()
    >>> corrections.learn(frozenset({"now", "w30"}), math.log(8))
    >>> round(math.exp(corrections.factor(frozenset({"now", "w30", "creator"}))), 6)
    8.0
    """

    def __init__(self, half_life: float = HALF_LIFE) -> None:
        if not half_life > 0:
            raise StatisticsError(f"the half-life must be above 0 evaluations, not {half_life!r}")
        self._half_life = half_life
        self._now = 0.0
        self._memory: dict[frozenset[str], _Memory] = {}
        self._in_use: dict[frozenset[str], float] = {}

    def in_use(self) -> dict[frozenset[str], float]:
        """All factors in use, in the order in which a set looks for its own.

        The largest sets first, then by name: the first one contained in a set is its factor.
        """
        return self._in_use

    def factor(self, relations: frozenset[str]) -> float:
        """The logarithm of the factor of a set: its own, or of the largest counted set in it."""
        for counted, factor in self._in_use.items():
            if counted <= relations:
                return factor
        return 0.0

    def learn(self, relations: frozenset[str], factor: float) -> None:
        """Take in one more logarithm of counted over modelled rows of a set."""
        factor = max(-LARGEST_FACTOR, min(LARGEST_FACTOR, factor))
        memory = self._memory.get(relations)
        if memory is None:
            memory = self._memory[relations] = _Memory(factor, 1.0, self._now)
        else:
            kept = self._kept(memory)
            weight = memory.weight * kept
            share = max(_SMOOTHING, 1.0 / (weight + 1.0))
            memory.value = memory.value * kept * (1.0 - share) + factor * share
            memory.weight = weight + 1.0
            memory.counted = self._now
        self._use(relations, memory.value)
        if len(self._memory) > _REMEMBERED:
            self._forget(min(self._memory, key=lambda key: self._memory[key].counted))

    def tick(self) -> None:
        """One evaluation has passed: factors fade, those long not counted are forgotten."""
        self._now += 1.0
        for relations, memory in list(self._memory.items()):
            if self._now - memory.counted > _FORGOTTEN * self._half_life:
                self._forget(relations)
            else:
                self._use(relations, memory.value * self._kept(memory))

    def _kept(self, memory: _Memory) -> float:
        kept: float = 0.5 ** ((self._now - memory.counted) / self._half_life)
        return kept

    def _use(self, relations: frozenset[str], factor: float) -> None:
        old = self._in_use.get(relations)
        if old is None:
            self._in_use[relations] = factor
            self._in_use = dict(
                sorted(self._in_use.items(), key=lambda entry: (-len(entry[0]), sorted(entry[0])))
            )
        elif abs(factor - old) > _STEP:
            self._in_use[relations] = factor

    def _forget(self, relations: frozenset[str]) -> None:
        del self._memory[relations]
        del self._in_use[relations]
