"""Plans that should cost about as much as the cheapest one are tried, to see which of them is the fastest."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from adaptive.measured_times import MEASURED_RUNS, MeasuredTimes
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.plan_families import dearest_order
from adaptive.switching import SwitchPolicy

# Runs of a plan on trial: the first ones are slow, as its code is new.
TRIAL_RUNS = MEASURED_RUNS + 6

# The running plan has settled after so many runs in one state of the streams.
_SETTLED = 6

# A plan that takes so many times as long as the one before it is not run to the end of its trial.
_HOPELESS = 2.0

# A rival is expected to cost at most so many times the least, and may be faster by this share.
_NEAR = 1.3
_HOPE = 0.1

# What a run on trial may take beyond one of the running plan, as a share.
_DEARER = 0.3

# What has come so often is expected to come so many times as often yet.
_AGAIN = 6

# States are told apart by what the cheapest plan costs.
_SAME_STATE = math.log(1.3)
_STATES = 16


@dataclass
class _State:
    """A state of the streams: the logarithm of the least cost in it, and who is still to be tried there.

    `usual` is what an evaluation took before the first trial, in microseconds.
    """

    least: float
    usual: float
    rivals: list[PlanNode] = field(default_factory=list)
    asked: bool = False


class PlanTrials:
    """Says which plan to try next; `times` is told of all runs before `ran` is called.

    A state of the streams has its trials once: the cheapest plan that goes another way where the
    cheapest of all is dearest, and those that make the last join in another way, up to `policy.trials`
    together; or, where expensive filters are placed by cost, those of H3 and H4.
    They are tried only where finding a faster one would soon pay.
    """

    def __init__(
        self, cache: PlanCache | PlacedPlanCache, policy: SwitchPolicy, times: MeasuredTimes
    ) -> None:
        self._cache = cache
        self._policy = policy
        self._times = times
        self._states: list[_State] = []
        self.due = False
        """Whether `step` has news, although no statistic has changed."""

    def ran(
        self,
        plan: PlanNode,
        cost: float,
        microseconds: float,
        prepared: Collection[PlanNode],
        prepare_cost: float,
    ) -> None:
        """One more run of the running plan, which was expected to cost so much."""
        self.due = False
        if not self._policy.trials:
            return
        runs = self._times.runs(plan, cost)
        least = self._cache.cost
        state = self._state(least)
        if state is None:
            if runs >= _SETTLED and self._worthwhile(microseconds, runs, prepare_cost):
                self._begin(plan, least, (self._times.ratio(plan, cost) or 0.0) * cost)
                self.due = True
        elif state.rivals:
            rival = state.rivals[0]
            if rival == plan:
                taken = self._times.ratio(plan, cost)
                hopeless = taken is not None and taken * cost > _HOPELESS * state.usual
                if runs >= TRIAL_RUNS or hopeless:
                    state.rivals.pop(0)
                    state.asked = False
                    self.due = True
            elif runs >= MEASURED_RUNS:
                self.due = rival in prepared or not state.asked

    def step(self, failed: Collection[PlanNode]) -> PlanNode | None:
        """The plan to run now, or to prepare for that, if one is to be tried in the present state."""
        state = self._state(self._cache.cost) if self._states else None
        if state is None:
            return None
        while state.rivals and state.rivals[0] in failed:
            state.rivals.pop(0)
            state.asked = False
        return state.rivals[0] if state.rivals else None

    def asked(self) -> None:
        """The plan of `step` is being prepared."""
        state = self._state(self._cache.cost)
        if state is not None:
            state.asked = True

    def _worthwhile(self, microseconds: float, runs: int, prepare_cost: float) -> bool:
        policy = self._policy
        saving = _HOPE * microseconds * min(policy.horizon, float(_AGAIN * runs))
        needed = policy.background * prepare_cost + TRIAL_RUNS * _DEARER * microseconds
        return saving > needed

    def _begin(self, plan: PlanNode, least: float, usual: float) -> None:
        if len(self._states) >= _STATES:
            self._states.pop(0)
        found = self._cache.optimized()
        rivals = [found.plan, self._otherwise(found.plan), *(r.plan for r in found.considered)]
        near = [
            rival
            for rival in dict.fromkeys(rivals)
            if rival is not None and rival != plan and rival.cost <= _NEAR * least
        ]
        level = math.log(max(least, 1e-9))
        self._states.append(_State(level, usual, near[: self._policy.trials]))

    def _otherwise(self, plan: PlanNode) -> PlanNode | None:
        """The cheapest plan that goes another way where the cheapest of all is dearest."""
        order = dearest_order(plan)
        if order is None or not isinstance(self._cache, PlanCache):
            return None
        return self._cache.otherwise(*order)

    def _state(self, least: float) -> _State | None:
        level = math.log(max(least, 1e-9))
        near = min(self._states, key=lambda state: abs(state.least - level), default=None)
        return near if near is not None and abs(near.least - level) <= _SAME_STATE else None
