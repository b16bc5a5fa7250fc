"""What running plans has taught: what each takes in a state of the streams, and what is still to be tried there."""

from __future__ import annotations

from collections.abc import Callable, Collection

from adaptive.measured_times import MEASURED_RUNS, MeasuredTimes
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.plan_trials import PlanTrials
from adaptive.prepared_plans import PreparedPlans
from adaptive.settled_states import MeasuredChoice, SettledStates
from adaptive.statistics import Catalogue
from adaptive.switching import SwitchPolicy

# A plan whose rehearsal was given up counts as one that takes so many times as long as the running one.
_HOPELESS = 20.0

CostOf = Callable[[PlanNode], float]


class MeasuredPlans:
    """Times, trials and settled states of the plans of one query; the present state is the catalogue's.

    `costs_now` gives the plan cache under the statistics of now. Where `tries` is False, no plan is run only to see
    what it takes; where `rehearses` is True, plans are run for that beside the evaluations, never in one; where `ahead`
    is True, somebody calls `look` between them, so that they need not look for such plans. Unless they are `alone`,
    other plans take part of the time of an evaluation.
    """

    def __init__(
        self,
        costs_now: Callable[[], PlanCache | PlacedPlanCache],
        catalogue: Catalogue,
        policy: SwitchPolicy,
        tries: bool,
        rehearses: bool,
        ahead: bool = False,
        alone: bool = True,
    ) -> None:
        self._catalogue = catalogue
        self._rehearses = rehearses
        self._times = MeasuredTimes()
        self._trials: PlanTrials | None = None
        if tries:
            self._trials = PlanTrials(costs_now, policy, self._times, rehearses, ahead, alone)
        self._settled = SettledStates(policy.measured_margin)
        self._newest = catalogue.state
        self._latest = 0.0

    @property
    def _state(self) -> int:
        return self._catalogue.state

    @property
    def settled(self) -> bool:
        """Whether all was tried in the present state that should be."""
        return self._trials is not None and self._trials.settled

    @property
    def due(self) -> bool:
        """Whether a plan is to be tried, or has been, so that there is something to decide."""
        return self._trials is not None and self._trials.due

    @property
    def looking(self) -> bool:
        """Whether `look` has something to do."""
        return self._trials is not None and self._trials.looking

    def look(self) -> None:
        """Look for one more plan to be tried in the present state; `due` says that it was found."""
        if self._trials is not None:
            self._trials.look()

    def trying(self, running: PlanNode) -> bool:
        """Whether some plan is still to be tried in the present state, or the running one has hardly run there."""
        if self._trials is None:
            return False
        return not self._trials.ended or self._times.runs(running, self._state) < MEASURED_RUNS

    def untried(self, running: PlanNode) -> bool:
        """Whether all was tried in the present state but the running plan: what should be cheap may take for ever."""
        return self.settled and self._times.taken(running, self._state) is None

    def may_take_over(self, plan: PlanNode) -> bool:
        """Whether a prepared plan may run at once: in a settled state, it has to be compared before."""
        if self._trials is None or not (self._rehearses and self.settled):
            return True
        return self._times.taken(plan, self._state) is not None or self._trials.tried(plan)

    def entered(self, before: int, cost_of: CostOf | None) -> None:
        """The streams have come from one state to the present one; `cost_of` are costs there, if they are known."""
        if cost_of is not None:
            self._times.note_costs(before, cost_of)
        if self._state > self._newest:
            self._newest = self._state
            if (like := self._catalogue.like) is not None:
                self._times.begin(self._state, like)

    def ran(
        self, running: PlanNode, microseconds: float, prepared: PreparedPlans, prepare_cost: float
    ) -> None:
        """One more evaluation by the running plan."""
        self._latest = microseconds
        self._times.note(running, self._state, microseconds)
        if self._trials is not None:
            self._trials.ran(running, microseconds, prepared, prepare_cost)

    def rehearsed(self, plan: PlanNode, running: PlanNode, times_as_long: float | None) -> None:
        """A plan was prepared; a run of it takes so many times as long as one of the running plan.

        None: its rehearsal was cut short, as the streams came into another state, or another plan runs.
        """
        if times_as_long is not None:
            longer = min(times_as_long, _HOPELESS)
            self._times.compared(plan, running, self._state, longer, self._latest)
        if not self._rehearses or self._trials is None:
            return
        if times_as_long is None:
            self._trials.cut_short(plan)
        else:
            self._trials.rehearsed(plan)

    def next_trial(self, failed: Collection[PlanNode]) -> PlanNode | None:
        """The plan that is to be tried next in the present state."""
        return None if self._trials is None else self._trials.step(failed)

    def asked(self, plan: PlanNode) -> None:
        """A plan is being prepared to be tried in the present state."""
        if self._trials is not None:
            self._trials.asked(plan)

    def prices(self, running: PlanNode, cost_of: CostOf) -> dict[PlanNode, float]:
        """What other plans cost in the present state, by what was measured there, on the scale of `cost_of`."""
        if self.settled:
            self._times.note_costs(self._state, cost_of)
        return self._times.prices(running, self._state, cost_of)

    def choice(self, prepared: PreparedPlans, running: PlanNode) -> MeasuredChoice | None:
        """The plan to run by what was measured alone, in a settled state where costs need not be looked at."""
        if not self.settled:
            return None
        taken = self._times.measured(self._state)
        return self._settled.choice(
            self._state, taken, prepared, running, lambda plan: self.noise(plan, running)
        )

    def known(self) -> dict[PlanNode, float]:
        """The microseconds of all plans that were measured in the present state, the fastest first."""
        taken = self._times.measured(self._state)
        return {plan: taken[plan] for plan in sorted(taken, key=taken.__getitem__)}

    def noise(self, plan: PlanNode, running: PlanNode) -> float:
        """How much of a measured difference to the running plan may be noise: 1 until it was compared twice."""
        return self._times.noise(plan, running, self._state)

    def looked(self, old: PlanNode, new: PlanNode, costs: tuple[float, float]) -> None:
        """One plan gave way to another in the present state, as they should cost so much."""
        self._settled.looked(self._state, old, new, costs)
