"""Plans that should cost about as much as the cheapest one are tried, to see which of them is the fastest."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable
from functools import partial

from adaptive.measured_times import MEASURED_RUNS, MeasuredTimes
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.prepared_plans import PreparedPlans
from adaptive.recent import Recent
from adaptive.state_trials import StateTrials, changes_of, windows_not_streamed
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

# Where several plans make an evaluation, one is charged with at most so many times what it should cost: the rest is
# something else, which no other plan in its place makes faster.
_MODEL_OFF = 5.0

# The cheapest plan that streams another window first may be this much dearer, as the model may be wrong: of orders that
# have little in common, it was seen to be right about one, and five times too high about the other.
_MAY_LEAD = 5.0

# What a run on trial may take beyond one of the running plan, as a share.
_DEARER = 0.3

# What has come so often is expected to come so many times as often yet.
_AGAIN = 6

# Of the plans that are tried in a state, how many are not small changes of the running one.
_MOST_AT_FIRST = 3

# A rehearsal that was cut short so often counts as a trial.
_MOST_CUT = 3

# A rival waits for so many runs of the running plan until it is asked for (again).
_PATIENCE = 4

# Plans that have their expensive filters elsewhere are compared where they cost so many times the least, as the model
# may be wrong.
_MAY_BE_WRONG = 3.0

# What served in another state is ready to be compared, and has proved to be fast once: the model was seen to price such
# a plan at ten times the least where it was the fastest. So many of those that served are compared.
_SERVED_MAY_COST = 20.0
_MOST_SERVED = 4

# When all are tried, those within this factor of the running plan are compared once more, at most so many of them;
# and again after as many runs as that, and twice, four times ... as many; or after fewer, where the running plan takes
# longer than it did then.
_CLOSE = 1.25
_COMPARED_AGAIN = 3
_RUNS_BETWEEN = 8
_LEAST_BETWEEN = 3
_SLOWER = 1.1

# Where plans are looked for ahead, so many are known: the one that is asked for, and the one to be asked for then.
_AHEAD = 2

# States whose trials are remembered.
_STATES = 32


class PlanTrials:
    """Says which plan to try next; `times` is told of all runs before `ran` is called.

    `costs_now` gives the plan cache under the statistics of now; it is asked where costs decide alone.

    A state of the streams has its trials once: the cheapest plan, the cheapest one that goes another way
    where that is dearest, and those that make the last join in another way: the first three of these
    that should cost about as much, or `policy.trials` if that is less; or, where expensive filters are
    placed by cost, the cheapest plan, the same order with them where H3 and H4 have them, and the plans of H3 and H4
    by themselves. They are tried only where finding a faster one would soon pay. With `beside`, trials
    are no evaluations but comparisons with the running plan: then those that served in other states, for each
    window the cheapest one that streams it first, and those that differ little from the running plan (looked for
    as often as is left of `policy.trials`), are tried as well, and what takes about as long is compared again, at
    growing intervals. With `ahead`, somebody calls `look` where it is `looking`, between evaluations, and `step` does
    not search. Unless the plan is `alone`, others take part of the time of an evaluation.
    """

    def __init__(
        self,
        costs_now: Callable[[], PlanCache | PlacedPlanCache],
        policy: SwitchPolicy,
        times: MeasuredTimes,
        beside: bool = False,
        ahead: bool = False,
        alone: bool = True,
    ) -> None:
        self._beside = beside
        self._ahead = ahead
        self._alone = alone
        self._first: Callable[[], None] | None = None
        self._costs_now = costs_now
        self._catalogue = costs_now().catalogue
        self._policy = policy
        self._times = times
        self._states = Recent[int, StateTrials](_STATES)
        self._will_begin = False
        self.due = False
        """Whether `step` has news, although no statistic has changed."""

    def ran(
        self,
        plan: PlanNode,
        microseconds: float,
        prepared: PreparedPlans,
        prepare_cost: float,
    ) -> None:
        """One more run of the running plan."""
        self.due = False
        if not self._policy.trials:
            return
        number = self._catalogue.state
        runs = self._times.runs(plan, number)
        trials = self._states.get(number)
        self._will_begin = False
        if trials is None:
            pays = partial(self._worthwhile, plan, microseconds, prepare_cost)
            self._will_begin = pays(None)
            if self._will_begin and runs >= _SETTLED and pays(runs):
                usual = self._times.taken(plan, number) or microseconds
                self._first = partial(self._begin, number, plan, usual, tuple(prepared.served))
                if not self._ahead:
                    self.look()
            return
        self._states.keep(number, trials)
        if trials.left:
            trials.vary_from(plan, runs)
        if trials.rivals:
            rival = trials.rivals[0]
            if rival == plan and self._beside:
                # It runs for another reason, and is to be compared when another one does.
                trials.seen.discard(plan)
                self._next(trials)
            elif rival == plan:
                taken = self._times.taken(plan, number)
                hopeless = taken is not None and taken > _HOPELESS * trials.usual
                if runs >= TRIAL_RUNS or hopeless:
                    self._next(trials)
            elif runs >= MEASURED_RUNS:
                trials.waited += 1
                self.due = trials.waited % _PATIENCE == 0 and (
                    rival in prepared or trials.asked is None
                )
        elif runs >= MEASURED_RUNS:
            if trials.leads or trials.left:
                self.due = not self._ahead
            elif self._beside:
                self.due = self._compare_again(trials, plan, prepared.served)

    def _next(self, trials: StateTrials) -> None:
        trials.rivals.pop(0)
        trials.asked = None
        self.due = True

    @property
    def ended(self) -> bool:
        """Whether nothing more is to be tried in the present state, as far as is known.

        Where its trials have not begun, that is so if they will not pay, however long the state lasts.
        """
        trials = self._present
        if trials is None:
            return not self._will_begin
        return not (trials.rivals or trials.leads or (trials.left and trials.changes))

    @property
    def looking(self) -> bool:
        """Whether `look` has something to do."""
        trials = self._present
        if self._first is not None or trials is None:
            return self._first is not None
        return len(trials.rivals) < _AHEAD and (bool(trials.leads) or trials.varies)

    def look(self) -> None:
        """Look for one more plan to be tried in the present state, or for the first ones; `due` says that one was."""
        first, self._first = self._first, None
        trials = self._present
        if first is not None:
            first()
            self.due = self._present is not None
        elif trials is not None and len(trials.rivals) < _AHEAD:
            known = len(trials.rivals)
            if trials.leads:
                self._lead(trials)
            elif trials.varies:
                self._vary(trials)
            self.due |= len(trials.rivals) > known

    @property
    def settled(self) -> bool:
        """Whether all was tried in the present state, so that no more than comparing the closest ones again is left."""
        trials = self._present
        return trials is not None and trials.again > 0

    def step(self, failed: Collection[PlanNode]) -> PlanNode | None:
        """The plan to run now, or to prepare for that, if one is to be tried in the present state.

        Unless `look` has, plans that stream another window, and small changes of the plan that serves there, are looked
        for here, so that a decision that hears of one rehearsal can ask for the next.
        """
        trials = self._present
        if trials is None:
            return None
        if trials.asked in failed:
            trials.asked = None
        while trials.rivals and trials.rivals[0] in failed:
            trials.rivals.pop(0)
            trials.asked = None
        if not (trials.rivals or self._ahead):
            if trials.leads:
                self._lead(trials)
            if not (trials.rivals or trials.leads) and trials.varies:
                self._vary(trials)
        return trials.rivals[0] if trials.rivals else None

    def tried(self, plan: PlanNode) -> bool:
        """Whether a plan has had its trial in the present state, whatever came of it."""
        trials = self._present
        return trials is not None and plan in trials.seen and plan not in trials.rivals

    def asked(self, plan: PlanNode) -> None:
        """A plan is being prepared to be tried in the present state."""
        trials = self._present
        if trials is not None and trials.asked != plan:
            trials.asked, trials.cut = plan, 0

    def rehearsed(self, plan: PlanNode) -> None:
        """What a plan takes in the present state was found beside the evaluations: it need not be tried in one."""
        if self._present is not None:
            self._end(self._present, plan)

    def cut_short(self, plan: PlanNode) -> None:
        """A rehearsal ended before anything was found; it is made again, but not for ever."""
        for trials in self._states.values():
            if trials.asked == plan:
                trials.cut += 1
                if trials.cut == _MOST_CUT:
                    self._end(trials, plan)

    def _end(self, trials: StateTrials, plan: PlanNode) -> None:
        trials.seen.add(plan)
        if plan in (trials.asked, *trials.rivals):
            trials.asked = None
        if plan in trials.rivals:
            trials.rivals.remove(plan)
            self.due |= trials is self._present

    @property
    def _cache(self) -> PlanCache | PlacedPlanCache:
        return self._costs_now()

    @property
    def _present(self) -> StateTrials | None:
        return self._states.get(self._catalogue.state)

    def _worthwhile(
        self, plan: PlanNode, microseconds: float, prepare_cost: float, runs: int | None
    ) -> bool:
        """Whether trials would pay after so many runs (None: at all), where an evaluation takes so long."""
        policy = self._policy
        again = math.inf if runs is None else float(_AGAIN * runs)
        saving = _HOPE * min(policy.horizon, again)
        needed = policy.background * prepare_cost + TRIAL_RUNS * _DEARER * microseconds
        if self._alone or saving * microseconds <= needed:  # its cost need not be known
            return saving * microseconds > needed
        return saving * min(microseconds, _MODEL_OFF * self._cache.cost_of(plan)) > needed

    def _begin(self, number: int, plan: PlanNode, usual: float, served: Iterable[PlanNode]) -> None:
        if number != self._catalogue.state:
            return  # the streams have come into another state before somebody looked
        cache = self._cache
        rivals = cache.rivals()
        least, dearest, most = cache.cost, _NEAR, _MOST_AT_FIRST
        if isinstance(cache, PlacedPlanCache):
            dearest, most = _MAY_BE_WRONG if self._beside else _NEAR, len(rivals)
        near = [
            rival
            for rival in dict.fromkeys(rivals)
            if rival != plan and rival.cost <= dearest * least
        ]
        near = near[: min(most, self._policy.trials)]
        ready: list[PlanNode] = []
        if self._beside:
            ready = self._served_elsewhere({plan, *near}, served)
        trials = StateTrials(
            usual,
            ready + near,
            windows_not_streamed(cache.graph, cache.plan()) if self._beside else [],
            self._policy.trials - len(near) if self._beside else 0,
            plan,
            changes_of(plan),
            {plan, *ready, *near},
        )
        self._states.keep(number, trials)

    def _served_elsewhere(
        self, seen: Collection[PlanNode], served: Iterable[PlanNode]
    ) -> list[PlanNode]:
        others = [plan for plan in served if plan not in seen]
        if not others:
            return []
        cache = self._cache
        dearest = _SERVED_MAY_COST * cache.cost
        return [plan for plan in others if cache.cost_of(plan) <= dearest][:_MOST_SERVED]

    def _lead(self, trials: StateTrials) -> None:
        """Look for the cheapest plan that streams one more window first."""
        cache = self._cache
        rival = cache.streaming(trials.leads.pop(0))
        if rival is not None and rival.cost <= _MAY_LEAD * cache.cost:
            self._add(trials, rival)

    def _add(self, trials: StateTrials, rival: PlanNode) -> None:
        if rival not in trials.seen and self._may_gain(rival, trials.base):
            if not trials.rivals:
                trials.asked = None
            trials.rivals.append(rival)
            trials.seen.add(rival)

    def _may_gain(self, rival: PlanNode, base: PlanNode) -> bool:
        """Whether a plan may be faster than another by what is hoped for.

        Where calls take nearly all of the time, one that makes as many calls is not, however it joins.
        """
        cache = self._cache
        if not isinstance(cache, PlacedPlanCache):
            return True
        cost, calls = cache.cost_of(base), cache.calls_cost(base)
        return cost - min(calls, cache.calls_cost(rival)) >= _HOPE * cost

    def _vary(self, trials: StateTrials) -> None:
        """Look for one more small change of the plan that serves.

        It should cost about as much as that, or as the cheapest: what was measured has proved the model wrong where
        these are far apart.
        """
        cache, plan = self._cache, trials.base
        change = trials.changes.pop(0)
        trials.left -= 1  # looking for it takes time, too, whatever comes of it
        rivals: tuple[PlanNode, ...] = ()
        if change is None:
            rivals = cache.turned(plan, last=True)
        elif (other := cache.otherwise(*change)) is not None:
            rivals = (other, *cache.turned(other, last=False))
        dearest = _NEAR * max(cache.cost, cache.cost_of(plan))
        for rival in rivals:
            if cache.cost_of(rival) <= dearest:
                self._add(trials, rival)

    def _compare_again(
        self, trials: StateTrials, plan: PlanNode, served: Iterable[PlanNode]
    ) -> bool:
        """Have the closest plans compared once more: one comparison of what takes about as long may be wrong.

        Those that seem to be a little faster come soon: a few comparisons say whether they are. What has served
        elsewhere since the trials began here is compared, too, unless it was too dear here before.
        """
        trials.quiet += 1
        state = self._catalogue.state
        slowed = self._times.slowed(plan, state) if trials.quiet > _LEAST_BETWEEN else 1.0
        slower = slowed >= _SLOWER
        if trials.quiet <= trials.again and not slower:
            if not trials.again or trials.quiet <= _LEAST_BETWEEN:
                return False
            return self._compare_promising(trials, plan)
        if slower:
            self._times.outdate(plan, state)
        # If it is slower by itself, what was farther from it is as close now.
        trials.rivals = self._times.near(plan, state, _CLOSE * max(1.0, slowed))[:_COMPARED_AGAIN]
        trials.seen.add(plan)
        others = [other for other in served if other not in trials.dear]
        found = self._served_elsewhere(trials.seen, others)
        trials.rivals += found
        trials.seen.update(trials.rivals)
        if len(found) < _MOST_SERVED:  # all of them were looked at
            trials.dear.update(other for other in others if other not in trials.seen)
        trials.asked, trials.quiet = None, 0
        trials.again = max(_RUNS_BETWEEN, 2 * trials.again)
        return bool(trials.rivals)

    def _compare_promising(self, trials: StateTrials, plan: PlanNode) -> bool:
        """Have those compared once more that seem to be faster, but not by enough; whether there are any."""
        found = self._times.promising(plan, self._catalogue.state, self._policy.measured_margin)
        trials.rivals = found[:_COMPARED_AGAIN]
        if trials.rivals:
            trials.asked, trials.quiet = None, 0
        return bool(trials.rivals)
