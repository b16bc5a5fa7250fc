"""The table of sub-plans that survives from one evaluation to the next (Figure 4, CQELS report).

Every connected part of the query keeps the cost of its cheapest plan. A change of statistics
re-prices the alternatives of the parts that it reaches and re-minimises these parts, small ones
first, so that a part has its final value before another one reads it. Unlike in the printed figure
a value may rise as well as fall; after every update all are those of a search from scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from adaptive.alternatives import Alternatives, RowEstimator, Step, Table, read_off
from adaptive.bounded_pairs import bounded_pairs
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import CostModel, FloatArray, JoinCosts
from adaptive.early_calls import EarlyCalls
from adaptive.enumerate import DEFAULT_BUDGET, first_cheapest, join_components, pairs_up_to
from adaptive.errors import SearchError
from adaptive.known_plans import KnownPlans
from adaptive.known_rows import KnownRows
from adaptive.operator_prices import OperatorPrices
from adaptive.optimizer import (
    OptimizedPlan,
    SearchKind,
    SearchResult,
    explain_kept,
    explain_search,
    greedy_parts,
    search,
)
from adaptive.other_way import Barred, joined_before, not_streamed, other_way
from adaptive.plan import PlanNode
from adaptive.plan_families import dearest_order, turned
from adaptive.prejoin import PrejoinCandidate, PrejoinPolicy, prejoin_candidates, static_parts
from adaptive.query_graph import QueryGraph, RelationStatistics
from adaptive.row_estimates import RowEstimates
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import Level, Reach, SubPlans, Touched

# Sets of relations are numbers of 64 bits here.
_MOST_RELATIONS = 62


class PlanCache:
    """The cheapest plan of a query graph under a catalogue that changes.

    Takes what `optimize` takes and finds what it finds. A graph beyond the budget (or of more than
    62 relations) has no table: it is searched greedily, and anew when `apply` finds something changed.
    The catalogue may also be changed from outside; the next `apply` sees it. `calls` has what expensive filters
    cost where a plan of the table applies them; greedy searches and `cost_of` do without. With
    `bounded`, a graph beyond the budget has a table of the parts that `bounded_pairs` names and of
    those of the greedy plan of the time when it was made.

    >>> from adaptive.plan import describe
    >>> from adaptive.query_graph import ColumnStatistics, Relation, RelationKind
    >>> graph = QueryGraph((
    ...     Relation("window", ("x", "y"), RelationKind.WINDOW),
    ...     Relation("left", ("x",), RelationKind.STATIC),
    ...     Relation("right", ("y",), RelationKind.STATIC)))
    >>> known = RelationStatistics(5e3, {"x": ColumnStatistics(1e3), "y": ColumnStatistics(1e3)})
    >>> def keys(rows): return RelationStatistics(rows, {})
    >>> cache = PlanCache(graph, Catalogue({"window": known, "left": keys(10), "right": keys(50)}))
    >>> describe(cache.plan())
    '((window left) right)'
    >>> cache.apply({"left": keys(1e3)}).entries        # of 6: left does not touch the others
    3
    >>> describe(cache.plan())
    '((window right) left)'
    """

    def __init__(
        self,
        graph: QueryGraph,
        catalogue: Catalogue,
        cost_model: JoinCosts | None = None,
        prejoin: PrejoinPolicy | None = None,
        budget: int = DEFAULT_BUDGET,
        bushy: bool = True,
        calls: EarlyCalls | None = None,
        bounded: bool = False,
    ) -> None:
        if budget < 0:
            raise SearchError(f"the budget must be at least 0 pairs, not {budget}")
        self.graph = graph
        self.catalogue = catalogue
        self.costs: JoinCosts = CostModel() if cost_model is None else cost_model
        self.prejoin = PrejoinPolicy() if prejoin is None else prejoin
        self.budget = budget
        self.bushy = bushy
        self._calls = calls
        self._rebuilds = 0
        self._components = graph.components()
        self._bounded = bounded
        self._pairs = self._all_pairs()
        self._is_exact = self._pairs is not None
        self._known_plans = KnownPlans(graph, self.costs, self._estimator)
        self._plan: PlanNode | None = None
        self._scalar: CardinalityEstimator | None = None
        self._known_rows: KnownRows | None = None
        self._static_parts = static_parts(graph, self.prejoin)
        self._rebuild()

    def _all_pairs(self) -> list[tuple[int, int]] | None:
        if len(self.graph.relations) > _MOST_RELATIONS:
            return None
        pairs: list[tuple[int, int]] = []
        for component in self._components:
            more = pairs_up_to(self.graph, component, self.budget - len(pairs))
            if more is None:
                return None
            pairs += more
        return pairs

    def _some_pairs(self) -> list[tuple[int, int]] | None:
        """What is compared of a graph beyond the budget, None where that is too much as well."""
        if len(self.graph.relations) > _MOST_RELATIONS:
            return None
        candidates = self._candidates_now()
        kept = [candidate.mask for candidate in candidates if candidate.refusal is None]
        more = greedy_parts(self._estimator(), self.costs, candidates, self.bushy)
        return bounded_pairs(self.graph, self.budget, kept, more)

    @property
    def exact(self) -> bool:
        """Whether the whole graph is within the budget."""
        return self._is_exact

    @property
    def entries(self) -> int:
        """Number of connected parts in the table."""
        return len(self._sub_plans.parts) if self._pairs is not None else 0

    @property
    def alternatives(self) -> int:
        """Number of alternatives in the table, all parts together."""
        return len(self._sub_plans.steps) if self._pairs is not None else 0

    def _rebuild(self) -> Touched:
        self._rebuilds += 1
        self._forget()
        self._known_plans.clear()
        self._known_rows = None
        self._searched_with = self.catalogue.known(self.graph)
        if self._bounded and not self._is_exact:
            self._pairs = self._some_pairs()
        if self._pairs is None:
            self._greedy = self._searched()
            return Touched(rebuilt=True)
        alternatives = self._priced()
        self._allowed = tuple(alternatives.prejoins)
        sub_plans = SubPlans(alternatives, self._pairs)
        self._sub_plans = sub_plans
        self._estimates = RowEstimates(self.graph, self.catalogue, sub_plans)
        self._known_rows = KnownRows(self.graph, self.catalogue, sub_plans, self._estimates)
        self._prices = OperatorPrices(
            self.graph, self.costs, sub_plans, self._estimates, self._calls
        )
        self._known_plans.clear((sub_plans, self._estimates, self._prices))
        self._estimates.sync()
        reach = sub_plans.everything
        self._estimates.estimate(reach)
        own = self.propagate_update_physical_cost(reach)
        changed = self.trigger_update_optimal_plan(reach, own)
        return Touched(len(reach.parts), len(reach.alternatives), changed, rebuilt=True)

    def apply(
        self,
        changed: Mapping[str, RelationStatistics],
        pairs: Mapping[tuple[str, str], float] | None = None,
        observed: Iterable[OperatorCounts] = (),
    ) -> Touched:
        """Take over statistics of leaves, measured pairs and counts, and make all values right.

        Raises StatisticsError for an unknown relation.
        """
        for (left, right), rows in (pairs or {}).items():
            self.catalogue.set_match(left, right, rows)
        self.catalogue.fold(observed)
        reach = self.update_mapping(changed)
        if self._pairs is None:
            known = self.catalogue.known(self.graph)
            return Touched() if known == self._searched_with else self._rebuild()
        if reach is None:
            return Touched()
        if reach.static and self._prejoins_changed():
            return self._rebuild()
        own = self.propagate_update_physical_cost(reach)
        moved = self.trigger_update_optimal_plan(reach, own)
        return Touched(len(reach.parts), len(reach.alternatives), moved)

    def reprice(self, filters: int) -> Touched:
        """Make all values right after the price of some filters (bit i) has changed."""
        if self._pairs is None or not filters:
            return Touched()
        self._forget()
        reach = self._sub_plans.reach(frozenset(), filters)
        own = self.propagate_update_physical_cost(reach)
        moved = self.trigger_update_optimal_plan(reach, own)
        return Touched(len(reach.parts), len(reach.alternatives), moved)

    def update_mapping(self, changed: Mapping[str, RelationStatistics]) -> Reach | None:
        """Take over the leaves' statistics and estimate the rows of the parts that hold them.

        Once for all mappings that came and went since the last evaluation, and only for the leaf
        that each came from. None when nothing changed.
        """
        for name, statistics in changed.items():
            self.catalogue.update(name, statistics)
        if self._pairs is None:
            return None
        sets, filters = self._estimates.sync()
        if not sets and not filters:
            return None
        self._forget()
        reach = self._sub_plans.reach(sets, filters)
        self._estimates.estimate(reach)
        return reach

    def propagate_update_physical_cost(self, reach: Reach) -> FloatArray:
        """Re-price the operators that read a part whose rows changed.

        Returns what each alternative costs by itself, without the inputs that are built for it.
        """
        return self._prices.update(reach)

    def trigger_update_optimal_plan(self, reach: Reach, own: FloatArray) -> int:
        """Choose the cheapest alternative of each part anew, by size, be it dearer or cheaper.

        Returns the number of parts whose value changed.
        """
        value, held = self._prices.value, self._prices.held
        before = value[reach.parts]
        for level in reach.levels:
            span = slice(level.first, level.last)
            cost = own[span] + value.take(reach.left[span])
            cost += held.take(reach.right[span])
            self.propagate_sub_optimal_update(level, np.minimum.reduceat(cost, level.starts))
        changed = np.count_nonzero(value[reach.parts] != before)
        return len(reach.leaves) + int(changed)

    def propagate_sub_optimal_update(self, level: Level, best: FloatArray) -> None:
        """Hand the new values of the parts of one size to all alternatives that read them."""
        self._prices.set_values(level.parts, best)

    @property
    def cost(self) -> float:
        """Microseconds of one evaluation of the cheapest plan."""
        if self._pairs is None:
            return self._greedy.table[self.graph.all_relations].cost
        if len(self._components) == 1:
            return float(self._prices.value[self._sub_plans.number[self.graph.all_relations]])
        return self._searched().table[self.graph.all_relations].cost

    def plan(self) -> PlanNode:
        """The cheapest plan, read off the table from the top."""
        if self._plan is None:
            found = self._greedy if self._pairs is None else self._searched()
            self._plan = found.alternatives.plan(self.graph.all_relations, found.table)
        return self._plan

    def choices(self) -> tuple[int, ...] | None:
        """What makes the cheapest plan the one that it is, to tell quickly whether it is a known one.

        Equal choices make equal plans. None for a plan that is not read off the table alone.
        """
        if self._pairs is None or len(self._components) != 1:
            return None
        chosen, waiting = [self._rebuilds], [self.graph.all_relations]
        sub_plans = self._sub_plans
        while waiting:
            part = waiting.pop()
            number, _ = self._choice(sub_plans.number[part])
            step = sub_plans.steps[number]
            chosen.append(number)
            # A leaf is read in one way; what is probed or kept is read as it stands.
            if step.method != "read":
                sides = (step.left,) if step.method == "index" else (step.left, step.right)
                waiting += [side for side in sides if side & (side - 1)]
        return tuple(chosen)

    def otherwise(self, first: Iterable[str], then: Iterable[str]) -> PlanNode | None:
        """The cheapest plan that joins relations `first` with nothing before `then` is there.

        None where there is no such plan, or no table of all parts.
        """
        early, late = self.graph.mask(first), self.graph.mask(then)
        return self._without(lambda sub_plans: joined_before(sub_plans, early, late))

    def streaming(self, relation: str) -> PlanNode | None:
        """The cheapest plan that streams a relation, and joins all others to it: the first one, as plans are described.

        None where there is no such plan, or no table of all parts.
        """
        streamed = self.graph.mask([relation])
        return self._without(lambda sub_plans: not_streamed(sub_plans, streamed))

    def turned(self, plan: PlanNode, last: bool) -> tuple[PlanNode, ...]:
        """What streams another relation than a plan of this query and is the same else (see `plan_families.turned`)."""
        return turned(plan, self.graph, last and self.bushy)

    def rivals(self) -> tuple[PlanNode, ...]:
        """The cheapest plan, the cheapest that goes another way where that is dear, and what ends in another join."""
        found = self.optimized()
        order = dearest_order(found.plan)
        other = None if order is None else self.otherwise(*order)
        rivals = (found.plan, other, *(rival.plan for rival in found.considered))
        return tuple(rival for rival in rivals if rival is not None)

    def _without(self, barred: Callable[[SubPlans], Barred]) -> PlanNode | None:
        everything = self.graph.all_relations
        if self._pairs is None or self._components != (everything,):
            return None
        table = other_way(self._prices, self._sub_plans, barred(self._sub_plans))
        if table is None:
            return None
        return self._priced(self._allowed).plan(everything, table)

    def optimized(self) -> OptimizedPlan:
        """The cheapest plan with rivals, estimates and reasons, as `optimize` gives it."""
        found = self._searched(whole=True)
        return explain_search(found, self._candidates_now(), self.budget, self.costs, self.bushy)

    @property
    def searched(self) -> tuple[SearchKind, int, tuple[PrejoinCandidate, ...]]:
        """The kind of search, the pairs that it compared, and what might be pre-joined now."""
        kind: SearchKind = "greedy" if self._pairs is None else "bounded"
        kind = "exact" if self._is_exact else kind
        return kind, len(self._pairs or ()), self._candidates_now()

    def cost_of(self, plan: PlanNode) -> float:
        """Microseconds of one evaluation of any valid plan under the statistics of now.

        Raises PlanError for a plan that does not answer this query.
        """
        return self._known_plans.cost(plan)

    def expected_rows(self, plan: PlanNode) -> dict[frozenset[str], float]:
        """Rows expected now of every join of a plan and every leaf read, by relations' names."""
        return self._known_plans.rows(plan)

    def repriced(self, plan: PlanNode) -> PlanNode:
        """The same plan, of this query, with the rows and costs of now at every node."""
        return self._known_plans.repriced(plan)

    def explained(self, plan: PlanNode) -> OptimizedPlan:
        """Any valid plan with the rows and costs of now, the cheapest one first among its rivals."""
        return explain_kept(self.optimized(), plan, self.repriced)

    def values(self) -> dict[frozenset[str], float]:
        """The cost of the cheapest plan of every part in the table, by relations' names."""
        if self._pairs is None:
            return {}
        return {
            frozenset(self.graph.names(mask)): float(self._prices.value[number])
            for mask, number in self._sub_plans.number.items()
        }

    def _forget(self) -> None:
        self._plan = None
        self._known_plans.forget()
        self._scalar = None
        if self._known_rows is not None:
            self._known_rows.forget()

    @property
    def estimator(self) -> RowEstimator:
        """The row estimates of now; to be asked for again after each change."""
        return self._estimator()

    def _estimator(self) -> RowEstimator:
        if self._known_rows is not None:
            return self._known_rows
        if self._scalar is None:
            self._scalar = CardinalityEstimator(self.graph, self.catalogue)
        return self._scalar

    def _candidates_now(self, only: tuple[int, ...] | None = None) -> tuple[PrejoinCandidate, ...]:
        parts = self._static_parts
        if only is not None:
            parts = tuple(part for part in parts if part.mask in only)
        return prejoin_candidates(self._estimator(), self.prejoin, parts)

    def _prejoins_changed(self) -> bool:
        if not self.prejoin.enabled:
            return False
        candidates = self._candidates_now()
        return tuple(c.mask for c in candidates if c.refusal is None) != self._allowed

    def _priced(self, only: tuple[int, ...] | None = None) -> Alternatives:
        allowed = {c.mask: c for c in self._candidates_now(only) if c.refusal is None}
        return Alternatives(self._estimator(), self.costs, allowed, self.bushy)

    def _searched(self, whole: bool = False) -> SearchResult:
        """What a search gives: its table as far as the plan needs it, or as a whole."""
        if self._pairs is None:
            candidates = self._candidates_now()
            return search(self._estimator(), self.costs, candidates, self.budget, self.bushy)
        # Which parts may be pre-joined is known: an update that moves one of them rebuilds.
        alternatives = self._priced(self._allowed)
        table: Table = {}
        if whole:
            for part in self._sub_plans.parts:
                table[part] = self._chosen(part)
        else:
            table = read_off(self._components, self._chosen)
        join_components(alternatives, table, self._components)
        return SearchResult(
            table, alternatives, "exact" if self._is_exact else "bounded", self._pairs
        )

    def _chosen(self, part: int) -> Step:
        """The cheapest way to have a part."""
        sub_plans = self._sub_plans
        number = sub_plans.number[part]
        if part & (part - 1) == 0:
            return Step(float(self._prices.value[number]), part, 0, "read")
        choice, cost = self._choice(number)
        return sub_plans.steps[choice]._replace(cost=cost)

    def _choice(self, number: int) -> tuple[int, float]:
        """The number of the cheapest alternative of a part, of equal ones the first, and its cost."""
        cost = self._prices.costs_of(number)
        place = first_cheapest(cost)
        return int(self._sub_plans.first[number]) + place, float(cost[place])
