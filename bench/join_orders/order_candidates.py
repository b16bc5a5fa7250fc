"""The fixed orders worth trying for a stream: the best by cost, and where filters may stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product, zip_longest

from adaptive import Catalogue, Join, JoinFilter, PlanNode, Prejoined, QueryGraph, Scan
from bench.join_orders.plan_enumeration import PlanEnumeration, PricedPlan

# Of so many times as many plans of least cost those are taken that differ in cost.
MORE = 4

# Join orders in which filters are tried at every place.
ORDERS_WITH_FILTERS = 200


def best_by_cost(
    graph: QueryGraph,
    phases: Sequence[Catalogue],
    passing: Sequence[Mapping[str, float]],
    call_us: float,
    most: int,
) -> list[PlanNode]:
    """Up to `most` plans: the best of each phase and of all together, in turn.

    `passing` has the share of its rows that each filter, by name, lets pass in each phase; a call takes `call_us`.
    """
    plain = QueryGraph(graph.relations, (), graph.output)
    enumeration = PlanEnumeration(plain, phases)
    if not graph.filters:
        return [found.plan for found in enumeration.candidates(most, k=MORE * most)]
    priced = [
        PricedPlan(
            plan,
            tuple(
                cost + call_us * expected_calls(plan, graph, catalogue, shares)
                for cost, catalogue, shares in zip(found.costs, phases, passing, strict=True)
            ),
        )
        for found in enumeration.best(ORDERS_WITH_FILTERS, [1.0] * len(phases))
        for plan in with_filters(found.plan, graph)
    ]
    by_phase = [sorted(priced, key=lambda p: p.costs[phase]) for phase in range(len(phases))]
    in_turn = zip_longest(*by_phase, sorted(priced, key=lambda p: sum(p.costs)))
    return list(dict.fromkeys(p.plan for rank in in_turn for p in rank))[:most]


def with_filters(plan: PlanNode, graph: QueryGraph) -> Iterator[PlanNode]:
    """A plan with each filter as early as can be or in the end, in all combinations."""
    for early in product((True, False), repeat=len(graph.filters)):
        chosen = [f for f, soon in zip(graph.filters, early, strict=True) if soon]
        late = tuple(f.name for f in graph.filters if f not in chosen)
        placed = _early(plan, chosen, graph)
        yield replace(placed, filters=(*placed.filters, *late))


def _early(plan: PlanNode, filters: Sequence[JoinFilter], graph: QueryGraph) -> PlanNode:
    waiting = list(filters)
    if isinstance(plan, Join):
        left = _early(plan.left, waiting, graph)
        waiting = [f for f in waiting if not f.variables <= bound_by(plan.left, graph)]
        right = plan.right
        if plan.method != "index":  # what is looked up is not filtered
            right = _early(plan.right, waiting, graph)
            waiting = [f for f in waiting if not f.variables <= bound_by(plan.right, graph)]
        plan = replace(plan, left=left, right=right)
    bound = bound_by(plan, graph)
    return replace(plan, filters=tuple(f.name for f in waiting if f.variables <= bound))


def bound_by(plan: PlanNode, graph: QueryGraph) -> frozenset[str]:
    """The variables that a plan binds."""
    match plan:
        case Scan():
            (found,) = (r for r in graph.relations if r.name == plan.relation)
            return frozenset(found.variables)
        case Prejoined():
            return frozenset(plan.variables)
        case Join():
            return bound_by(plan.left, graph) | bound_by(plan.right, graph)


def expected_calls(
    plan: PlanNode, graph: QueryGraph, catalogue: Catalogue, passing: Mapping[str, float]
) -> float:
    """How often filters are called: once for each different value that the filters before have let pass."""
    calls = 0.0
    filters = {f.name: f for f in graph.filters}

    def rows(node: PlanNode) -> float:
        """The share of a node's rows that pass the filters in it."""
        nonlocal calls
        share = rows(node.left) * rows(node.right) if isinstance(node, Join) else 1.0
        for name in node.filters:
            calls += min(_values(filters[name], graph, catalogue), node.estimated_rows * share)
            share *= passing[name]
        return share

    rows(plan)
    return calls


def _values(item: JoinFilter, graph: QueryGraph, catalogue: Catalogue) -> float:
    return min(
        catalogue.distinct(r.name, v)
        for r in graph.relations
        for v in item.variables & {*r.variables}
    )
