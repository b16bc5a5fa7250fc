"""Whether another plan is worth the change: the expected saving against what the change costs."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

from adaptive.errors import CostModelError


@dataclass(frozen=True)
class Verdict:
    """Stay, prepare the better plan, or switch to it; `saving` in microseconds over its regime."""

    kind: Literal["stay", "prepare", "switch"]
    saving: float
    reason: str


@dataclass(frozen=True)
class SwitchPolicy:
    """When a plan gives way to a cheaper one; all costs in microseconds.

    A saving lasts as long as plans have stayed best in the past, at least one evaluation and at
    most `horizon`; `first_regime` is the guess before anything was seen, and `memory` the weight of
    each new regime in the running mean. A saving of less than `margin` of the running plan's cost
    counts as noise. `switch_cost` is changing to a plan that is prepared already, `prepare_cost`
    preparing one until that was measured. In each state of the streams other plans that should cost
    about as much are looked for `trials` times, to be tried, and a measured difference of less than
    `measured_margin` counts as noise.

    >>> policy = SwitchPolicy(prepare_cost=1_000.0, switch_cost=10.0, background=1.0)
    >>> policy.decide(500.0, 300.0, prepared=False, lasting=8.0).kind    # 8 * 200 > 1,010
    'prepare'
    >>> policy.decide(500.0, 300.0, prepared=False, lasting=2.0).kind
    'stay'
    >>> policy.decide(500.0, 300.0, prepared=True, lasting=2.0).kind
    'switch'
    """

    horizon: float = 200.0
    margin: float = 0.05
    switch_cost: float = 100.0
    prepare_cost: float = 200_000.0
    background: float = 0.25
    first_regime: float = 32.0
    memory: float = 0.3
    trials: int = 0
    measured_margin: float = 0.05

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value < math.inf:
                raise CostModelError(f"{field.name!r} must be at least 0, not {value!r}")
        if self.horizon < 1.0 or not 0.0 < self.memory <= 1.0:
            raise CostModelError("'horizon' must be at least 1 and 'memory' lie in 0 to 1")

    def within_margin(self, cost: float, best: float, noise: float = 1.0) -> bool:
        """Whether a cost is the best one but for noise, of which so much is left."""
        return cost - best <= noise * self.margin * cost

    def decide(
        self,
        cost: float,
        best: float,
        prepared: bool,
        lasting: float,
        prepare_cost: float | None = None,
        delay: float = 0.0,
        missed: float = 0.0,
        noise: float = 1.0,
    ) -> Verdict:
        """Weigh the running plan's `cost` of one evaluation against the `best` one.

        `lasting` is how many evaluations the saving is expected to last; `delay` those that pass
        while an unprepared plan is being prepared, and save nothing. `missed` is what not having it
        has cost lately: a plan that is best for short times only, but often, is worth as much.
        Of the margin, `noise` is left where plans were compared more than once.
        """
        if self.within_margin(cost, best, noise):
            return Verdict("stay", 0.0, f"within {noise * self.margin:.0%} of the cheapest plan")
        batches = min(self.horizon, max(1.0, lasting))
        if prepared:
            needed = self.switch_cost
        else:
            preparing = self.prepare_cost if prepare_cost is None else prepare_cost
            needed = self.switch_cost + self.background * preparing
            batches = max(0.0, batches - delay)
        saving = (cost - best) * batches
        words = f"saves {cost - best:,.0f} us in each of {batches:,.0f} evaluations"
        if missed > saving and not prepared:
            saving = missed
            words = f"would have saved {missed:,.0f} us lately"
        words += f", costs {needed:,.0f} us"
        if saving <= needed:
            return Verdict("stay", saving, words)
        return Verdict("switch" if prepared else "prepare", saving, words)


class Regimes:
    """How long the same plan stays best: a running mean over past regimes, and the present one.

    >>> regimes = Regimes(SwitchPolicy(first_regime=16.0, memory=0.5))
    >>> for _ in range(4): regimes.seen(same=False)     # another plan each time
    >>> regimes.lasting
    2.875
    >>> for _ in range(50): regimes.seen(same=True)
    >>> regimes.lasting
    51.0
    """

    def __init__(self, policy: SwitchPolicy) -> None:
        self._policy = policy
        self._mean = policy.first_regime
        self._length = 0

    def seen(self, same: bool) -> None:
        """One more evaluation; `same` says that the best plan is the one before it."""
        if not same and self._length:
            self._mean += self._policy.memory * (self._length - self._mean)
            self._length = 0
        self._length += 1

    @property
    def lasting(self) -> float:
        """Evaluations that the present regime is expected to last on.

        What has lasted long is expected to last as long again.
        """
        return min(self._policy.horizon, max(1.0, self._mean, float(self._length)))
