"""Join order and placement together, for queries with expensive filters or binds.

The orders of joins are searched that are best where such items are applied early (H3), late (H4), and where they cost
nothing; in each of these trees they are placed (see `placement`), and the cheapest of the results is taken. So by cost
a plan is never more expensive than the one that H3 or H4 would have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from adaptive.cost_model import CostModel, JoinCosts
from adaptive.errors import PlanError
from adaptive.graph.plan import PlanNode, verify, walk
from adaptive.graph.query_graph import QueryGraph, RelationKind
from adaptive.search.enumerate import DEFAULT_BUDGET
from adaptive.search.optimizer import (
    Considered,
    OptimizedPlan,
    SearchResult,
    optimize,
    plan_notes,
    search,
)
from adaptive.search.placed_items import PlacedItems, has_placed_items
from adaptive.search.placement import PLACEMENTS, Placement, place
from adaptive.search.placement_costs import PlacementCosts
from adaptive.search.placement_report import report
from adaptive.search.prejoin import PrejoinCandidate, PrejoinPolicy, prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue


class _Found(NamedTuple):
    """The best order of joins of one graph, and how it was searched."""

    plan: PlanNode
    outcome: SearchResult
    candidates: tuple[PrejoinCandidate, ...]


def optimize_placed(
    graph: QueryGraph,
    catalogue: Catalogue,
    cost_model: JoinCosts | None = None,
    prejoin: PrejoinPolicy | None = None,
    placement: Placement = "cost",
    budget: int = DEFAULT_BUDGET,
    bushy: bool = True,
) -> OptimizedPlan:
    """As `optimize`, for query graphs that may have expensive filters and binds.

    Raises PlanError for an unknown placement.

    >>> from adaptive.graph.expensive_calls import CallCost
    >>> from adaptive.graph.query_graph import ColumnStatistics, JoinFilter, Relation, RelationStatistics
    >>> graph = QueryGraph(
    ...     (Relation("oxygen", ("sector", "level"), RelationKind.WINDOW),
    ...      Relation("closed", ("sector",), RelationKind.STATIC)),
    ...     (JoinFilter("low", frozenset({"level"}), 0.5, call_cost=CallCost(100.0)),))
    >>> readings = RelationStatistics(1e3, dict.fromkeys(("sector", "level"), ColumnStatistics(1e3)))
    >>> def plan(closed): return optimize_placed(graph, Catalogue(
    ...     {"oxygen": readings, "closed": RelationStatistics(closed, {})})).plan
    >>> plan(10.0).filters, plan(10.0).left.filters              # after the join: 10 calls, not 1,000
    (('low',), ())
    >>> plan(1e6).filters, plan(1e6).left.filters
    ((), ('low',))
    """
    if placement not in PLACEMENTS:
        raise PlanError(f"filters are placed {', '.join(PLACEMENTS)}, not {placement!r}")
    if not has_placed_items(graph):
        return optimize(graph, catalogue, cost_model, prejoin, budget, bushy)
    items = PlacedItems(graph)
    costs = CostModel() if cost_model is None else cost_model
    policy = PrejoinPolicy() if prejoin is None else prejoin
    if all(relation.kind is RelationKind.STATIC for relation in graph.relations):
        # There must be a step to apply items at: the whole query may not be one pre-join.
        policy = replace(policy, enabled=False)

    def found(order: QueryGraph) -> _Found:
        estimator = CardinalityEstimator(order, catalogue)
        candidates = prejoin_candidates(estimator, policy)
        outcome = search(estimator, costs, candidates, budget, bushy)
        tree = outcome.alternatives.plan(order.all_relations, outcome.table)
        return _Found(tree, outcome, candidates)

    estimator = CardinalityEstimator(items.without, catalogue)
    pricing = PlacementCosts(items, estimator, costs, catalogue)
    strict, late = found(items.strict), found(items.late)
    first = place(strict.plan, pricing, "early"), strict
    last = place(late.plan, pricing, "late"), late
    if placement == "early":
        chosen = first
    elif placement == "late":
        chosen = last
    else:
        # What binds cost, and large graphs, are not searched exactly: H3 and H4 are asked as well.
        orders = found(items.early), late, strict
        placed = [(place(order.plan, pricing, "cost"), order) for order in orders]
        chosen = min(placed, key=lambda pair: pair[0].cost)
    plan, (_, outcome, candidates) = chosen
    verify(plan, graph)
    rivals = [
        Considered(rival, rival.cost, label)
        for rival, label in ((first[0], "filters early"), (last[0], "filters late"))
        if rival != plan
    ]
    output = graph.members if graph.output is None else graph.output & graph.members.keys()
    pairs = len(outcome.pairs)
    return OptimizedPlan(
        plan=plan,
        considered=tuple(sorted(rivals, key=lambda rival: rival.cost)),
        estimates={node.relations: node.estimated_rows for node in walk(plan)},
        distinct_output=estimator.distinct_rows(graph.all_relations, sorted(output)),
        search=outcome.kind,
        pairs=pairs,
        notes=plan_notes(plan, outcome.kind, pairs, candidates, budget),
        placement=report(plan, pricing, placement, first[0].cost, last[0].cost),
    )


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
