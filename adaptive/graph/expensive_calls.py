"""What a filter or a bind costs that calls functions worth counting."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adaptive.errors import StatisticsError

# Looking one result up in the function cache, as measured in the generated code of an evaluation.
HIT_US = 0.1


def _amount(value: float, what: str) -> None:
    if not 0.0 <= value < math.inf:
        raise StatisticsError(f"{what} must be a finite number of at least 0, not {value!r}")


@dataclass(frozen=True)
class CallCost:
    """The declared cost of one filter or bind; times in microseconds.

    `call_us` is computing it once, all functions inside it together. With `cached`, it is computed
    once for each combination of values of `inputs` that reaches it in an evaluation, and looked up
    for `hit_us` otherwise. `inputs` None means all variables that the filter or bind reads.

    >>> CallCost(100.0).cost(rows=1_000.0, distinct=20.0)     # 20 calls, 980 of them remembered
    2098.0
    >>> CallCost(100.0, cached=False).cost(rows=1_000.0, distinct=20.0)
    100000.0
    """

    call_us: float
    hit_us: float = HIT_US
    cached: bool = True
    inputs: frozenset[str] | None = None

    def __post_init__(self) -> None:
        _amount(self.call_us, "the cost of a call")
        _amount(self.hit_us, "the cost of a remembered result")

    def calls(self, rows: float, distinct: float) -> float:
        """Calls made for so many rows, of which so many differ in their inputs."""
        return min(rows, distinct) if self.cached else rows

    def cost(self, rows: float, distinct: float) -> float:
        """Microseconds for so many rows."""
        calls = self.calls(rows, distinct)
        return calls * self.call_us + (rows - calls) * self.hit_us
