"""What a filter or a bind costs that calls functions worth counting, as declared and as observed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adaptive.errors import StatisticsError

# Looking one result up in the function cache, as measured in the generated code of an evaluation.
HIT_US = 0.1

# Numbers that differ by this factor are quite different; shares get a little on both sides.
_SHIFT = 1.4
_SLACK = 0.02


def _amount(value: float, what: str) -> None:
    if not 0.0 <= value < math.inf:
        raise StatisticsError(f"{what} must be a finite number of at least 0, not {value!r}")


@dataclass(frozen=True)
class CallPrice:
    """The declared price of one filter or bind; times in microseconds.

    `call_us` is computing it once, all functions inside it together. With `cached`, it is computed
    once for each combination of values of `inputs` that reaches it in an evaluation, and looked up
    for `hit_us` otherwise. `inputs` None means all variables that the filter or bind reads.

    >>> CallPrice(100.0).cost(rows=1_000.0, distinct=20.0)     # 20 calls, 980 of them remembered
    2098.0
    >>> CallPrice(100.0, cached=False).cost(rows=1_000.0, distinct=20.0)
    100000.0
    """

    call_us: float
    hit_us: float = HIT_US
    cached: bool = True
    inputs: frozenset[str] | None = None

    def __post_init__(self) -> None:
        _amount(self.call_us, "the price of a call")
        _amount(self.hit_us, "the price of a remembered result")

    def calls(self, rows: float, distinct: float) -> float:
        """Calls made for so many rows, of which so many differ in their inputs."""
        return min(rows, distinct) if self.cached else rows

    def cost(self, rows: float, distinct: float, call_us: float | None = None) -> float:
        """Microseconds for so many rows; `call_us` is the measured price of a call, if any."""
        calls = self.calls(rows, distinct)
        return calls * (self.call_us if call_us is None else call_us) + (rows - calls) * self.hit_us


@dataclass(frozen=True)
class FilterStatistics:
    """What was observed of one filter or bind; None where nothing was.

    `selectivity` is the kept share of the rows, `call_us` microseconds of one call, and
    `distinct_factor` the distinct inputs that were counted over those that were estimated.
    """

    selectivity: float | None = None
    call_us: float | None = None
    distinct_factor: float = 1.0

    def __post_init__(self) -> None:
        if self.selectivity is not None and not 0.0 <= self.selectivity <= 1.0:
            raise StatisticsError(f"a selectivity must lie in 0 to 1, not {self.selectivity!r}")
        if self.call_us is not None:
            _amount(self.call_us, "the price of a call")
        _amount(self.distinct_factor, "a factor of distinct inputs")

    def shifted(self, now: FilterStatistics) -> bool:
        """Whether another observation is so far from this one that plans may cost quite something else.

        >>> known = FilterStatistics(0.1, 50.0)
        >>> known.shifted(FilterStatistics(0.11, 55.0)), known.shifted(FilterStatistics(0.4, 50.0))
        (False, True)
        """
        if (self.selectivity is None) != (now.selectivity is None):
            return True
        if (self.call_us is None) != (now.call_us is None):
            return True
        pairs = (
            ((self.selectivity or 0.0) + _SLACK, (now.selectivity or 0.0) + _SLACK),
            (1.0 - (self.selectivity or 0.0) + _SLACK, 1.0 - (now.selectivity or 0.0) + _SLACK),
            ((self.call_us or 0.0) + HIT_US, (now.call_us or 0.0) + HIT_US),
            (self.distinct_factor, now.distinct_factor),
        )
        return any(max(pair) > _SHIFT * min(pair) for pair in pairs)
