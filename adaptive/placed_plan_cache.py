"""The plan cache of a query with expensive filters or binds: join order and placement together.

The joins are searched twice at least, each time in a table that is kept up to date: with all filters applied
early, their calls included, and with those of H4 left out. In both trees the items are then
placed, and the cheaper plan is taken. So the plan is never dearer than the best order with early
filters, nor than the best order with late ones, and for its own order nothing is cheaper (see
`placement`). An order that pays only with a filter in the middle, or with some of several filters
late, may be missed; so may calls in graphs that are searched greedily.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adaptive.alternatives import RowEstimator
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import CostModel, JoinCosts
from adaptive.early_calls import EarlyCalls
from adaptive.enumerate import DEFAULT_BUDGET, pairs_up_to
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.optimizer import Considered, OptimizedPlan, optimize
from adaptive.placed_items import PlacedItems, has_placed_items
from adaptive.placement import PLACEMENTS, Placement, place
from adaptive.placement_costs import Part, PlacementCosts
from adaptive.placement_report import PlacementReport, report
from adaptive.plan import PlanNode, describe, verify, walk
from adaptive.plan_cache import PlanCache, Touched
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, RelationKind, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts

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
        if all(relation.kind is RelationKind.STATIC for relation in graph.relations):
            # There must be a step to apply items at: the whole query may not be one pre-join.
            policy = replace(policy, enabled=False)
        items = self.items
        orders = {
            "early": (items.strict,),
            "late": (items.late,),
            # What binds cost alone, and large graphs, are not searched exactly: H3 is asked as well.
            "cost": (items.early, items.late, items.strict),
        }[placement]
        if placement == "cost" and not graph.extends and _is_small(graph, budget):
            orders = orders[:2]
        self._verified: dict[int, PlanNode] = {}
        self._priced: PlacementCosts | None = None
        self._best: PlanNode | None = None
        self._orders = tuple(dict.fromkeys(orders))
        # Rows come from the one without items: it must be up to date before the others.
        self._caches: dict[QueryGraph, PlanCache] = {}
        self._calls: dict[QueryGraph, EarlyCalls] = {}
        for order in dict.fromkeys((self.items.without, *orders)):
            calls = EarlyCalls(order, self.items, lambda: self.pricing)
            self._calls[order] = calls
            self._caches[order] = PlanCache(
                order,
                catalogue,
                self.costs,
                policy,
                budget,
                bushy,
                calls if calls.filters else None,
            )
        self._filters_seen = catalogue.filters_version
        self._prices_seen = self._prices()

    @property
    def exact(self) -> bool:
        """Whether all orders of joins were compared."""
        return all(self._caches[order].exact for order in self._orders)

    @property
    def estimator(self) -> RowEstimator:
        """The row estimates of now, without any item."""
        return self._caches[self.items.without].estimator

    def apply(
        self,
        changed: Mapping[str, RelationStatistics],
        pairs: Mapping[tuple[str, str], float] | None = None,
        observed: Iterable[OperatorCounts] = (),
    ) -> Touched:
        """Take over what `PlanCache.apply` does, and the filters' statistics in the catalogue."""
        found = [self._caches[self.items.without].apply(changed, pairs, observed)]
        if self.outdated or found[0].entries or found[0].rebuilt:
            self._forget()
            others = [order for order in self._orders if order != self.items.without]
            found += [self._caches[order].apply({}) for order in others]
            if (prices := self._prices()) != self._prices_seen:
                self._prices_seen = prices
                found += [self._caches[o].reprice(self._calls[o].filters) for o in others]
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

    def _forget(self) -> None:
        self._filters_seen = self.catalogue.filters_version
        self._priced = None
        self._best = None

    def _prices(self) -> list[tuple[float | None, float]]:
        """What was observed of items but for the selectivities, which the searches follow alone."""
        known = [self.catalogue.filter(item.name) for item in self.items.items]
        return [(statistics.call_us, statistics.distinct_factor) for statistics in known]

    @property
    def pricing(self) -> PlacementCosts:
        """What placements cost under the statistics of now."""
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
            self._best = min(plans, key=lambda plan: plan.cost)
        return self._best

    def _tree(self, order: QueryGraph) -> PlanNode:
        return self._caches[order].plan()

    def cost_of(self, plan: PlanNode) -> float:
        """Microseconds of one evaluation of any valid plan, its filters where they are.

        Raises PlanError for a plan that does not answer this query.
        """
        return self._price(plan).cost

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
        trees = {order: self._tree(order) for order in self._orders}
        same = [order for order, tree in trees.items() if describe(tree) == describe(plan)]
        found = self._caches[(same or list(trees))[0]].optimized()
        early, late = self._strategy("early"), self._strategy("late")
        rivals = [
            Considered(rival, rival.cost, label)
            for rival, label in ((early, "filters early"), (late, "filters late"))
            if rival != plan
        ]
        return replace(
            found,
            plan=plan,
            considered=tuple(sorted(rivals, key=lambda rival: rival.cost)),
            estimates={node.relations: node.estimated_rows for node in walk(plan)},
            placement=report(plan, self.pricing, self.placement, early.cost, late.cost),
        )

    def explained(self, plan: PlanNode) -> OptimizedPlan:
        """Any valid plan with the rows and costs of now, the chosen one first among its rivals."""
        best = self.optimized()
        if best.plan == plan:
            return best
        now = self.repriced(plan)
        chosen = Considered(best.plan, best.cost, "the one to choose now")
        others = tuple(rival for rival in best.considered if rival.plan != plan)
        return replace(
            best,
            plan=now,
            considered=(chosen, *others),
            estimates={node.relations: node.estimated_rows for node in walk(now)},
            notes=("chosen under other statistics, kept for now", *best.notes),
            placement=self.report(now),
        )


def _is_small(graph: QueryGraph, budget: int) -> bool:
    """Whether a search of the graph is exact."""
    pairs = 0
    for component in graph.components():
        found = pairs_up_to(graph, component, budget - pairs)
        if found is None:
            return False
        pairs += len(found)
    return True


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
