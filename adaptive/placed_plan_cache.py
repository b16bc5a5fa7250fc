"""The plan cache of a query with expensive filters or binds: join order and placement together.

By cost, both are searched together in a table that is kept up to date (see `placed_table`): of a
query within the budget, nothing is cheaper than what it finds; of a larger one it compares the parts
that its shape suggests. Where that table does not hold all plans of H3 and H4, or there is none, the
orders of joins are searched that are best for each of the two, and the items are placed in both trees
(see `placement`). So the plan is never dearer than the one that H3 or H4 would have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from adaptive.alternatives import RowEstimator
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import CostModel, JoinCosts
from adaptive.early_calls import EarlyCalls
from adaptive.enumerate import DEFAULT_BUDGET
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.heuristics.h4_late_uncertain_filters import without_filters
from adaptive.optimizer import (
    Considered,
    OptimizedPlan,
    SearchKind,
    explain_kept,
    optimize,
    plan_notes,
)
from adaptive.order_searches import OrderSearches
from adaptive.placed_items import PlacedItems, has_placed_items
from adaptive.placed_table import PlacedTable, placed_table
from adaptive.placement import PLACEMENTS, Placement, place
from adaptive.placement_costs import Part, PlacementCosts
from adaptive.placement_report import PlacementReport, report
from adaptive.plan import PlanNode, verify, walk
from adaptive.plan_cache import PlanCache
from adaptive.plan_families import turned
from adaptive.prejoin import PrejoinCandidate, PrejoinPolicy
from adaptive.query_graph import QueryGraph, RelationKind, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import Touched

# Plans whose fitness for the query is remembered.
_KNOWN_PLANS = 256


class PlacedPlanCache:
    """The cheapest plan of a query graph with items to place, under statistics that change.

    Does for such a graph what `PlanCache` does for others.

    >>> from adaptive.expensive_calls import CallPrice
    >>> from adaptive.query_graph import ColumnStatistics, JoinFilter, Relation
    >>> graph = QueryGraph(
    ...     (Relation("oxygen", ("sector", "level"), RelationKind.WINDOW),
    ...      Relation("closed", ("sector",), RelationKind.STATIC)),
    ...     (JoinFilter("low", frozenset({"level"}), 0.5, price=CallPrice(100.0)),))
    >>> sectors = {"sector": ColumnStatistics(1e3), "level": ColumnStatistics(1e3)}
    >>> def closed(rows): return {"closed": RelationStatistics(rows, {})}
    >>> cache = PlacedPlanCache(graph, Catalogue(
    ...     {"oxygen": RelationStatistics(1e3, sectors)} | closed(10.0)))
    >>> cache.plan().filters, cache.plan().left.filters         # after the join: 10 calls, not 1,000
    (('low',), ())
    >>> cache.update_filters({"low": FilterStatistics(call_us=0.0, selectivity=0.0)}).rebuilt
    False
    >>> cache.plan().filters, cache.plan().left.filters
    ((), ('low',))
    """

    def __init__(
        self,
        graph: QueryGraph,
        catalogue: Catalogue,
        cost_model: JoinCosts | None = None,
        prejoin: PrejoinPolicy | None = None,
        budget: int = DEFAULT_BUDGET,
        bushy: bool = True,
        placement: Placement = "cost",
    ) -> None:
        if placement not in PLACEMENTS:
            raise PlanError(f"filters are placed {', '.join(PLACEMENTS)}, not {placement!r}")
        self.graph = graph
        self.catalogue = catalogue
        self.costs: JoinCosts = CostModel() if cost_model is None else cost_model
        self.placement: Placement = placement
        self.items = PlacedItems(graph)
        policy = PrejoinPolicy() if prejoin is None else prejoin
        self._search = (prejoin, budget, bushy)
        self.bushy = bushy
        if all(relation.kind is RelationKind.STATIC for relation in graph.relations):
            # There must be a step to apply items at: the whole query may not be one pre-join.
            policy = replace(policy, enabled=False)
        self._table: PlacedTable | None = None
        if placement == "cost":
            self._table = placed_table(self.items, catalogue, self.costs, policy, budget, bushy)
        self._orders = tuple(dict.fromkeys(self._orders_besides()))
        self._verified: dict[int, PlanNode] = {}
        self._priced: PlacementCosts | None = None
        self._best: PlanNode | None = None

        def search(order: QueryGraph, calls: EarlyCalls | None) -> PlanCache:
            return PlanCache(
                order, catalogue, self.costs, policy, budget, bushy, calls, bounded=True
            )

        self._searches = OrderSearches(
            self.items,
            catalogue,
            search,
            lambda: self.pricing,
            self._orders,
            first=self.items.without if self._table is None else None,
        )
        self._filters_seen = catalogue.filters_version
        self._known_filters = [catalogue.filter(item.name) for item in self.items.items]

    def _orders_besides(self) -> tuple[QueryGraph, ...]:
        """The graphs whose best orders of joins are candidates, besides what the table has."""
        items = self.items
        if self.placement == "early":
            return (items.strict,)
        if self.placement == "late":
            return (items.late,)
        if self._table is None:
            # What binds cost alone, and large graphs, are not searched exactly: H3 is asked as well.
            return (items.early, items.late, items.strict)
        return () if self._table.complete else (items.late, items.strict)

    @property
    def exact(self) -> bool:
        """Whether all orders of joins were compared."""
        if self._table is not None:
            return self._table.space.exact
        return all(self._searches[order].exact for order in self._orders)

    @property
    def estimator(self) -> RowEstimator:
        """The row estimates of now, without any item."""
        return self._rows.estimator

    @property
    def _rows(self) -> PlanCache | PlacedTable:
        """What follows the rows of all parts without any item; to be updated before the others."""
        return self._searches[self.items.without] if self._table is None else self._table

    def apply(
        self,
        changed: Mapping[str, RelationStatistics],
        pairs: Mapping[tuple[str, str], float] | None = None,
        observed: Iterable[OperatorCounts] = (),
    ) -> Touched:
        """Take over what `PlanCache.apply` does, and the filters' statistics in the catalogue."""
        found = [self._rows.apply(changed, pairs, observed)]
        if self.outdated or found[0].entries or found[0].rebuilt:
            self._forget()
            found += self._searches.follow()
        return Touched(
            sum(touched.entries for touched in found),
            sum(touched.alternatives for touched in found),
            sum(touched.changed for touched in found),
            any(touched.rebuilt for touched in found),
        )

    def update_filters(self, statistics: Mapping[str, FilterStatistics]) -> Touched:
        """Take over what was observed of filters and binds, by name.

        Only what a changed selectivity reaches is searched again. Raises PlanError for a name that
        is none of the query's items.
        """
        for name, known in statistics.items():
            if name not in self.items.number:
                raise PlanError(f"there is no filter or bind {name!r} to be placed")
            self.catalogue.set_filter(name, known)
        return self.apply({})

    @property
    def outdated(self) -> bool:
        """Whether the catalogue knows more about filters than the last `apply` saw."""
        return self.catalogue.filters_version != self._filters_seen

    @property
    def shifted(self) -> bool:
        """Whether what the catalogue knows about filters is very different from what the last `apply` saw."""
        return self.outdated and any(
            known.shifted(self.catalogue.filter(item.name))
            for item, known in zip(self.items.items, self._known_filters, strict=True)
        )

    def _forget(self) -> None:
        self._filters_seen = self.catalogue.filters_version
        self._known_filters = [self.catalogue.filter(item.name) for item in self.items.items]
        self._priced = None
        self._best = None
        self._searches.outdated()

    @property
    def pricing(self) -> PlacementCosts:
        """What placements cost under the statistics of now."""
        if self._table is not None:
            return self._table.pricing
        if self._priced is None:
            self._priced = PlacementCosts(self.items, self.estimator, self.costs, self.catalogue)
        return self._priced

    @property
    def cost(self) -> float:
        """Microseconds of one evaluation of the chosen plan."""
        return self.plan().cost

    def plan(self) -> PlanNode:
        """The plan that the placement asks for, under the statistics of now."""
        if self._best is None:
            pricing = self.pricing
            plans = [place(self._tree(order), pricing, self.placement) for order in self._orders]
            if self._table is not None:
                plans.insert(0, self._table.plan())
            self._best = min(plans, key=lambda plan: plan.cost)
        return self._best

    def choices(self) -> None:
        """Nothing is known of a placed plan that would tell it from others more quickly."""

    def _tree(self, order: QueryGraph) -> PlanNode:
        return self._searches[order].plan()

    def cost_of(self, plan: PlanNode) -> float:
        """Microseconds of one evaluation of any valid plan, its filters where they are.

        Raises PlanError for a plan that does not answer this query.
        """
        return self._price(plan).cost

    def calls_cost(self, plan: PlanNode) -> float:
        """How much of the cost of a plan is that of its expensive filters and binds."""
        return sum(use.cost for _, use in self.pricing.uses(plan))

    def _price(self, plan: PlanNode) -> Part:
        if self._verified.get(id(plan)) is not plan:
            verify(plan, self.graph)
            if len(self._verified) >= _KNOWN_PLANS:
                del self._verified[next(iter(self._verified))]
            self._verified[id(plan)] = plan
        return self.pricing.price(plan)

    def expected_rows(
        self, plan: PlanNode, shares: Mapping[str, float] | None = None
    ) -> dict[frozenset[str], float]:
        """Rows expected now of every join of a plan and every leaf read, by relations' names.

        `shares` are what some filters have really kept of their rows, by name.
        """
        pricing = self.pricing
        if shares:
            pricing = PlacementCosts(self.items, self.estimator, self.costs, self.catalogue, shares)
        rows: dict[frozenset[str], float] = {}
        pricing.price(plan, lambda node, part: rows.update({node.relations: part.rows}))
        return rows

    def repriced(self, plan: PlanNode) -> PlanNode:
        """The same plan, of this query, with the rows and costs of now at every node."""
        verify(plan, self.graph)
        return self.pricing.repriced(plan)

    def report(self, plan: PlanNode) -> PlacementReport:
        """Where the items of a plan are, and what it would cost to have them elsewhere."""
        early = self._strategy("early")
        late = self._strategy("late")
        return report(plan, self.pricing, self.placement, early.cost, late.cost)

    def rivals(self) -> tuple[PlanNode, ...]:
        """The chosen plan, its joins with all items where H3, or H4, would have them, and the plans of H3 and H4."""
        pricing = self.pricing
        early = self._tree(self.items.strict)
        late = self._tree(self.items.late) if self._table is None else self._table.joins_alone()
        chosen = self.plan()
        return (
            chosen,
            place(chosen, pricing, "early"),
            place(chosen, pricing, "late"),
            place(early, pricing, "early"),
            place(late, pricing, "late"),
        )

    def otherwise(self, first: Iterable[str], then: Iterable[str]) -> PlanNode | None:
        """The cheapest plan found that joins relations `first` with nothing before `then` is there.

        None where there is no such plan, or no table of all parts.
        """
        first, then = frozenset(first), frozenset(then)
        return self._cheapest(lambda searched: searched.otherwise(first, then))

    def streaming(self, relation: str) -> PlanNode | None:
        """The cheapest plan found that streams a relation, and joins all others to it; None as of `otherwise`."""
        return self._cheapest(lambda searched: searched.streaming(relation))

    def _cheapest(self, found: Callable[[PlanCache], PlanNode | None]) -> PlanNode | None:
        """The cheapest of the plans found among the orders of H3 and H4, with the items where they cost least."""
        orders = [found(self._searches[order]) for order in (self.items.strict, self.items.late)]
        plans = [place(order, self.pricing, self.placement) for order in orders if order]
        return min(plans, key=lambda plan: plan.cost, default=None)

    def turned(self, plan: PlanNode, last: bool) -> tuple[PlanNode, ...]:
        """What streams another relation than a plan and is the same else, its items placed anew (see `turned`)."""
        bare = without_filters(plan, frozenset(self.items.number))
        orders = turned(bare, self.items.without, last and self.bushy)
        return tuple(place(order, self.pricing, self.placement) for order in orders)

    def _strategy(self, placement: Placement) -> PlanNode:
        """The plan that H3, or H4, would have; searched anew where that is not the placement."""
        if placement == self.placement:
            return self.plan()
        prejoin, budget, bushy = self._search
        return PlacedPlanCache(
            self.graph, self.catalogue, self.costs, prejoin, budget, bushy, placement
        ).plan()

    def optimized(self) -> OptimizedPlan:
        """The chosen plan with rivals, estimates and reasons."""
        plan = self.plan()
        early, late = self._strategy("early"), self._strategy("late")
        rivals = [
            Considered(rival, rival.cost, label)
            for rival, label in ((early, "filters early"), (late, "filters late"))
            if rival != plan
        ]
        output = sorted(
            self.graph.members
            if self.graph.output is None
            else self.graph.output & self.graph.members.keys()
        )
        kind, pairs, candidates = self._searched()
        everything = self.graph.all_relations
        return OptimizedPlan(
            plan=plan,
            considered=tuple(sorted(rivals, key=lambda rival: rival.cost)),
            estimates={node.relations: node.estimated_rows for node in walk(plan)},
            distinct_output=self.estimator.distinct_rows(everything, output),
            search=kind,
            pairs=pairs,
            notes=plan_notes(plan, kind, pairs, candidates, self._search[1]),
            placement=report(plan, self.pricing, self.placement, early.cost, late.cost),
        )

    def _searched(self) -> tuple[SearchKind, int, tuple[PrejoinCandidate, ...]]:
        """The kind of search, the pairs that it compared, and what might be pre-joined."""
        if self._table is not None:
            space = self._table.space
            return "exact" if space.exact else "bounded", len(space.pairs), self._table.candidates
        return self._searches[self._orders[0]].searched

    def explained(self, plan: PlanNode) -> OptimizedPlan:
        """Any valid plan with the rows and costs of now, the chosen one first among its rivals."""
        return explain_kept(self.optimized(), plan, self.repriced, self.report)


