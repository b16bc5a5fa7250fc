"""What evaluations by each plan really took.

Plans that should cost the same may differ by a fifth and more: in how their rows lie in the cache, in
what a just-in-time compiler made of them. What a plan took is remembered in each state of the streams
by itself; within one, it hardly depends on anything but the plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from adaptive.plan import PlanNode

MEASURED_RUNS = 3
"""Runs of a plan in a state from which on its times say something."""

# The last runs of a plan that are remembered, over all states, and those that count in one.
_REMEMBERED = 48
_COUNTED = 6

_PLANS = 64


class MeasuredTimes:
    """Microseconds of the last runs of plans.

    >>> from adaptive.plan import Scan
    >>> times, quick, slow = MeasuredTimes(), Scan("a"), Scan("b")
    >>> for _ in range(3):
    ...     times.note(quick, 0, 90.0)
    ...     times.note(slow, 0, 150.0)
    >>> times.prices(slow, 0, 100.0, [quick]) == {quick: 60.0}
    True
    >>> times.prices(slow, 1, 100.0, [quick])               # elsewhere nothing is known
    {}
    """

    def __init__(self) -> None:
        self._runs: dict[PlanNode, deque[tuple[int, float]]] = {}

    def note(self, plan: PlanNode, state: int, microseconds: float) -> None:
        """A plan has run once, in that state."""
        if microseconds <= 0.0:
            return
        runs = self._runs.pop(plan, None)
        if runs is None:
            runs = deque(maxlen=_REMEMBERED)
            if len(self._runs) >= _PLANS:
                del self._runs[next(iter(self._runs))]
        self._runs[plan] = runs
        runs.append((state, microseconds))

    def runs(self, plan: PlanNode, state: int) -> int:
        """How often a plan ran in a state (of its last runs)."""
        return len(self._in_state(plan, state))

    def taken(self, plan: PlanNode, state: int) -> float | None:
        """The microseconds that a plan takes in a state; None before it ran often enough.

        The least of the last runs: what disturbs a run makes it longer.
        """
        times = self._in_state(plan, state)
        return None if len(times) < MEASURED_RUNS else min(times[-_COUNTED:])

    def prices(
        self, running: PlanNode, state: int, cost: float, plans: Iterable[PlanNode]
    ) -> dict[PlanNode, float]:
        """What those of some plans that were measured cost, on a scale where the running one costs `cost`."""
        own = self.taken(running, state)
        if own is None:
            return {}
        found = {}
        for plan in plans:
            if plan != running:
                taken = self.taken(plan, state)
                if taken is not None:
                    found[plan] = cost * taken / own
        return found

    def _in_state(self, plan: PlanNode, state: int) -> list[float]:
        return [taken for where, taken in self._runs.get(plan, ()) if where == state]
