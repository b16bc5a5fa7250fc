"""One join cluster of one query over its life: which plan runs, and when another takes over."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from adaptive.cost_model import JoinCosts
from adaptive.enumerate import DEFAULT_BUDGET
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.filter_observation import FilterCounts, FilterEstimator
from adaptive.followed_filters import FollowedFilters
from adaptive.linked_counts import linked_counts
from adaptive.measured_times import MEASURED_RUNS, MeasuredTimes
from adaptive.optimizer import OptimizedPlan
from adaptive.placed_plan_cache import PlacedPlanCache, plan_cache
from adaptive.placement import Placement
from adaptive.plan import PlanNode, describe
from adaptive.plan_cache import PlanCache
from adaptive.plan_moves import moves
from adaptive.plan_switch import Decision, Switch
from adaptive.plan_trials import PlanTrials
from adaptive.prejoin import PrejoinPolicy
from adaptive.prepared_plans import PreparedPlans
from adaptive.preparing_costs import PreparingCosts
from adaptive.query_graph import QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.switch_cause import Snapshot, cause, snapshot
from adaptive.switching import Regimes, SwitchPolicy

_REMEMBERED_SWITCHES = 10_000

# Plans remembered that were wanted but not prepared.
_WANTED = 64

# A plan whose rehearsal was given up counts as one that takes so many times as long as the running one.
_HOPELESS = 20.0


class PlanFollower:
    """Follows the statistics of one query graph and says which plan should run.

    Before each evaluation call `observe` (or `unchanged`, where nothing is new) and do what it
    says: on "prepare", prepare the plan in the background and call `prepared` (or `failed`); on
    "switch", run that plan from now on and call `switched`. After each evaluation call `executed`.
    At most `cache_size` plans are kept prepared; `prepared` returns those to drop. With `adaptive`
    False the first plan stays for ever. `placement` says how expensive filters and binds are
    placed, if there are any; without `initial` the first plan is of that placement. `learned` has
    followed some of them, by name, in a graph before this one, and goes on. `rehearses` says that
    what is to be tried can be run beside the evaluations: it is asked to be prepared, also where it
    is prepared already, and `prepared` is told what it took.

    Not safe for several threads at once. `clock` gives seconds.
    """

    def __init__(
        self,
        graph: QueryGraph,
        catalogue: Catalogue,
        cost_model: JoinCosts | None = None,
        prejoin: PrejoinPolicy | None = None,
        policy: SwitchPolicy | None = None,
        cache_size: int = 16,
        initial: PlanNode | None = None,
        clock: Callable[[], float] = time.monotonic,
        adaptive: bool = True,
        budget: int = DEFAULT_BUDGET,
        bushy: bool = True,
        placement: Placement = "cost",
        learned: Mapping[str, FilterEstimator] | None = None,
        rehearses: bool = False,
    ) -> None:
        self.adaptive = adaptive
        self._rehearses = rehearses
        self.policy = SwitchPolicy() if policy is None else policy
        self.updates = 0
        """Calls of `observe` that changed something."""
        self.touched = 0
        """Entries of the plan cache touched by all updates together."""
        self.optimizer_seconds = 0.0
        """Time spent on statistics and search, without the first search."""
        self.evaluation_seconds = 0.0
        """Time spent on evaluations, as told to `executed`."""
        for name, estimator in (learned or {}).items():
            catalogue.set_filter(name, estimator.statistics)
        self.cache = plan_cache(graph, catalogue, cost_model, prejoin, budget, bushy, placement)
        self._filters = (
            FollowedFilters(self.cache, learned)
            if isinstance(self.cache, PlacedPlanCache)
            else None
        )
        self._catalogue = catalogue
        self._clock = clock
        self._current = self.cache.plan() if initial is None else initial
        self.cache.cost_of(self._current)  # an initial plan of another query is an error
        self._prepared = PreparedPlans(self._current, cache_size)
        self._preparing_costs = PreparingCosts(self.policy.prepare_cost)
        self._preparing: PlanNode | None = None
        self._missed: dict[PlanNode, tuple[int, float]] = {}
        self._known_choices: dict[tuple[int, ...], PlanNode] = {}
        self._evaluations = 0
        self._failed: set[PlanNode] = set()
        self._regimes = Regimes(self.policy)
        self._regime = self._current
        self._latest = 0.0
        self._history: deque[Switch] = deque(maxlen=_REMEMBERED_SWITCHES)
        self._times = MeasuredTimes()
        self._newest = catalogue.state
        self._trials: PlanTrials | None = None
        by_search = isinstance(self.cache, PlanCache) and self.cache.exact
        if by_search or (self._filters is not None and placement == "cost"):
            self._trials = PlanTrials(self.cache, self.policy, self._times, rehearses)
        self._because = ""
        self._known: Snapshot = snapshot(graph, catalogue)

    @property
    def current(self) -> PlanNode:
        """The plan that runs."""
        return self._current

    @property
    def state(self) -> int:
        """The number of the present state of the streams."""
        return self._catalogue.state

    def explained(self) -> OptimizedPlan:
        """The running plan with the rows and costs of now, the one to choose now first among its rivals."""
        if self.filters_changed:
            self.cache.apply({})
        return self.cache.explained(self._current)

    @property
    def kept(self) -> tuple[PlanNode, ...]:
        """The plans that are prepared, the least recently used one first."""
        return tuple(self._prepared)

    @property
    def history(self) -> tuple[Switch, ...]:
        """All switches, the latest last (the last 10,000 of them)."""
        return tuple(self._history)

    def observe(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float] | None = None,
    ) -> Decision:
        """Take over the statistics of the coming evaluation, and decide which plan it should use.

        Raises StatisticsError for an unknown relation.
        """
        began = self._clock()
        self._preparing_costs.observed(began)
        self._evaluations += 1
        if statistics or matches:
            self._recognise(statistics, matches)
        touched = self.cache.apply(statistics, matches)
        self.updates += bool(touched.entries or touched.rebuilt)
        self.touched += touched.entries
        decision = self._decide()
        self.optimizer_seconds += self._clock() - began
        return decision

    def _recognise(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float] | None,
    ) -> None:
        state, like = self._catalogue.recognise(statistics, matches), self._catalogue.like
        if state > self._newest:
            self._newest = state
            if like is not None:
                self._times.begin(state, like)

    def update_filters(self, statistics: Mapping[str, FilterStatistics]) -> None:
        """Take over what is known of expensive filters and binds; the next `observe` decides.

        Where `executed` is given their counts, this is not needed. Raises PlanError for a name that
        is none of theirs.
        """
        if self._filters is None:
            raise PlanError("the query has no filters or binds that are placed by cost")
        began = self._clock()
        self._filters.cache.update_filters(statistics)
        self.optimizer_seconds += self._clock() - began

    @property
    def filters_changed(self) -> bool:
        """Whether counts of expensive filters have brought news that `observe` has not seen yet."""
        return self._filters is not None and self._filters.cache.outdated

    @property
    def filters_shifted(self) -> bool:
        """Whether these news are such that a better plan may be another one, not noise or a slow drift."""
        return self._filters is not None and self._filters.cache.shifted

    def unchanged(self) -> None:
        """An evaluation passes without news of the statistics: what was best before it is best still."""
        self._regimes.seen(same=True)

    @property
    def improvable(self) -> bool:
        """Whether some plan, prepared or not, is cheaper than the running one by more than the margin."""
        cache = self.cache
        return not self.policy.within_margin(cache.cost_of(self._current), cache.cost)

    def executed(
        self,
        counts: Iterable[OperatorCounts],
        seconds: float = 0.0,
        filters: Mapping[str, FilterCounts] | None = None,
    ) -> None:
        """Take in what the operators of the evaluation counted; `seconds` is how long it took.

        The counts are compared with what was expected of the running plan in this evaluation; the
        estimate in a count is used where the plan has no such part. `filters` are the counts of
        expensive filters and binds, by name; the next `observe` takes them into account.
        """
        began = self._clock()
        self._preparing_costs.executed(began, seconds)
        self._ran(seconds * 1e6)
        counts = tuple(counts)
        graph = self.cache.graph
        if self._filters is not None:
            graph = self._filters.cache.items.without
        if counts:
            linked: tuple[OperatorCounts, ...] = ()
            if self._filters is None:
                expected = self.cache.expected_rows(self._current)
                linked = tuple(self._linked(counts))
            else:
                expected = self._filters.expected_rows(self._current, filters or {})
            folded = [
                replace(count, estimated=expected.get(count.relations, count.estimated))
                for count in counts
                # What one relation without filters counts is known already.
                if len(count.relations) > 1 or graph.filters_within(graph.mask(count.relations))
            ]
            self._catalogue.fold((*folded, *linked))
        if self._filters is not None and filters:
            self._filters.observe(self._current, filters)
        self._catalogue.tick()
        self.optimizer_seconds += self._clock() - began
        self.evaluation_seconds += seconds

    @property
    def restless(self) -> bool:
        """Whether a plan is to be tried, or has been, so that `observe` should be called though nothing is new."""
        return self._trials is not None and self._trials.due

    @property
    def trying(self) -> bool:
        """Whether some plan is still to be tried in the present state, or the running one has hardly run there."""
        if self._trials is None:
            return False
        ran = self._times.runs(self._current, self._catalogue.state)
        return not self._trials.ended or ran < MEASURED_RUNS

    def _ran(self, microseconds: float) -> None:
        self._latest = microseconds
        self._times.note(self._current, self._catalogue.state, microseconds)
        if self._trials is not None and self.adaptive:
            self._trials.ran(
                self._current, microseconds, self._prepared, self._preparing_costs.cost
            )

    def _linked(self, counts: Iterable[OperatorCounts]) -> Iterator[OperatorCounts]:
        """What the counts of the running plan say of cycles that it did not join by themselves."""
        graph, estimator = self.cache.graph, self.cache.estimator
        counted = {count.relations: count.actual for count in counts if len(count.relations) > 1}
        return linked_counts(
            graph, self._current, counted, lambda names: estimator.rows(graph.mask(names))
        )

    def prepared(
        self, plan: PlanNode, seconds: float, rehearsed: float | None = None
    ) -> tuple[PlanNode, ...]:
        """A plan is ready to run; returns the prepared plans to drop, as there are too many.

        `seconds` is what preparing took, 0 where it was prepared before; `rehearsed` what a run of it takes
        over one of the running plan, if that was found since the last evaluation.
        """
        if self._preparing == plan:
            self._preparing = None
        if seconds > 0.0:
            self._preparing_costs.prepared(seconds)
        self._missed.pop(plan, None)
        if rehearsed is not None:
            self._note_rehearsed(plan, rehearsed)
        if self._rehearses and self._trials is not None:
            self._trials.rehearsed(plan)
        return self._prepared.add(plan, self._current)

    def _note_rehearsed(self, plan: PlanNode, times_as_long: float) -> None:
        if plan == self._current or self._latest <= 0.0:
            return
        state, times = self._catalogue.state, self._times
        own = times.taken(self._current, state)
        if own is None:  # its last evaluation is all that is known of it there
            own = self._latest
            times.rehearsed(self._current, state, own)
        times.rehearsed(plan, state, min(times_as_long, _HOPELESS) * own)

    def failed(self, plan: PlanNode) -> None:
        """A plan could not be prepared; it is not asked for again."""
        if self._preparing == plan:
            self._preparing = None
        if plan != self._current:
            self._prepared.remove(plan)
        self._failed.add(plan)

    def switched(self, plan: PlanNode, instant: float) -> None:
        """Another plan runs from now on; `instant` is the time to be shown in the history."""
        old, self._current = self._current, plan
        self._prepared.serve(plan)
        if old == plan:
            return
        known = snapshot(self.cache.graph, self._catalogue)
        self._history.append(
            Switch(
                instant,
                old,
                plan,
                self.cache.cost_of(old),
                self.cache.cost_of(plan),
                self._because or cause(self._known, known),
                self._moves(old, plan),
            )
        )
        self._known = known

    def _moves(self, old: PlanNode, new: PlanNode) -> tuple[str, ...]:
        if self._filters is None:
            return ()
        items = self._filters.cache.items.items
        return moves(old, new, {i.name: "bind" if i.filter is None else "filter" for i in items})

    def _decide(self) -> Decision:
        cache, policy = self.cache, self.policy
        cost, best = cache.cost_of(self._current), cache.cost
        self._because = ""
        if not self.adaptive:
            return self._stay("plans are not adapted", cost, best)
        trial = None if self._trials is None else self._trials.step(self._failed)
        if trial == self._current:
            return self._stay("on trial", cost, best)
        state = self._catalogue.state
        measured = self._times.prices(self._current, state, cache.cost_of)
        faster = {
            plan: price
            for plan, price in measured.items()
            if price < (1.0 - policy.measured_margin) * cost
        }
        if not faster and policy.within_margin(cost, best):
            self._seen(self._current)
            reason = f"within {policy.margin:.0%} of the cheapest plan"
            return self._tried(trial, cost, best) or self._stay(reason, cost, best)
        wanted = self._regime
        if not policy.within_margin(cache.cost_of(wanted), best):
            wanted = self._cheapest()
        wanted_cost = self._price(wanted, measured)
        if faster and min(faster.values()) <= wanted_cost:
            wanted = min(faster, key=lambda plan: faster[plan])
            wanted_cost = faster[wanted]
        no_faster = wanted in measured and wanted not in faster
        self._seen(self._current if no_faster else wanted)
        lasting = self._regimes.lasting
        ready, ready_cost = self._cheapest_prepared(measured)
        # Of what is prepared, the cheapest can run at once; the cheapest of all may come later.
        verdict = policy.decide(cost, ready_cost, True, lasting)
        if verdict.kind == "switch":
            # Not what the statistics say, or hardly.
            if ready in faster and policy.within_margin(cost, cache.cost_of(ready)):
                self._because = f"measured: {ready_cost / cost:.2f} of the time"
            return Decision("switch", ready, verdict.saving, verdict.reason, cost, best)
        if no_faster:
            reason = f"{describe(wanted)} should be faster, and was measured not to be"
            return self._tried(trial, cost, best) or self._stay(reason, cost, best)
        if wanted in self._prepared:
            return self._stay(verdict.reason, cost, best, verdict.saving)
        verdict = policy.decide(
            cost,
            wanted_cost,
            False,
            lasting,
            self._preparing_costs.cost,
            self._preparing_costs.delay,
            self._missed_with(wanted, min(cost, ready_cost) - wanted_cost),
        )
        if verdict.kind == "stay":
            stay = self._stay(verdict.reason, cost, best, verdict.saving)
            return self._tried(trial, cost, best) or stay
        if wanted in self._failed:
            reason = f"{describe(wanted)} could not be prepared"
        elif self._preparing is not None:
            reason = f"{describe(self._preparing)} is being prepared"
        else:
            if wanted == cache.plan():
                wanted = cache.plan()  # with the estimates of now
            self._preparing = wanted
            return Decision("prepare", wanted, verdict.saving, verdict.reason, cost, best)
        return self._stay(reason, cost, best, verdict.saving)

    def _stay(self, reason: str, cost: float, best: float, saving: float = 0.0) -> Decision:
        return Decision("stay", self._current, saving, reason, cost, best)

    def _tried(self, trial: PlanNode | None, cost: float, best: float) -> Decision | None:
        """Have a plan that should cost about as much run, or be prepared for that."""
        if trial is None or self._trials is None:
            return None
        if trial in self._prepared and not self._rehearses:
            self._because = "tried, as it should cost about as much"
            return Decision("switch", trial, 0.0, self._because, cost, best)
        if self._preparing is not None:
            return None
        self._trials.asked()
        self._preparing = trial
        return Decision("prepare", trial, 0.0, "to be tried", cost, best)

    def _cheapest(self) -> PlanNode:
        """The cheapest plan; one that was seen before has the estimates of then."""
        choices = self.cache.choices()
        if choices is None:
            return self.cache.plan()
        plan = self._known_choices.pop(choices, None) or self.cache.plan()
        self._known_choices[choices] = plan
        if len(self._known_choices) > _WANTED:
            del self._known_choices[next(iter(self._known_choices))]
        return plan

    def _seen(self, best: PlanNode) -> None:
        self._regimes.seen(same=best == self._regime)
        self._regime = best

    def _missed_with(self, plan: PlanNode, saving: float) -> float:
        """What was lost for want of a plan, this evaluation included; long ago counts for less."""
        kept = 1.0 - 1.0 / self.policy.horizon
        at, missed = self._missed.pop(plan, (self._evaluations, 0.0))
        missed = missed * kept ** (self._evaluations - at) + max(0.0, saving)
        if len(self._missed) >= _WANTED:
            del self._missed[next(iter(self._missed))]
        self._missed[plan] = (self._evaluations, missed)
        return missed

    def _cheapest_prepared(self, measured: Mapping[PlanNode, float]) -> tuple[PlanNode, float]:
        costs = {plan: self._price(plan, measured) for plan in self._prepared}
        plan = min(costs, key=lambda plan: (costs[plan], plan != self._current))
        return plan, costs[plan]

    def _price(self, plan: PlanNode, measured: Mapping[PlanNode, float]) -> float:
        known = measured.get(plan)
        return self.cache.cost_of(plan) if known is None else known
