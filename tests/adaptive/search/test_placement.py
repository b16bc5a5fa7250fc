import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adaptive.cost_model import CostModel
from adaptive.errors import PlanError, QueryGraphError
from adaptive.graph.expensive_calls import CallCost
from adaptive.graph.plan import Join, Scan, verify, walk
from adaptive.graph.query_graph import Extend, JoinFilter, QueryGraph, Relation
from adaptive.heuristics.h4_late_uncertain_filters import without_filters
from adaptive.search.placed_items import PlacedItems
from adaptive.search.placement import _placed_by_moves, place, placed_exactly
from adaptive.search.placement_costs import PlacementCosts
from adaptive.search.prejoin import PrejoinPolicy
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.placed_queries import placed_queries, placements
from tests.adaptive.plan_pricing import PlanPricing
from tests.adaptive.query_graphs import STATIC, WINDOW, statistics
from tests.adaptive.random_trees import RandomTrees

WITHOUT = PrejoinPolicy(enabled=False)


def pricing(graph, catalogue):
    items = PlacedItems(graph)
    estimator = CardinalityEstimator(items.without, catalogue)
    return PlacementCosts(items, estimator, CostModel(), catalogue)


def trees(costs, catalogue, prejoin=WITHOUT):
    return RandomTrees(costs.graph, catalogue, prejoin)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(placed_queries(max_relations=3, most=2), st.integers(0, 99))
def test_the_choice_is_the_cheapest_of_all_placements_and_orders_on_a_tree(query, seed):
    graph, catalogue = query
    costs = pricing(graph, catalogue)
    tree = trees(costs, catalogue).draw(random.Random(seed))
    chosen = placed_exactly(tree, costs)
    verify(chosen, graph)
    cheapest = min(
        costs.price(plan).cost
        for plan in placements(tree, [item.name for item in costs.items.items], 3)
        if fits(plan, graph)
    )
    assert costs.price(chosen).cost == pytest.approx(cheapest)


def fits(plan, graph):
    try:
        verify(plan, graph)
    except PlanError:
        return False
    return True


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5, most=4), st.integers(0, 99))
def test_no_placement_is_dearer_than_early_and_late_on_the_same_tree(query, seed):
    graph, catalogue = query
    costs = pricing(graph, catalogue)
    policy = WITHOUT if any(r.kind is STATIC for r in graph.relations[:1]) else PrejoinPolicy()
    tree = trees(costs, catalogue, policy).draw(random.Random(seed))
    assume(isinstance(tree, Join | Scan))  # in a pre-join there is no step to apply anything at
    placed = {how: place(tree, costs, how) for how in ("early", "late", "cost")}
    moved = costs.repriced(_placed_by_moves(tree, costs))
    for plan in (*placed.values(), moved):
        verify(plan, graph)
        assert plan.cost == pytest.approx(costs.price(plan).cost)
        joins = without_filters(plan, frozenset(costs.items.number))
        assert joins == tree
    least = min(placed["early"].cost, placed["late"].cost) * (1 + 1e-9)
    assert placed["cost"].cost <= least
    assert moved.cost <= least
    if costs.items.few():
        assert placed["cost"].cost <= moved.cost * (1 + 1e-9)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5), st.integers(0, 99))
def test_filters_that_cost_nothing_are_priced_as_cheap_ones(query, seed):
    graph, catalogue = query
    free = replace(
        graph,
        filters=tuple(
            replace(f, call_cost=None if f.call_cost is None else CallCost(0.0, 0.0))
            for f in graph.filters
            if f.variables <= graph.members.keys()
        ),
        extends=(),
        output=None,
    )
    plain = replace(free, filters=tuple(replace(f, call_cost=None) for f in free.filters))
    chance = random.Random(seed)
    tree = RandomTrees(plain, catalogue, PrejoinPolicy()).draw(chance)
    known = PlanPricing(CardinalityEstimator(plain, catalogue), CostModel()).price(tree)
    part = pricing(free, catalogue).price(tree)
    assert (part.rows, part.cost) == pytest.approx((known.rows, known.cost))


OXYGEN = Relation("oxygen", ("sector", "level", "error"), WINDOW)
LINK = Relation("link", ("sector", "other"), STATIC)
NAME = Relation("name", ("other", "label"), STATIC)


def sectors(fan_out, names=1_000.0, others=None):
    return Catalogue(
        {
            "oxygen": statistics(1_000, sector=1_000, level=1_000, error=1),
            "link": statistics(1_000 * fan_out, sector=min(1_000, 1_000 * fan_out), other=1_000),
            "name": statistics(names, other=others or names, label=names),
        }
    )


LOW = JoinFilter(
    "low", frozenset({"level", "error"}), 0.1, call_cost=CallCost(100.0), uncertain=True
)


def chosen(graph, catalogue, placement="cost"):
    costs = pricing(graph, catalogue)
    tree = Join(
        Join(Scan("oxygen"), Scan("link"), ("sector",), "index"), Scan("name"), ("other",), "index"
    )
    return place(tree, costs, placement), costs


def test_a_filter_goes_between_a_join_that_trims_and_one_that_fans_out():
    graph = QueryGraph((OXYGEN, LINK, NAME), (LOW,))
    catalogue = sectors(0.01, 1e6, others=1_000)
    plan, costs = chosen(graph, catalogue)
    assert plan.left.filters == ("low",)
    ((node, use),) = costs.uses(plan)
    assert node.relations == {"oxygen", "link"}
    assert (use.rows, use.calls) == pytest.approx((10.0, 10.0))
    early, _ = chosen(graph, catalogue, "early")
    late, _ = chosen(graph, catalogue, "late")
    assert early.left.left.filters == ("low",)
    assert late.filters == ("low",)
    assert plan.cost < min(early.cost, late.cost)


