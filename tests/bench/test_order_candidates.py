"""The fixed orders that the adapt bench tries: valid, the best of all, filters at every place."""

from __future__ import annotations

import numpy as np
import pytest

from adaptive import (
    Catalogue,
    ColumnStatistics,
    CostModel,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive import optimize as search
from adaptive.graph.plan import describe, verify
from adaptive.statistics.cardinality import CardinalityEstimator
from bench.join_orders.order_candidates import best_by_cost, expected_calls, with_filters
from bench.join_orders.plan_enumeration import PlanEnumeration
from bench.report import BenchError
from tests.adaptive.plan_pricing import PlanPricing

SHAPES = ("chain", "star", "clique")


def query_graph(shape: str, size: int) -> QueryGraph:
    """A query of so many relations, the first two of them windows."""
    variables: dict[str, list[tuple[str, ...]]] = {
        "chain": [(f"v{i}", f"v{i + 1}") for i in range(size)],
        "star": [tuple(f"v{i}" for i in range(1, size)), *((f"v{i}",) for i in range(1, size))],
        "clique": [
            tuple(f"v{min(i, j)}-{max(i, j)}" for j in range(size) if j != i) for i in range(size)
        ],
    }
    kinds = [RelationKind.WINDOW if i < 2 else RelationKind.STATIC for i in range(size)]
    return QueryGraph(
        tuple(
            Relation(f"r{i}", v, kind)
            for i, (v, kind) in enumerate(zip(variables[shape], kinds, strict=True))
        )
    )


def statistics(relation: Relation, rows: float) -> RelationStatistics:
    """Statistics of a relation of so many rows; every variable has up to 2,000 values."""
    values = {v: ColumnStatistics(max(1.0, min(rows, 2_000.0))) for v in relation.variables}
    return RelationStatistics(rows, values)


def phases_of(graph: QueryGraph, seed: int) -> list[Catalogue]:
    """Two catalogues that differ in their windows, the first two relations."""
    rng = np.random.default_rng(seed)
    rows = [float(rng.integers(50, 5_000)) for _ in graph.relations]

    def catalogue(windows: list[float]) -> Catalogue:
        known = [*windows, *rows[2:]]
        return Catalogue(
            {r.name: statistics(r, n) for r, n in zip(graph.relations, known, strict=True)}
        )

    return [catalogue([20.0, 4_000.0]), catalogue([3_000.0, 10.0])]


@pytest.mark.parametrize("shape", SHAPES)
def test_enumerated_plans_are_valid_distinct_and_sorted(shape: str) -> None:
    graph = query_graph(shape, 5)
    phases = phases_of(graph, 1)
    enumeration = PlanEnumeration(graph, phases)
    for phase, weights in enumerate(([1.0, 0.0], [0.0, 1.0])):
        found = enumeration.best(40, weights)
        assert len(found) == 40 == len({plan.plan for plan in found})
        costs = [plan.costs[phase] for plan in found]
        assert costs == sorted(costs)
        assert costs[0] == pytest.approx(search(graph, phases[phase]).cost, rel=1e-9)
        pricing = PlanPricing(CardinalityEstimator(graph, phases[phase]), CostModel())
        for plan in found:
            verify(plan.plan, graph)
            assert plan.costs[phase] == pytest.approx(pricing.price(plan.plan).cost, rel=1e-9)


def test_the_k_best_are_the_best_of_all() -> None:
    graph = query_graph("chain", 4)
    enumeration = PlanEnumeration(graph, phases_of(graph, 2))
    everything = enumeration.best(100_000, [1.0, 1.0])
    # Five ways to bracket a chain of four, and three joins with either side streamed.
    assert len(everything) == 5 * 2**3 == len({plan.plan for plan in everything})
    few = enumeration.best(7, [1.0, 1.0])
    assert [sum(p.costs) for p in few] == pytest.approx([sum(p.costs) for p in everything[:7]])


def test_candidates_hold_the_best_of_each_phase_and_twins_last() -> None:
    graph = query_graph("clique", 5)
    phases = phases_of(graph, 3)
    found = PlanEnumeration(graph, phases).candidates(12)
    assert 2 <= len(found) <= 12
    for phase, catalogue in enumerate(phases):
        least = min(plan.costs[phase] for plan in found)
        assert least == pytest.approx(search(graph, catalogue).cost, rel=1e-9)
    assert not any(a.resembles(b) for a in found for b in found if a is not b)
    more = PlanEnumeration(graph, phases).candidates(400, k=60)
    assert len({candidate.plan for candidate in more}) == len(more) > 60
    alone = [any(m.resembles(other) for other in more[:n]) for n, m in enumerate(more)]
    assert alone == sorted(alone) and True in alone


def test_unconnected_queries_are_refused() -> None:
    chain = query_graph("chain", 4)
    graph = QueryGraph((chain.relations[0], chain.relations[3]))
    known = {
        r.name: RelationStatistics(5.0, {v: ColumnStatistics(5.0) for v in r.variables})
        for r in graph.relations
    }
    with pytest.raises(BenchError, match="connected"):
        PlanEnumeration(graph, [Catalogue(known)])


# -- filters ----------------------------------------------------------------------------------------

HEATS = Relation("heats", ("flame", "room"), RelationKind.WINDOW)
FILLS = Relation("fills", ("smoke", "room"), RelationKind.WINDOW)
HOT = JoinFilter("hot", frozenset({"flame"}))
DENSE = JoinFilter("dense", frozenset({"smoke"}))
FILTERED = QueryGraph((HEATS, FILLS), (HOT, DENSE))
COUNTED = Catalogue(
    {
        r.name: RelationStatistics(100.0, {"room": ColumnStatistics(10.0)})
        for r in FILTERED.relations
    }
)
PASSING = [{"hot": 0.01, "dense": 0.95}, {"hot": 0.95, "dense": 0.01}]


def test_filters_stand_early_and_late_in_all_combinations() -> None:
    (plan, *_) = PlanEnumeration(QueryGraph(FILTERED.relations), [COUNTED]).best(1, [1.0])
    placed = list(with_filters(plan.plan, FILTERED))
    # What is looked up is not filtered: its filter stands after the join, whether early or late.
    assert len(placed) == 4 and len(set(placed)) == 3
    for one in placed:
        verify(one, FILTERED)
    assert describe(placed[-1], filters=True).endswith("[hot, dense]")


def test_calls_are_expected_for_the_values_that_are_left() -> None:
    orders = PlanEnumeration(QueryGraph(FILTERED.relations), [COUNTED]).best(10, [1.0])
    calls = {
        describe(plan, filters=True): expected_calls(plan, FILTERED, COUNTED, PASSING[0])
        for order in orders
        for plan in with_filters(order.plan, FILTERED)
    }
    # One flame passes, and meets ten of the hundred smokes; the other way round nearly all are asked.
    assert calls["(heats[hot] fills)[dense]"] == pytest.approx(110)
    assert calls["(fills[dense] heats)[hot]"] == pytest.approx(200)


def test_the_filter_that_drops_most_stands_first_in_the_best_order_of_each_phase() -> None:
    found = best_by_cost(FILTERED, [COUNTED, COUNTED], PASSING, 100.0, 6)
    assert 4 <= len(found) == len(set(found)) <= 6
    for plan, few, many in zip(found, ("hot", "dense"), ("dense", "hot"), strict=False):
        shown = describe(plan, filters=True)
        assert shown.index(few) < shown.index(many), shown
