"""What evaluations by each plan really took.

Plans that should cost the same may differ by a fifth and more: in how their rows lie in the cache, in
what a just-in-time compiler made of them. What a plan took is remembered in each state of the streams
by itself; within one, it hardly depends on anything but the plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from adaptive.plan import PlanNode

MEASURED_RUNS = 3
"""Runs of a plan in a state from which on its times say something."""

# The last runs of a plan in a state that count.
_COUNTED = 6

# Pairs of a plan and a state that are remembered; the one that was noted longest ago goes first.
_REMEMBERED = 512


@dataclass
class _Runs:
    """How often a plan ran in a state, the microseconds of the last runs, and what a rehearsal said."""

    times: int = 0
    last: deque[float] = field(default_factory=lambda: deque(maxlen=_COUNTED))
    rehearsed: float | None = None


class MeasuredTimes:
    """Microseconds of the last runs of plans, in each state of the streams.

    >>> from adaptive.plan import Scan
    >>> times, quick, slow, new = MeasuredTimes(), Scan("a"), Scan("b"), Scan("c")
    >>> for _ in range(3):
    ...     times.note(quick, 0, 80.0)
    ...     times.note(slow, 0, 160.0)
    >>> times.prices(slow, 0, lambda plan: 100.0) == {quick: 50.0}
    True
    >>> times.prices(new, 0, lambda plan: 100.0) == {quick: 100.0, slow: 200.0}
    True
    >>> times.prices(slow, 1, lambda plan: 100.0)               # elsewhere nothing is known
    {}
    """

    def __init__(self) -> None:
        self._runs: dict[tuple[int, PlanNode], _Runs] = {}

    def note(self, plan: PlanNode, state: int, microseconds: float) -> None:
        """A plan has run once, in that state."""
        if microseconds > 0.0:
            runs = self._of(plan, state)
            runs.times += 1
            runs.last.append(microseconds)

    def rehearsed(self, plan: PlanNode, state: int, microseconds: float) -> None:
        """A plan should take so long in that state: that counts until it ran there often enough."""
        if microseconds > 0.0:
            self._of(plan, state).rehearsed = microseconds

    def begin(self, state: int, like: int) -> None:
        """A state is new, and much like another one: until they run there, plans take what they took in that one."""
        for plan, taken in self._known(like).items():
            self.rehearsed(plan, state, taken)

    def runs(self, plan: PlanNode, state: int) -> int:
        """How often a plan ran in a state."""
        runs = self._runs.get((state, plan))
        return 0 if runs is None else runs.times

    def taken(self, plan: PlanNode, state: int) -> float | None:
        """The microseconds that a plan takes in a state; None before it ran there often enough, or was rehearsed.

        The least of the last runs: what disturbs a run makes it longer.
        """
        runs = self._runs.get((state, plan))
        return None if runs is None else _taken(runs)

    def prices(
        self, running: PlanNode, state: int, cost_of: Callable[[PlanNode], float]
    ) -> dict[PlanNode, float]:
        """What the other plans that were measured in a state cost, on the scale of `cost_of`.

        On that scale the running plan costs what it should, or, where it was not measured there, the fastest one.
        """
        found = self._known(state)
        if not found:
            return {}
        known = running if running in found else min(found, key=lambda plan: found[plan])
        scale = cost_of(known) / found[known]
        return {plan: scale * taken for plan, taken in found.items() if plan != running}

    def _known(self, state: int) -> dict[PlanNode, float]:
        """What all plans take that were measured in a state."""
        found = {plan: _taken(runs) for (where, plan), runs in self._runs.items() if where == state}
        return {plan: taken for plan, taken in found.items() if taken is not None}

    def _of(self, plan: PlanNode, state: int) -> _Runs:
        runs = self._runs.pop((state, plan), None)
        if runs is None:
            runs = _Runs()
            if len(self._runs) >= _REMEMBERED:
                del self._runs[next(iter(self._runs))]
        self._runs[state, plan] = runs
        return runs


def _taken(runs: _Runs) -> float | None:
    return runs.rehearsed if runs.times < MEASURED_RUNS else min(runs.last)
