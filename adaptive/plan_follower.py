"""One join cluster of one query over its life: which plan runs, and when another takes over."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from adaptive.cost_model import JoinCosts
from adaptive.enumerate import DEFAULT_BUDGET
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.filter_observation import FilterCounts, FilterEstimator
from adaptive.followed_filters import FollowedFilters
from adaptive.measured_plans import MeasuredPlans
from adaptive.operator_feedback import beside_estimates
from adaptive.optimizer import OptimizedPlan
from adaptive.placed_plan_cache import PlacedPlanCache, plan_cache
from adaptive.placement import Placement
from adaptive.plan import PlanNode, describe
from adaptive.plan_cache import PlanCache
from adaptive.plan_prices import PlanPrices
from adaptive.plan_switch import Decision, Switch
from adaptive.prejoin import PrejoinPolicy
from adaptive.prepared_plans import PreparedPlans
from adaptive.preparing_costs import PreparingCosts
from adaptive.query_graph import QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import Touched
from adaptive.switch_history import SwitchHistory
from adaptive.switching import Regimes, SwitchPolicy
from adaptive.wanted_plans import WantedPlans

# Costs are computed anew after so many evaluations without news: what was counted before has faded a little.
_FADED = 8

# Where all was tried that should be, a plan that was not is taken to cost so many times the fastest, or more.
_UNTRIED = 1.25


class PlanFollower:
    """Follows the statistics of one query graph and says which plan should run.

    Before each evaluation call `observe` (or `unchanged`, where nothing is new) and do what it
    says: on "prepare", prepare the plan in the background and call `prepared` (or `failed`); on
    "switch", run that plan from now on and call `switched`; prepare what is `beside` that, too.
    After each evaluation call `executed`.
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
        self._cache = plan_cache(graph, catalogue, cost_model, prejoin, budget, bushy, placement)
        self._outdated = False
        self._faded = 0
        self._filters = (
            FollowedFilters(self._cache, learned)
            if isinstance(self._cache, PlacedPlanCache)
            else None
        )
        self._catalogue = catalogue
        self._clock = clock
        self._current = self.cache.plan() if initial is None else initial
        self.cache.cost_of(self._current)  # an initial plan of another query is an error
        self._prepared = PreparedPlans(self._current, cache_size)
        self._preparing_costs = PreparingCosts(self.policy.prepare_cost)
        self._preparing: PlanNode | None = None
        self._wanted = WantedPlans(self._cache, self.policy.horizon)
        self._evaluations = 0
        self._failed: set[PlanNode] = set()
        self._regimes = Regimes(self.policy)
        self._regime = self._current
        items = () if self._filters is None else self._filters.cache.items.items
        self._history = SwitchHistory(graph, catalogue, items)
        by_search = isinstance(self._cache, PlanCache) and self._cache.exact
        tries = by_search or (self._filters is not None and placement == "cost")
        self._measured = MeasuredPlans(
            lambda: self.cache, catalogue, self.policy, tries and adaptive, rehearses
        )
        self._decided_in = catalogue.state
        self._because = ""
        self._none_faster = False
        self._costs: tuple[float, float] | None = None

    @property
    def cache(self) -> PlanCache | PlacedPlanCache:
        """The plan cache, under the statistics of now."""
        if self._outdated:
            self._outdated = False
            self._took(self._cache.apply({}))
        return self._cache

    @property
    def up_to_date(self) -> bool:
        """Whether the plan cache has the costs of now; where times decide, they are computed when asked for."""
        return not self._outdated

    def _took(self, touched: Touched) -> None:
        self.updates += bool(touched.entries or touched.rebuilt)
        self.touched += touched.entries

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
        return self._history.switches

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
        decision = self._decide_by_times(statistics, matches or {})
        if decision is None:
            if statistics or matches or self._outdated or self._faded >= _FADED or self._filters:
                self._took(self._cache.apply(statistics, matches))
                self._outdated, self._faded = False, 0
            decision = self._decide()
        self._decided_in = self._catalogue.state
        self.optimizer_seconds += self._clock() - began
        return decision

    def _recognise(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float] | None,
    ) -> None:
        before = self._catalogue.state
        if self._catalogue.recognise(statistics, matches) != before:
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
        self._regimes.seen(same=True)

    @property
    def improvable(self) -> bool:
        """Whether some plan, prepared or not, is cheaper than the running one by more than the margin.

        Not where it was measured to be no faster, and nothing has changed.
        """
        if self._none_faster:
            return False
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
        prepare_cost = self._preparing_costs.cost
        self._measured.ran(self._current, seconds * 1e6, self._prepared, prepare_cost)
        if counts := tuple(counts):
            told = beside_estimates(counts, self._current, self.cache, self._filters, filters)
            self._catalogue.fold(told)
            self._faded = _FADED
        if self._filters is not None and filters:
            self._filters.observe(self._current, filters)
        self._catalogue.tick()
        self._faded += 1
        self.optimizer_seconds += self._clock() - began
        self.evaluation_seconds += seconds

    @property
    def restless(self) -> bool:
        """Whether a plan is to be tried, or has been, so that `observe` should be called though nothing is new."""
        return self._measured.due

    @property
    def trying(self) -> bool:
        """Whether some plan is still to be tried in the present state, or the running one has hardly run there."""
        return self._measured.trying(self._current)

    def prepared(
        self, plan: PlanNode, seconds: float, rehearsed: float | None = None
    ) -> tuple[PlanNode, ...]:
        """A plan is ready to run; returns the prepared plans to drop, as there are too many.

        `seconds` is what preparing took, 0 where it was prepared before; `rehearsed` what a run of it takes
        over one of the running plan in the present state of the streams; None where that was not found.
        """
        if self._preparing == plan:
            self._preparing = None
        if seconds > 0.0:
            self._preparing_costs.prepared(seconds)
        self._wanted.prepared(plan)
        self._measured.rehearsed(plan, self._current, rehearsed)
        return self._prepared.add(plan, self._current)

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
        costs = self._costs
        if costs is None:
            costs = (self.cache.cost_of(old), self.cache.cost_of(plan))
            self._measured.looked(old, plan, costs)
        self._costs = None
        self._history.add(instant, old, plan, costs, self._because)

    def _decide(self) -> Decision:
        cache, policy = self.cache, self.policy
        cost, best = cache.cost_of(self._current), cache.cost
        self._because, self._none_faster, self._costs = "", False, None
        if not self.adaptive:
            return self._stay("plans are not adapted", cost, best)
        trial = self._measured.next_trial(self._failed)
        if trial == self._current and not self._rehearses:
            return self._stay("on trial", cost, best)
        measured = self._measured.prices(self._current, cache.cost_of)
        untried = bool(measured) and self._measured.untried(self._current)
        if untried:
            cost = max(cost, _UNTRIED * min(measured.values()))
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
            wanted = self._wanted.cheapest()
        prices = PlanPrices(measured, cost, cache.cost_of)
        wanted_cost = prices.of(wanted)
        if faster and min(faster.values()) <= wanted_cost:
            wanted = min(faster, key=lambda plan: faster[plan])
            wanted_cost = faster[wanted]
        known = prices.known(wanted)
        no_faster = known is not None and known >= (1.0 - policy.measured_margin) * cost
        self._seen(self._current if no_faster else wanted)
        lasting = self._regimes.lasting
        ready, ready_cost = self._cheapest_prepared(prices, cost)
        # Of what is prepared, the cheapest can run at once; the cheapest of all may come later.
        verdict = policy.decide(cost, ready_cost, True, lasting)
        if verdict.kind == "switch":
            # Not what the statistics say, or hardly.
            if ready in faster and policy.within_margin(cost, cache.cost_of(ready)):
                self._because = f"measured: {ready_cost / cost:.2f} of the time"
            if untried:
                self._costs = cost, ready_cost
                self._measured.looked(self._current, ready, self._costs)
            beside = self._asked(trial) if self._rehearses and trial != ready else None
            return Decision("switch", ready, verdict.saving, verdict.reason, cost, best, beside)
        if no_faster:
            self._none_faster = True
            reason = (
                f"{describe(wanted)} should be faster, and it or its like were measured not to be"
            )
            return self._tried(trial, cost, best) or self._stay(reason, cost, best)
        if wanted in self._prepared:
            stay = self._stay(verdict.reason, cost, best, verdict.saving)
            if self._measured.may_take_over(wanted):
                return stay
            return self._tried(wanted, cost, best) or stay
        verdict = policy.decide(
            cost,
            wanted_cost,
            False,
            lasting,
            self._preparing_costs.cost,
            self._preparing_costs.delay,
            self._wanted.missed(wanted, min(cost, ready_cost) - wanted_cost, self._evaluations),
        )
        if verdict.kind == "stay":
            stay = self._stay(verdict.reason, cost, best, verdict.saving)
            return self._tried(trial, cost, best) or stay
        if wanted in self._failed:
            stay = self._stay(f"{describe(wanted)} could not be prepared", cost, best)
            return self._tried(trial, cost, best) or stay
        if self._preparing is not None:
            reason = f"{describe(self._preparing)} is being prepared"
        else:
            if wanted == cache.plan():
                wanted = cache.plan()  # with the estimates of now
            self._preparing = wanted
            return Decision("prepare", wanted, verdict.saving, verdict.reason, cost, best)
        return self._stay(reason, cost, best, verdict.saving)

    def _decide_by_times(
        self,
        statistics: Mapping[str, RelationStatistics],
        matches: Mapping[tuple[str, str], float],
    ) -> Decision | None:
        """Decide by what was measured in the present state alone, if all was tried there that should be.

        The statistics wait in the catalogue until somebody asks for costs.
        """
        if self._filters is not None:
            return None
        found = self._measured.choice(self._prepared, self._current)
        if found is None:
            return None
        for name, known in statistics.items():
            self._catalogue.update(name, known)
        for (left, right), rows in matches.items():
            self._catalogue.set_match(left, right, rows)
        self._outdated, self._none_faster, self._because = True, True, ""
        self._seen(found.plan)
        costs = found.running, found.chosen
        again = self._measured.next_trial(self._failed)
        if found.plan == self._current:
            stay = self._stay("measured to be the fastest", *costs)
            return self._tried(again, *costs) or stay
        verdict = self.policy.decide(*costs, True, self._regimes.lasting)
        if verdict.kind == "stay":
            stay = self._stay(verdict.reason, *costs, verdict.saving)
            return self._tried(again, *costs) or stay
        beside = self._asked(again) if again != found.plan else None
        if found.ratio is not None and self.state == self._decided_in:
            self._because = f"measured: {found.ratio:.2f} of the time"
        self._costs = costs
        return Decision("switch", found.plan, verdict.saving, verdict.reason, *costs, beside)

    def _stay(self, reason: str, cost: float, best: float, saving: float = 0.0) -> Decision:
        return Decision("stay", self._current, saving, reason, cost, best)

    def _tried(self, trial: PlanNode | None, cost: float, best: float) -> Decision | None:
        """Have a plan that should cost about as much run, or be prepared for that."""
        if trial is None or trial == self._current:
            return None
        if trial in self._prepared and not self._rehearses:
            self._because = "tried, as it should cost about as much"
            return Decision("switch", trial, 0.0, self._because, cost, best)
        asked = self._asked(trial)
        return None if asked is None else Decision("prepare", asked, 0.0, "to be tried", cost, best)

    def _asked(self, trial: PlanNode | None) -> PlanNode | None:
        """A plan to be tried, unless another one is being prepared: it is from now on."""
        if trial is None or self._preparing is not None:
            return None
        self._measured.asked(trial)
        self._preparing = trial
        return trial

    def _seen(self, best: PlanNode) -> None:
        self._regimes.seen(same=best == self._regime)
        self._regime = best

    def _cheapest_prepared(self, prices: PlanPrices, cost: float) -> tuple[PlanNode, float]:
        """Of what may take over at once, and the running plan, which costs so much: the cheapest, and its cost."""
        ready = filter(self._measured.may_take_over, self._prepared)
        costs = {plan: prices.of(plan) for plan in ready}
        costs[self._current] = cost
        plan = min(costs, key=lambda plan: (costs[plan], plan != self._current))
        return plan, costs[plan]
