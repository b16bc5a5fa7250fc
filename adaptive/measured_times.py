"""What evaluations by each plan really took, and how plans did that were run in turn with the running one.

Plans that should cost the same may differ by a fifth and more: in how their rows lie in the cache, in
what a just-in-time compiler made of them. What a plan took is remembered in each state of the streams
by itself; within one, it hardly depends on anything but the plan. Runs taken in turn say how two plans
compare; runs at different times, in which a machine is not as fast as in others, only what is far off.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from statistics import median

from adaptive.plan import PlanNode
from adaptive.recent import Recent

MEASURED_RUNS = 3
"""Runs of a plan in a state from which on its times say something."""

# The last runs of a plan in a state that count, and the last comparisons with others.
_COUNTED = 6
_COMPARED = 5

# Evaluations overrule a comparison only where they say something this many times off.
_FAR_OFF = 1.5

# States that are remembered, and plans in each: the ones that were noted longest ago go first.
_STATES = 32
_PLANS = 48


class _Times:
    """One plan in one state: how often it ran, its last runs in microseconds, and what comparisons gave.

    What they gave are times, too, on the scale of the state. `believed` are microseconds for each unit of cost, where
    nothing was measured yet; `cost` is what it should cost there, as far as that was noted.
    """

    __slots__ = (
        "_compared",
        "_last",
        "believed",
        "cost",
        "in_turn",
        "outdated",
        "own",
        "runs",
        "then",
        "with_running",
    )

    def __init__(self) -> None:
        self.runs = 0
        self.own: float | None = None
        """What its evaluations took: the least, as what disturbs a run makes it longer."""
        self.in_turn: float | None = None
        """What it took in turn with others: the median over the last comparisons, as one may have been disturbed."""
        self.believed: float | None = None
        self.cost: float | None = None
        self.then: float | None = None
        """What its evaluations took lately when it was compared last, as the running plan."""
        self.with_running: tuple[PlanNode | None, int] = (None, 0)
        """The plan that it was compared with last, and how often in a row."""
        self.outdated = False
        """Whether what comparisons gave holds no longer than until the next one."""
        self._last: deque[float] = deque(maxlen=_COUNTED)
        self._compared: deque[float] = deque(maxlen=_COMPARED)

    def note(self, microseconds: float) -> None:
        """It has run once."""
        self.runs += 1
        self._last.append(microseconds)
        if self.runs >= MEASURED_RUNS:
            self.own = min(self._last)

    @property
    def lately(self) -> float | None:
        """What its last evaluations took: the median of three, as one may have been disturbed."""
        return median(list(self._last)[-MEASURED_RUNS:]) if self.runs >= MEASURED_RUNS else None

    def compare(self, taken: float, running: PlanNode | None = None) -> None:
        """One more comparison, on the scale of the state; with that plan, if it is not the first one."""
        other, often = self.with_running
        if self.outdated:
            self._compared.clear()
            self.outdated, often = False, 0
        self.with_running = (running, often + 1 if running == other else 1)
        self._compared.append(taken)
        self.in_turn = median(self._compared)


class _State:
    """The plans that were measured in a state; `scale` leads from what comparisons gave to microseconds of now."""

    __slots__ = ("plans", "scale")

    def __init__(self) -> None:
        self.plans = Recent[PlanNode, _Times](_PLANS)
        self.scale = 1.0

    def of(self, plan: PlanNode) -> _Times:
        """The times of a plan, which counts as noted last."""
        return self.plans.keep(plan, self.plans.get(plan) or _Times())

    def note(self, plan: PlanNode, microseconds: float) -> None:
        """One run; the scale is what holds for most plans that were measured in both ways."""
        times = self.of(plan)
        before = times.own
        times.note(microseconds)
        if times.own != before and times.own and times.in_turn:
            known = self.plans.values()
            self.scale = median(t.own / t.in_turn for t in known if t.own and t.in_turn)

    def taken(self, times: _Times | None) -> float | None:
        """Microseconds, if they were measured."""
        if times is None or times.in_turn is None:
            return None if times is None else times.own
        in_turn = self.scale * times.in_turn
        if times.own and not in_turn / _FAR_OFF <= times.own <= in_turn * _FAR_OFF:
            return times.own
        return in_turn

    def estimates(self, cost_of: Callable[[PlanNode], float]) -> dict[PlanNode, float]:
        """Microseconds of all plans of which something is known."""
        found: dict[PlanNode, float] = {}
        for plan, times in self.plans.items():
            taken = self.taken(times)
            if taken is not None:
                found[plan] = taken
            elif times.believed is not None and (cost := cost_of(plan)) > 0.0:
                found[plan] = times.believed * cost  # over nothing a plan may cost nothing
        return found


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
        self._states = Recent[int, _State](_STATES)

    def note(self, plan: PlanNode, state: int, microseconds: float) -> None:
        """A plan has run once, in that state."""
        if microseconds > 0.0:
            self._of(state).note(plan, microseconds)

    def compared(
        self, plan: PlanNode, running: PlanNode, state: int, times_as_long: float, latest: float
    ) -> None:
        """Run in turn with the running plan, another one took so many times as long in that state.

        `latest` are the microseconds of the running plan's last evaluation, if no more is known of it there.
        """
        own = self.taken(running, state) or latest
        if own <= 0.0 or times_as_long <= 0.0 or plan == running:
            return
        known = self._of(state)
        base = own / known.scale
        times = known.of(running)
        if times.in_turn is None:
            times.compare(base)
        times.then = times.lately
        known.of(plan).compare(times_as_long * base, running)

    def note_costs(self, state: int, cost_of: Callable[[PlanNode], float]) -> None:
        """Note what the plans that were measured in a state should cost there, unless that was noted before."""
        if (known := self._states.get(state)) is not None:
            for plan, times in known.plans.items():
                if times.cost is None and (times.own or times.in_turn):
                    times.cost = cost_of(plan)

    def begin(self, state: int, like: int) -> None:
        """A state is new, and much like another one.

        Until plans are measured in the new one, what they take is believed to be as far from their costs as in that
        one, if it is known what they should cost there.
        """
        known = self._states.get(like)
        if known is None:
            return
        new = self._of(state)
        for plan, times in known.plans.items():
            if times.cost and (taken := known.taken(times)):
                new.of(plan).believed = taken / times.cost

    def runs(self, plan: PlanNode, state: int) -> int:
        """How often a plan ran in a state."""
        known = self._states.get(state)
        times = None if known is None else known.plans.get(plan)
        return 0 if times is None else times.runs

    def taken(self, plan: PlanNode, state: int) -> float | None:
        """The microseconds that a plan takes in a state; None before it ran there often enough, or was compared."""
        known = self._states.get(state)
        return None if known is None else known.taken(known.plans.get(plan))

    def slowed(self, running: PlanNode, state: int) -> float:
        """How many times as long the running plan takes as when it was last compared; 1 if that is unknown.

        That may be the machine, or the plan alone: its code may have been compiled anew, and not so well.

        >>> from adaptive.plan import Scan
        >>> times, plan, other = MeasuredTimes(), Scan("a"), Scan("b")
        >>> for taken in (50.0, 51.0, 90.0): times.note(plan, 0, taken)
        >>> times.compared(other, plan, 0, 1.1, latest=50.0)
        >>> for taken in (76.5, 76.5): times.note(plan, 0, taken)
        >>> times.slowed(plan, 0)
        1.5
        """
        known = self._states.get(state)
        times = None if known is None else known.plans.get(running)
        if times is None or times.then is None or times.lately is None:
            return 1.0
        return times.lately / times.then

    def outdate(self, running: PlanNode, state: int) -> None:
        """What the running plan takes has changed: the next comparison of each other one replaces those before it."""
        if (known := self._states.get(state)) is not None:
            for plan, times in known.plans.items():
                times.outdated = plan != running

    def noise(self, plan: PlanNode, running: PlanNode, state: int) -> float:
        """How much of a measured difference is still noise, as a share of that of one comparison.

        The more often two plans were compared, the less: as one over the square root.

        >>> from adaptive.plan import Scan
        >>> times, plan, other = MeasuredTimes(), Scan("a"), Scan("b")
        >>> for _ in range(4): times.compared(other, plan, 0, 0.97, latest=50.0)
        >>> times.noise(other, plan, 0), times.noise(plan, other, 0)
        (0.5, 1.0)
        """
        known = self._states.get(state)
        times = None if known is None else known.plans.get(plan)
        if times is None or times.with_running[0] != running:
            return 1.0
        return 1.0 / math.sqrt(min(_COMPARED, times.with_running[1]))

    def promising(self, running: PlanNode, state: int, margin: float) -> list[PlanNode]:
        """The plans that seem to be faster than the running one, by so little that more comparisons are to say.

        `margin` is the share that is noise in one comparison.

        >>> from adaptive.plan import Scan
        >>> times, plan, less, more = MeasuredTimes(), Scan("a"), Scan("b"), Scan("c")
        >>> times.compared(less, plan, 0, 0.97, latest=50.0)
        >>> times.compared(more, plan, 0, 0.90, latest=50.0)
        >>> times.promising(plan, 0, 0.05) == [less]
        True
        """
        least = 1.0 / math.sqrt(_COMPARED)
        return [
            plan
            for plan, ratio in self._ratios(running, state).items()
            if (noise := self.noise(plan, running, state)) > least
            and 1.0 - margin * noise <= ratio < 1.0 - margin * least
        ]

    def measured(self, state: int) -> dict[PlanNode, float]:
        """The microseconds of all plans that were measured in a state."""
        known = self._states.get(state)
        if known is None:
            return {}
        return {p: taken for p, times in known.plans.items() if (taken := known.taken(times))}

    def prices(
        self, running: PlanNode, state: int, cost_of: Callable[[PlanNode], float]
    ) -> dict[PlanNode, float]:
        """What the other plans of which something is known in a state cost, on the scale of `cost_of`.

        On that scale the running plan costs what it should, or, where nothing is known of it there, the fastest one.
        """
        known = self._states.get(state)
        found = {} if known is None else known.estimates(cost_of)
        if not found:
            return {}
        base = running if running in found else min(found, key=lambda plan: found[plan])
        scale = cost_of(base) / found[base]
        return {plan: scale * taken for plan, taken in found.items() if plan != running}

    def near(self, running: PlanNode, state: int, factor: float) -> list[PlanNode]:
        """The other plans that take less than `factor` times as long as the running one there, the fastest first.

        Only those that were compared with others are told.

        >>> from adaptive.plan import Scan
        >>> times, plan, near, far = MeasuredTimes(), Scan("a"), Scan("b"), Scan("c")
        >>> times.compared(near, plan, 0, 1.1, latest=50.0)
        >>> times.compared(far, plan, 0, 3.0, latest=50.0)
        >>> times.near(plan, 0, 1.25) == [near]
        True
        """
        ratios = self._ratios(running, state)
        return [plan for plan, ratio in ratios.items() if ratio < factor]

    def _ratios(self, running: PlanNode, state: int) -> dict[PlanNode, float]:
        """How many times as long as the running plan those take that were compared with others, the fastest first."""
        known = self._states.get(state)
        own = self.taken(running, state)
        if known is None or own is None:
            return {}
        ratios = {
            plan: taken / own
            for plan, times in known.plans.items()
            if plan != running and times.in_turn and (taken := known.taken(times))
        }
        return {plan: ratios[plan] for plan in sorted(ratios, key=ratios.__getitem__)}

    def _of(self, state: int) -> _State:
        return self._states.keep(state, self._states.get(state) or _State())