def place_given(
    plan: PlanNode,
    graph: QueryGraph,
    catalogue: Catalogue,
    cost_model: JoinCosts | None = None,
    placement: Placement = "cost",
) -> PlanNode:
    """A given order of joins with the expensive filters and binds of its query placed.

    Where they were does not matter, but for filters inside pre-joined parts. Raises PlanError for a
    plan that then does not answer the query.
    """
    if not has_placed_items(graph):
        return plan
    items = PlacedItems(graph)
    costs = CostModel() if cost_model is None else cost_model
    estimator = CardinalityEstimator(items.without, catalogue)
    placed = place(plan, PlacementCosts(items, estimator, costs, catalogue), placement)
    verify(placed, graph)
    return placed


def plan_cache(
    graph: QueryGraph,
    catalogue: Catalogue,
    cost_model: JoinCosts | None = None,
    prejoin: PrejoinPolicy | None = None,
    budget: int = DEFAULT_BUDGET,
    bushy: bool = True,
    placement: Placement = "cost",
) -> PlanCache | PlacedPlanCache:
    """The plan cache that a query graph needs."""
    if has_placed_items(graph):
        return PlacedPlanCache(graph, catalogue, cost_model, prejoin, budget, bushy, placement)
    return PlanCache(graph, catalogue, cost_model, prejoin, budget, bushy)


def optimize_placed(
    graph: QueryGraph,
    catalogue: Catalogue,
    cost_model: JoinCosts | None = None,
    prejoin: PrejoinPolicy | None = None,
    placement: Placement = "cost",
    budget: int = DEFAULT_BUDGET,
    bushy: bool = True,
) -> OptimizedPlan:
    """As `optimize`, for query graphs that may have expensive filters and binds."""
    if not has_placed_items(graph):
        return optimize(graph, catalogue, cost_model, prejoin, budget, bushy)
    return PlacedPlanCache(
        graph, catalogue, cost_model, prejoin, budget, bushy, placement
    ).optimized()