def test_with_a_cache_a_fan_out_repeats_look_ups_and_not_calls():
    graph = QueryGraph((OXYGEN, LINK, NAME), (LOW,))
    late, costs = chosen(graph, sectors(10.0), "late")
    ((_, use),) = costs.uses(late)
    assert use.rows == pytest.approx(10_000.0)
    assert use.calls == pytest.approx(1_000.0)
    assert use.cost == pytest.approx(1_000 * 100.0 + 9_000 * 0.1)
    uncached = replace(LOW, call_cost=CallCost(100.0, cached=False))
    late, costs = chosen(QueryGraph((OXYGEN, LINK, NAME), (uncached,)), sectors(10.0), "late")
    assert costs.uses(late)[0][1].calls == pytest.approx(10_000.0)


def test_a_filter_thins_out_the_inputs_of_the_next_even_beyond_a_fan_out():
    second = replace(LOW, name="second", selectivity=0.5, call_cost=CallCost(1.0))
    graph = QueryGraph((OXYGEN, LINK, NAME), (LOW, second))
    late, costs = chosen(graph, sectors(100.0), "late")
    uses = {use.item.name: use for _, use in costs.uses(late)}
    # Ranks per row: (0.5 - 1) / ~0.1 of `second` comes before (0.1 - 1) / ~1.1 of `low`.
    assert late.filters == ("second", "low")
    assert uses["low"].calls == pytest.approx(500.0, rel=0.01)


def test_filters_at_one_node_are_ordered_by_rank():
    expensive = replace(
        LOW, name="expensive", selectivity=0.1, call_cost=CallCost(100.0, cached=False)
    )
    weak = replace(LOW, name="weak", selectivity=0.95, call_cost=CallCost(1.0, cached=False))
    good = replace(LOW, name="good", selectivity=0.5, call_cost=CallCost(1.0, cached=False))
    graph = QueryGraph((OXYGEN, LINK, NAME), (expensive, weak, good))
    for placement in ("early", "cost"):
        plan, _ = chosen(graph, sectors(1.0), placement)
        order = [name for node in walk(plan) for name in node.filters]
        assert order == ["good", "weak", "expensive"]


def test_many_filters_are_moved_one_at_a_time():
    chance = random.Random(5)
    filters = tuple(
        JoinFilter(
            f"f{number}",
            frozenset({"level"} if number % 2 else {"level", "label"}),
            chance.random(),
            call_cost=CallCost(10 ** chance.uniform(-1, 2)),
            uncertain=True,
        )
        for number in range(8)
    )
    graph = QueryGraph((OXYGEN, LINK, NAME), filters)
    assert not PlacedItems(graph).few()
    catalogue = sectors(0.01, 1e6, others=1_000)  # trimmed first, then many
    plans = {how: chosen(graph, catalogue, how)[0] for how in ("early", "late", "cost")}
    verify(plans["cost"], graph)
    assert plans["cost"].cost < min(plans["early"].cost, plans["late"].cost)
    assert set(plans["cost"].left.filters) & {"f1", "f3", "f5", "f7"}


def test_a_bind_comes_before_what_reads_it_and_late_when_nothing_does():
    bind = Extend("p", "p", frozenset({"level", "error"}), CallCost(100.0), uncertain=True)
    likely = JoinFilter("likely", frozenset({"p"}), 0.1)
    read = QueryGraph((OXYGEN, LINK, NAME), (likely,), extends=(bind,))
    for fan_out in (0.01, 1.0, 100.0):
        for placement in ("early", "late", "cost"):
            plan, _ = chosen(read, sectors(fan_out), placement)
            verify(plan, read)
    plan, _ = chosen(read, sectors(100.0))
    assert plan.left.left.filters == ("p", "likely")
    plan, _ = chosen(read, sectors(0.01))
    assert plan.left.filters == ("p", "likely")
    unread = QueryGraph((OXYGEN, LINK, NAME), extends=(bind,))
    plan, _ = chosen(unread, sectors(1.0, names=10.0))
    assert plan.filters == ("p",)


def test_late_moves_only_what_calls_uncertainty_functions():
    other = JoinFilter("other", frozenset({"level"}), 0.5, call_cost=CallCost(20.0))
    plan, _ = chosen(QueryGraph((OXYGEN, LINK, NAME), (LOW, other)), sectors(1.0), "late")
    assert plan.filters == ("low",)
    assert plan.left.left.filters == ("other",)


def test_wrong_binds_are_refused():
    bind = Extend("p", "p", frozenset({"level"}))
    for extends in (
        (bind, replace(bind, name="q")),
        (replace(bind, variable="sector"),),
        (replace(bind, inputs=frozenset({"r"})), Extend("r", "r", frozenset({"level"}))),
    ):
        with pytest.raises(QueryGraphError):
            QueryGraph((OXYGEN,), extends=extends)
    graph = QueryGraph((OXYGEN,), (JoinFilter("f", frozenset({"p"})),), extends=(bind,))
    verify(Scan("oxygen", ("p", "f")), graph)
    for filters in (("f", "p"), ("p",), ("p", "p", "f")):
        with pytest.raises(PlanError):
            verify(Scan("oxygen", filters), graph)
