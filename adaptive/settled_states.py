"""States of the streams in which all was tried that should be: there, what was measured decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from adaptive.plan import PlanNode
from adaptive.recent import Recent

# Every so many decisions in such a state, costs are looked at all the same: the streams may have drifted within it.
_LOOK_EVERY = 16

# States, and changes of plan in them, that are remembered.
_REMEMBERED = 64


@dataclass(frozen=True)
class MeasuredChoice:
    """The plan to run, and what it takes beside the running one, in microseconds or units of cost.

    `ratio` is what it takes over the running one, if both were measured.
    """

    plan: PlanNode
    running: float
    chosen: float
    ratio: float | None


class SettledStates:
    """How often each state was decided by what was measured, and what changes of plan there should cost.

    >>> from adaptive.plan import Scan
    >>> states, slow, fast = SettledStates(0.05), Scan("a"), Scan("b")
    >>> taken = {slow: 80.0, fast: 40.0}
    >>> states.choice(7, taken, (slow, fast), slow).ratio
    0.5
    >>> states.choice(7, taken, (slow,), slow)                      # the faster one would have to be prepared
    >>> states.choice(7, {fast: 40.0}, (slow, fast), slow)          # nothing is known of the running one
    >>> states.looked(7, slow, fast, (90.0, 45.0))
    >>> states.choice(7, {fast: 40.0}, (slow, fast), slow).running
    90.0
    """

    def __init__(self, margin: float) -> None:
        self._margin = margin
        self._decisions = Recent[int, int](_REMEMBERED)
        self._costs = Recent[tuple[int, PlanNode, PlanNode], tuple[float, float]](_REMEMBERED)

    def choice(
        self,
        state: int,
        taken: Mapping[PlanNode, float],
        prepared: Collection[PlanNode],
        running: PlanNode,
        noise: Callable[[PlanNode], float] = lambda plan: 1.0,
    ) -> MeasuredChoice | None:
        """The fastest plan of a settled state, by what plans took there; None: costs are to be looked at.

        That is so where the fastest is not prepared, where neither what the running plan takes there nor what the
        change of plan should cost is known, and every sixteenth time. `noise` is how much of the
        margin the fastest one has to be faster by.
        """
        ready = [plan for plan in taken if plan in prepared]
        if not ready or not self._without_costs(state):
            return None
        best = min(ready, key=taken.__getitem__)
        if min(taken.values()) < (1.0 - self._margin) * taken[best]:
            return None
        own = taken.get(running)
        if own is not None:
            if taken[best] > (1.0 - self._margin * noise(best)) * own:
                best = running
            return MeasuredChoice(best, own, taken[best], taken[best] / own)
        costs = self._costs.get((state, running, best))
        return None if costs is None else MeasuredChoice(best, *costs, None)

    def _without_costs(self, state: int) -> bool:
        return self._decisions.keep(state, self._decisions.get(state, 0) + 1) % _LOOK_EVERY != 0

    def looked(self, state: int, old: PlanNode, new: PlanNode, costs: tuple[float, float]) -> None:
        """One plan gave way to another, which should cost so much and so much."""
        self._costs.keep((state, old, new), costs)
