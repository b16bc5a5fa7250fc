"""What preparing a plan costs, and how many evaluations it takes."""

from __future__ import annotations

# Preparing a plan costs this share of its time at least, however idle the machine is.
_LEAST_FELT = 0.05

# Weight of a new measurement of seconds against the mean so far.
_NEWEST = 0.3


class PreparingCosts:
    """Follows how long preparing takes, how often evaluations come, and how much of the time they need.

    `assumed` microseconds count until a plan was prepared. Times are seconds of one clock.

    >>> costs = PreparingCosts(200_000.0)
    >>> costs.cost, costs.delay
    (200000.0, 0.0)
    >>> for second in range(3):
    ...     costs.observed(second)
    >>> costs.prepared(4.0)
    >>> costs.cost, costs.delay
    (4000000.0, 4.0)
    """

    def __init__(self, assumed: float) -> None:
        self._assumed = assumed
        self._known: float | None = None
        self._interval: float | None = None
        self._observed_at: float | None = None
        self._executed_at: float | None = None
        self._busy = 1.0

    def observed(self, now: float) -> None:
        """An evaluation is to come."""
        if self._observed_at is not None:
            self._interval = _mean(self._interval, now - self._observed_at)
        self._observed_at = now

    def executed(self, now: float, seconds: float) -> None:
        """An evaluation took so long; 0 where nobody has measured it."""
        if seconds <= 0.0:
            return
        if self._executed_at is not None and now > self._executed_at:
            self._busy = _mean(self._busy, min(1.0, seconds / (now - self._executed_at)))
        self._executed_at = now

    def prepared(self, seconds: float) -> None:
        """Preparing a plan took so long."""
        self._known = _mean(self._known, seconds * 1e6)

    @property
    def cost(self) -> float:
        """Microseconds that preparing costs: the less of the time evaluations take, the less it is in their way."""
        known = self._assumed if self._known is None else self._known
        return known * max(_LEAST_FELT, min(1.0, self._busy))

    @property
    def delay(self) -> float:
        """Evaluations that pass while a plan is being prepared."""
        if self._known is None or not self._interval:
            return 0.0
        return self._known / 1e6 / self._interval


def _mean(old: float | None, new: float) -> float:
    return new if old is None else old + _NEWEST * (new - old)
