"""What evaluations by each plan really took, beside what they were expected to cost.

Plans that should cost the same may differ by a fifth and more: in how their rows lie in the cache, in
what a just-in-time compiler made of them. What a plan took is remembered beside its expected cost, and
asked for again where the plan is expected to cost about as much: another state of the streams, another
ratio.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable

from adaptive.plan import PlanNode

MEASURED_RUNS = 3
"""Runs of a plan from which on its times say something."""

# Costs that differ by less than this factor are of the same state of the streams.
_SIMILAR = math.log(1.4)

# The last runs of a plan that are remembered, over all states, and those that count in one.
_REMEMBERED = 32
_COUNTED = 6

_PLANS = 64


class MeasuredTimes:
    """Microseconds of the last runs of plans over their expected costs.

    >>> from adaptive.plan import Scan
    >>> times, quick, slow = MeasuredTimes(), Scan("a"), Scan("b")
    >>> for _ in range(3):
    ...     times.note(quick, 100.0, 90.0)
    ...     times.note(slow, 100.0, 150.0)
    >>> times.prices(slow, 100.0, [quick], lambda plan: 100.0) == {quick: 60.0}
    True
    """

    def __init__(self) -> None:
        self._runs: dict[PlanNode, deque[tuple[float, float]]] = {}

    def note(self, plan: PlanNode, cost: float, microseconds: float) -> None:
        """A plan that was expected to cost so much has run once."""
        if cost <= 0.0 or microseconds <= 0.0:
            return
        runs = self._runs.pop(plan, None)
        if runs is None:
            runs = deque(maxlen=_REMEMBERED)
            if len(self._runs) >= _PLANS:
                del self._runs[next(iter(self._runs))]
        self._runs[plan] = runs
        runs.append((math.log(cost), microseconds / cost))

    def runs(self, plan: PlanNode, cost: float) -> int:
        """How often a plan ran where it was expected to cost about as much (of its last runs)."""
        return len(self._similar(plan, cost))

    def ratio(self, plan: PlanNode, cost: float) -> float | None:
        """What a plan takes over what it is expected to cost; None before it ran often enough.

        The least of the last runs: what disturbs a run makes it longer.
        """
        similar = self._similar(plan, cost)
        return None if len(similar) < MEASURED_RUNS else min(similar[-_COUNTED:])

    def prices(
        self,
        running: PlanNode,
        cost: float,
        plans: Iterable[PlanNode],
        cost_of: Callable[[PlanNode], float],
    ) -> dict[PlanNode, float]:
        """What those of some plans that were measured cost, on a scale where the running one costs `cost`."""
        own = self.ratio(running, cost)
        if own is None:
            return {}
        found = {}
        for plan in plans:
            if plan != running and plan in self._runs:
                expected = cost_of(plan)
                ratio = self.ratio(plan, expected)
                if ratio is not None:
                    found[plan] = expected * ratio / own
        return found

    def _similar(self, plan: PlanNode, cost: float) -> list[float]:
        runs = self._runs.get(plan)
        if runs is None or cost <= 0.0:
            return []
        level = math.log(cost)
        return [ratio for at, ratio in runs if abs(at - level) <= _SIMILAR]
