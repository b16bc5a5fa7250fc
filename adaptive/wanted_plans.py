"""Plans that would be cheaper than those that are prepared: which they are, and what was lost for want of them."""

from __future__ import annotations

from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.recent import Recent

# Plans that are remembered.
_REMEMBERED = 64


class WantedPlans:
    """The cheapest plans of the past, and what not having them has cost, over the last `horizon` evaluations or so."""

    def __init__(self, cache: PlanCache | PlacedPlanCache, horizon: float) -> None:
        self._cache = cache
        self._kept = 1.0 - 1.0 / horizon
        self._known = Recent[tuple[int, ...], PlanNode](_REMEMBERED)
        self._missed = Recent[PlanNode, tuple[int, float]](_REMEMBERED)

    def cheapest(self) -> PlanNode:
        """The cheapest plan; one that was seen before has the estimates of then."""
        choices = self._cache.choices()
        if choices is None:
            return self._cache.plan()
        return self._known.keep(choices, self._known.get(choices) or self._cache.plan())

    def missed(self, plan: PlanNode, saving: float, evaluation: int) -> float:
        """What was lost for want of a plan, this evaluation included; long ago counts for less."""
        at, missed = self._missed.get(plan, (-1, 0.0))
        if at != evaluation:  # else that was decided again, before it
            missed = missed * self._kept ** (evaluation - at) + max(0.0, saving)
        self._missed.keep(plan, (evaluation, missed))
        return missed

    def prepared(self, plan: PlanNode) -> None:
        """A plan is no longer missed."""
        self._missed.pop(plan, None)
