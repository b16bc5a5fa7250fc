"""What evaluations say of one expensive filter or bind: its selectivity, and the price of a call.

Both are followed by a running mean. Noise moves the values that plans are chosen by as little as
need be: they follow the means only in steps. A drift is more than noise twice in a row, in the same
direction; the mean then starts anew from what has drifted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from adaptive.errors import StatisticsError
from adaptive.expensive_calls import FilterStatistics

# Weight of the newest evaluation against all before it, once there are some.
_NEWEST = 0.2

# So many standard deviations off the mean are not noise.
_SIGMAS = 3.5

# Selectivities nearer than this, and prices within this factor, are the same to a plan.
_SAME_SHARE = 0.05
_SAME_RATIO = 1.15

# The value in use moves when the mean has left it by this much. Of shares, noise asks for no more
# than this step.
_SHARE_RATIO = 0.1
_NOISY_STEP = 0.02
_RATIO_STEP = 1.1

# Spread of the logarithm of a price that is taken for granted: clocks, caches, collections.
_PRICE_SPREAD = 0.15

# Fewer rows or calls than this say too little for a drift.
_FEW = 8

# The factor of distinct inputs stays between this and its inverse.
_LEAST_FACTOR = 1e-4

# From this share of calls on, practically all inputs differed.
_ALL_DIFFER = 0.95


@dataclass(frozen=True)
class FilterCounts:
    """What one evaluation counted at one filter or bind, all of its places together.

    `rows_in` and `rows_passed` are rows (equal for a bind), `calls` results that were computed,
    `cache_hits` results that were remembered, `nanoseconds` the time spent in the calls.
    """

    rows_in: int
    rows_passed: int
    calls: int
    cache_hits: int = 0
    nanoseconds: int = 0

    def __post_init__(self) -> None:
        values = (self.rows_in, self.rows_passed, self.calls, self.cache_hits, self.nanoseconds)
        if min(values) < 0:
            raise StatisticsError(f"counts must be at least 0: {self}")
        if self.rows_passed > self.rows_in:
            raise StatisticsError(f"more rows passed a filter than came in: {self}")


class _RunningMean:
    """A mean that forgets, the spread around it, and whether what comes has left it for good."""

    def __init__(self) -> None:
        self.value: float | None = None
        self._spread = 0.0
        self._seen = 0
        self._far: float | None = None

    def take(self, value: float, noise: float, same: float) -> None:
        """One more value; `noise` is its standard deviation if nothing has changed.

        A value that is far off waits for the next one: if that is far off on the same side, the
        nearer of the two is the new mean, else it counts as far as noise goes.
        """
        if self.value is None:
            self.value, self._seen = value, 1
            return
        limit = max(same, _SIGMAS * max(noise, math.sqrt(self._spread)))
        off, far = value - self.value, self._far
        is_far = abs(off) > limit
        if is_far and far is not None and (far - self.value) * off > 0.0:
            mean = self.value
            self.value = min(value, far, key=lambda one: abs(one - mean))
            self._seen, self._spread, self._far = 1, 0.0, None
            return
        if far is not None:
            self._absorb(far, limit)
        self._far = value if is_far else None
        if not is_far:
            self._absorb(value, limit)

    def _absorb(self, value: float, limit: float) -> None:
        assert self.value is not None
        off = max(-limit, min(limit, value - self.value))
        self._seen += 1
        weight = max(_NEWEST, 1.0 / self._seen)
        self.value += weight * off
        self._spread += weight * (off * off - self._spread)


class FilterEstimator:
    """Follows one filter or bind; `statistics` is what plans are to be chosen by.

    >>> estimator = FilterEstimator()
    >>> for _ in range(20):
    ...     estimator.observe(FilterCounts(1_000, 100, 1_000, 0, 50_000_000))
    >>> round(estimator.statistics.selectivity, 2), round(estimator.statistics.call_us)
    (0.1, 50)
    >>> for _ in range(3):                                  # fewer than before stay, from now on
    ...     estimator.observe(FilterCounts(1_000, 900, 1_000, 0, 50_000_000))
    >>> round(estimator.statistics.selectivity, 2)
    0.9
    """

    def __init__(self) -> None:
        self._share = _RunningMean()
        self._price = _RunningMean()
        self._factor = 0.0
        self._used_share: float | None = None
        self._used_price: float | None = None
        self._used_factor = 0.0

    @property
    def statistics(self) -> FilterStatistics:
        """The values in use; None for what was never seen."""
        return FilterStatistics(
            self._used_share,
            None if self._used_price is None else math.exp(self._used_price),
            math.exp(self._used_factor),
        )

    def observe(self, counts: FilterCounts, distinct: float | None = None) -> None:
        """Take in one evaluation; `distinct` are the distinct inputs that were estimated for it.

        An evaluation in which no row came says nothing.
        """
        if counts.rows_in:
            self._take_share(counts)
        if counts.calls and counts.nanoseconds:
            self._take_price(counts)
        if distinct is not None and distinct > 0.0 and counts.rows_in:
            self._take_calls(counts, distinct)

    def _take_share(self, counts: FilterCounts) -> None:
        rows = counts.rows_in
        share = counts.rows_passed / rows
        # What was drawn from few rows may be far off; half a row more on both sides stays careful.
        careful = (counts.rows_passed + 0.5) / (rows + 1.0)
        mean = careful if self._share.value is None else self._share.value
        noise = math.sqrt(max(mean * (1.0 - mean), careful * (1.0 - careful)) / rows)
        same = _SAME_SHARE if rows >= _FEW else 1.0
        self._share.take(share if rows >= _FEW else careful, noise, same)
        value = self._share.value
        assert value is not None
        used = self._used_share
        if used is None or abs(value - used) > _share_step(max(value, used), rows):
            self._used_share = min(1.0, max(0.0, value))

    def _take_price(self, counts: FilterCounts) -> None:
        price = math.log(counts.nanoseconds / counts.calls / 1e3)
        same = math.log(_SAME_RATIO) if counts.calls >= _FEW else math.inf
        self._price.take(price, _PRICE_SPREAD, same)
        value = self._price.value
        assert value is not None
        if self._used_price is None or abs(value - self._used_price) > math.log(_RATIO_STEP):
            self._used_price = value

    def _take_calls(self, counts: FilterCounts, distinct: float) -> None:
        factor = math.log(max(_LEAST_FACTOR, counts.calls / distinct))
        if counts.calls > _ALL_DIFFER * counts.rows_in:
            # All inputs differed, as far as rows went: there are at least so many.
            factor = max(factor, self._factor)
        factor = min(factor, -math.log(_LEAST_FACTOR))
        self._factor += 0.3 * (factor - self._factor)
        if abs(self._factor - self._used_factor) > math.log(_RATIO_STEP):
            self._used_factor = self._factor


def _share_step(share: float, rows: int) -> float:
    """By how much a share up to this one has to change to be another one to a plan, up and down alike.

    A factor counts, among small shares too, but not within the noise of one evaluation, which is
    three times that of the mean.
    """
    noise = math.sqrt(share * max(0.0, 1.0 - share) / rows)
    return max(_SHARE_RATIO * share, min(_NOISY_STEP, noise))
