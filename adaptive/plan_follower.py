"""One join cluster of one query over its life: which plan runs, and when another takes over."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping

from adaptive.cost_model import JoinCosts
from adaptive.enumerate import DEFAULT_BUDGET
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.filter_observation import FilterCounts, FilterEstimator
from adaptive.followed_filters import FollowedFilters
from adaptive.measured_plans import MeasuredPlans
from adaptive.operator_feedback import beside_estimates, surprising
from adaptive.optimizer import OptimizedPlan
from adaptive.placed_plan_cache import PlacedPlanCache, plan_cache
from adaptive.placement import Placement
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.plan_choice import PlanChoice
from adaptive.plan_switch import Decision, Switch
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import Touched
from adaptive.switch_history import SwitchHistory
from adaptive.switching import SwitchPolicy
from adaptive.wanted_plans import WantedPlans

# Costs are computed anew after so many evaluations without news: what was counted before has faded a little.
_FADED = 8

SURPRISE = 1.5
"""A count that is this many times off what was expected is worth another look at the plan."""


class PlanFollower:
    """Follows the statistics of one query graph and says which plan should run.

    Before each evaluation call `observe` (or `unchanged`, where nothing is new) and do what it
    says: on "prepare", prepare the plan in the background and call `prepared` (or `failed`); on
    "switch", run that plan from now on and call `switched`; prepare what is `beside` that, too.
    After each evaluation call `executed`; `observe` may be called several times before one.
    At most `cache_size` plans are kept prepared; `prepared` returns those to drop. With `adaptive`
    False the first plan stays for ever. `placement` says how expensive filters and binds are
    placed, if there are any; without `initial` the first plan is of that placement. `learned` has
    followed some of them, by name, in a graph before this one, and goes on. `rehearses` says that
    what is to be tried can be run beside the evaluations: it is asked to be prepared, also where it
    is prepared already, and `prepared` is told what it took. With `ahead`, the caller sees to it that `look`
    is called between evaluations where this is `looking`; nothing is looked for in `observe` then. Unless it is
    `alone`, other plans take part of the time of evaluations.

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
        ahead: bool = False,
        alone: bool = True,
    ) -> None:
        self.adaptive = adaptive
        self.policy = SwitchPolicy() if policy is None else policy
        self.updates = 0
        """Calls of `observe` that changed something."""
        self.news = 0
        """Calls of `observe` that told of statistics: what was counted before one is not what is expected after it."""
        self.touched = 0
        """Entries of the plan cache touched by all updates together."""
        self.optimizer_seconds = 0.0
        """Time spent on statistics and search, without the first search."""
        self.evaluation_seconds = 0.0
        """Time spent on evaluations, as told to `executed`."""
        for name, estimator in (learned or {}).items():
            catalogue.set_filter(name, estimator.statistics)
        self._cache = plan_cache(graph, catalogue, cost_model, prejoin, budget, bushy, placement)
        self._outdated = False
        # Evaluations since costs were computed; enough of them when something was counted.
        self._faded = 0
        self._filters = (
            FollowedFilters(self._cache, learned)
            if isinstance(self._cache, PlacedPlanCache)
            else None
        )
        self._catalogue = catalogue
        self._clock = clock
        first = self.cache.plan() if initial is None else initial
        self.cache.cost_of(first)  # an initial plan of another query is an error
        items = () if self._filters is None else self._filters.cache.items.items
        self._history = SwitchHistory(graph, catalogue, items)
        by_search = isinstance(self._cache, PlanCache) and self._cache.exact
        tries = by_search or (self._filters is not None and placement == "cost")
        self._measured = MeasuredPlans(
            lambda: self.cache, catalogue, self.policy, tries and adaptive, rehearses, ahead, alone
        )
        self._choice = PlanChoice(
            first,
            cache_size,
            self._measured,
            WantedPlans(self._cache, self.policy.horizon),
            lambda: self.cache,
            self.policy,
            rehearses,
        )
        self._decided_in = catalogue.state

    @property
    def cache(self) -> PlanCache | PlacedPlanCache:
        """The plan cache, under the statistics of now; what was counted may have faded a little since."""
        if self._outdated:
            self._refresh()
        return self._cache

    def _refresh(self) -> None:
        self._outdated, self._faded = False, 0
        self._took(self._cache.apply({}))

    @property
    def up_to_date(self) -> bool:
        """Whether the plan cache knows of all news; where times decide, it is told when costs are asked for."""
        return not self._outdated

    def _took(self, touched: Touched) -> None:
        self.updates += bool(touched.entries or touched.rebuilt)
        self.touched += touched.entries

    @property
    def current(self) -> PlanNode:
        """The plan that runs."""
        return self._choice.running

    @property
    def state(self) -> int:
        """The number of the present state of the streams."""
        return self._catalogue.state

    def explained(self, plan: PlanNode | None = None) -> OptimizedPlan:
        """A plan, or the running one, with the rows and costs of now, the one to choose now first among its rivals."""
        if self.filters_changed:
            self.cache.apply({})
        return self.cache.explained(self.current if plan is None else plan)

    @property
    def kept(self) -> tuple[PlanNode, ...]:
        """The plans that are prepared, the least recently used one first."""
        return tuple(self._choice.prepared)

    @property
    def history(self) -> tuple[Switch, ...]:
        """All switches, the latest last (the last 10,000 of them)."""
        return self._history.switches

    def observe(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float] | None = None,
        errors: Mapping[tuple[str, str], float] | None = None,
    ) -> Decision:
        """Take over the statistics of the coming evaluation, and decide which plan it should use.

        `matches` are rows of joins of two relations, `errors` the standard errors of those that were sampled.
        Raises StatisticsError for an unknown relation.
        """
        began = self._clock()
        self._choice.observed(began)
        if statistics or matches:
            self.news += 1
            self._recognise(statistics, matches, errors)
        decision = self._decide(statistics, matches or {})
        self._decided_in = self._catalogue.state
        self.optimizer_seconds += self._clock() - began
        return decision

    def _recognise(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float] | None,
        errors: Mapping[tuple[str, str], float] | None,
    ) -> None:
        before = self._catalogue.state
        if self._catalogue.recognise(statistics, matches, errors) != before:
            # The costs of now are those of the state before.
            self._measured.entered(before, None if self._outdated else self._cache.cost_of)

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
        self._choice.unchanged()

    def passed(self, seconds: float) -> None:
        """An evaluation has passed that was neither observed nor counted, and took so many seconds.

        For those who call `observe` now and then only: savings last for evaluations, and they say how many there are.
        """
        self._choice.passed(self._clock(), seconds)
        self.evaluation_seconds += seconds

    @property
    def improvable(self) -> bool:
        """Whether some plan, prepared or not, is cheaper than the running one by more than the margin.

        Not where it was measured to be no faster, and nothing has changed.
        """
        if self._choice.none_faster:
            return False
        cache = self.cache
        return not self.policy.within_margin(cache.cost_of(self.current), cache.cost)

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
        self._choice.executed(began, seconds)
        if counts := tuple(counts):
            self._learn(self._told(counts, self.current, filters))
        if self._filters is not None and filters:
            self._filters.observe(self.current, filters)
        self._catalogue.tick()
        self._faded += 1
        self.optimizer_seconds += self._clock() - began
        self.evaluation_seconds += seconds

    def _told(
        self,
        counts: Collection[OperatorCounts],
        plan: PlanNode,
        filters: Mapping[str, FilterCounts] | None,
    ) -> tuple[OperatorCounts, ...]:
        """What the operators of a plan counted beside what was expected of it."""
        # What was learned is in the estimates that counts are compared with, or it would be learned twice.
        if self._faded >= _FADED:
            self._refresh()
        return beside_estimates(counts, plan, self.cache, self._filters, filters)

    def _learn(self, told: Iterable[OperatorCounts]) -> None:
        self._catalogue.fold(told)
        self._faded = _FADED

    def counted_beside(self, plan: PlanNode, counts: Iterable[OperatorCounts]) -> None:
        """Take in what the operators of a plan counted that ran beside evaluations, `news` being what it is now.

        Estimates are corrected where that is far off: the plan may seem to be the cheapest one, and never run. Nothing
        is learned from rows that an expensive filter has thinned out, as what it let through there is not known.
        """
        began = self._clock()
        if self._filters is not None:
            counts = self._filters.before_them(plan, counts)
        if counts := tuple(counts):
            counted = {count.relations for count in counts}
            told = (c for c in self._told(counts, plan, None) if c.relations in counted)
            if found := surprising(told, SURPRISE):
                self._learn(found)
        self.optimizer_seconds += self._clock() - began

    @property
    def restless(self) -> bool:
        """Whether a plan is to be tried, or has been, so that `observe` should be called though nothing is new."""
        return self._measured.due

    @property
    def looking(self) -> bool:
        """Whether `look` has something to do."""
        return self._measured.looking

    def look(self) -> None:
        """Look for one more plan to be tried, which may take longer than an evaluation; see `restless` then."""
        began = self._clock()
        self._measured.look()
        self.optimizer_seconds += self._clock() - began

    @property
    def trying(self) -> bool:
        """Whether some plan is still to be tried in the present state, or the running one has hardly run there."""
        return self._measured.trying(self.current)

    @property
    def measured(self) -> dict[PlanNode, float]:
        """What an evaluation by each plan takes in the present state, in microseconds, the fastest first.

        Those that have hardly run there, and were not tried beside others, are left out.
        """
        return self._measured.known()

    def prepared(
        self, plan: PlanNode, seconds: float, rehearsed: float | None = None
    ) -> tuple[PlanNode, ...]:
        """A plan is ready to run; returns the prepared plans to drop, as there are too many.

        `seconds` is what preparing took, 0 where it was prepared before; `rehearsed` what a run of it takes
        over one of the running plan in the present state of the streams; None where that was not found.
        """
        return self._choice.ready(plan, seconds, rehearsed)

    def failed(self, plan: PlanNode) -> None:
        """A plan could not be prepared; it is not asked for again."""
        self._choice.failed(plan)

    def switched(self, plan: PlanNode, instant: float) -> None:
        """Another plan runs from now on; `instant` is the time to be shown in the history."""
        old = self.current
        change = self._choice.switched(plan)
        if change is not None:
            self._history.add(instant, old, plan, *change)

    def _decide(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float],
    ) -> Decision:
        if self._filters is None:
            decision = self._choice.by_times(self._catalogue.state == self._decided_in)
            if decision is not None:
                # The statistics wait in the catalogue until somebody asks for costs.
                for name, known in statistics.items():
                    self._catalogue.update(name, known)
                for (left, right), rows in matches.items():
                    self._catalogue.set_match(left, right, rows)
                self._outdated = True
                return decision
        if statistics or matches or self._outdated or self._faded >= _FADED or self._filters:
            self._took(self._cache.apply(statistics, matches))
            self._outdated, self._faded = False, 0
        if not self.adaptive:
            costs = self._cache.cost_of(self.current), self._cache.cost
            return Decision("stay", self.current, 0.0, "plans are not adapted", *costs)
        return self._choice.by_costs()
