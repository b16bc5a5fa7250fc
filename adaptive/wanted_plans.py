"""Plans that would be cheaper than those that are prepared: which they are, and what was lost for want of them."""

from __future__ import annotations

from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache

# Plans that are remembered.
_REMEMBERED = 64


class WantedPlans:
    """The cheapest plans of the past, and what not having them has cost, over the last `horizon` evaluations or so."""

    def __init__(self, cache: PlanCache | PlacedPlanCache, horizon: float) -> None:
        self._cache = cache
        self._kept = 1.0 - 1.0 / horizon
        self._known: dict[tuple[int, ...], PlanNode] = {}
        self._missed: dict[PlanNode, tuple[int, float]] = {}

    def cheapest(self) -> PlanNode:
        """The cheapest plan; one that was seen before has the estimates of then."""
        choices = self._cache.choices()
        if choices is None:
            return self._cache.plan()
        plan = self._known.pop(choices, None) or self._cache.plan()
        self._known[choices] = plan
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]
        return plan

    def missed(self, plan: PlanNode, saving: float, evaluation: int) -> float:
        """What was lost for want of a plan, this evaluation included; long ago counts for less."""
        at, missed = self._missed.pop(plan, (evaluation, 0.0))
        missed = missed * self._kept ** (evaluation - at) + max(0.0, saving)
        if len(self._missed) >= _REMEMBERED:
            del self._missed[next(iter(self._missed))]
        self._missed[plan] = (evaluation, missed)
        return missed

    def prepared(self, plan: PlanNode) -> None:
        """A plan is no longer missed."""
        self._missed.pop(plan, None)
