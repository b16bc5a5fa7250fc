"""The table in which joins and placed filters are searched together, and its bounds."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.bounded_pairs import MOST_PARTS, blocks, bounded_parts, pairs_among
from adaptive.enumerate import pairs_up_to
from adaptive.errors import PlanError
from adaptive.expensive_calls import FilterStatistics
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import Join, verify, walk
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import ColumnStatistics, JoinFilter, RelationStatistics
from tests.adaptive.placed_queries import placed_queries
from tests.adaptive.query_graphs import queries
from tests.adaptive.tunnels import readings, tunnel, tunnel_catalogue

PARTS = ("type", "location", "made", "result", "error")
WITHOUT = PrejoinPolicy(enabled=False)


def changed(graph, catalogue, chance):
    """Other statistics of some relations."""
    found = {}
    for relation in chance.sample(graph.relations, chance.randint(1, len(graph.relations))):
        known, factor = catalogue[relation.name], chance.choice([0.0, 0.1, 3.0, 50.0])
        found[relation.name] = RelationStatistics(
            known.rows * factor,
            {v: ColumnStatistics(c.distinct * factor) for v, c in known.columns.items()},
            chance.choice([None, 2.0, known.rows * factor]),
        )
    return found


@settings(derandomize=True, max_examples=40, deadline=None)
@given(placed_queries(max_relations=7, most=4), st.integers(0, 30))
def test_beyond_the_budget_cost_is_never_dearer_than_early_and_late(query, budget):
    graph, catalogue = query
    found = {
        how: PlacedPlanCache(graph, catalogue, budget=budget, placement=how)
        for how in ("early", "late", "cost")
    }
    for cache in found.values():
        verify(cache.plan(), graph)
        assert cache.cost == pytest.approx(cache.cost_of(cache.plan()))
    least = min(found["early"].cost, found["late"].cost)
    assert found["cost"].cost <= least * (1 + 1e-9)
    everything = PlacedPlanCache(graph, catalogue)
    assert everything.exact
    assert everything.cost <= found["cost"].cost * (1 + 1e-9)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(placed_queries(max_relations=6, most=3), st.integers(10, 60), st.integers(0, 99))
def test_beyond_the_budget_plans_stay_right_under_updates(query, budget, seed):
    graph, catalogue = query
    chance = random.Random(seed)
    cache = PlacedPlanCache(graph, catalogue, budget=budget)
    for _ in range(4):
        cache.apply(changed(graph, catalogue, chance))
        share = chance.choice([None, 0.01, 0.9])
        cache.update_filters({cache.items.items[0].name: FilterStatistics(share, 20.0)})
        plan = cache.plan()
        verify(plan, graph)
        assert cache.cost == pytest.approx(cache.cost_of(plan))
        everything = PlacedPlanCache(graph, catalogue)
        assert everything.cost <= cache.cost * (1 + 1e-9)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(placed_queries(max_relations=5, most=3))
def test_the_report_has_the_costs_of_early_late_and_chosen(query):
    graph, catalogue = query
    found = {
        how: PlacedPlanCache(graph, catalogue, placement=how) for how in ("early", "late", "cost")
    }
    for cache in found.values():
        report = cache.report(cache.plan())
        shown = (report.early_cost, report.late_cost, report.chosen_cost)
        assert shown == pytest.approx((found["early"].cost, found["late"].cost, cache.cost))
        pricing = cache.pricing
        for placed in report.filters:
            uses = [use for _, use in pricing.uses(cache.plan()) if use.item.name == placed.name]
            assert placed.cost == pytest.approx(sum(use.cost for use in uses))
            assert placed.place == "pre-joined" or len(placed.nodes) == len(uses) > 0
            if cache is found["cost"]:  # else moving one of them would have paid
                assert cache.cost <= min(placed.early_cost, placed.late_cost) * (1 + 1e-9)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(queries(max_relations=7))
def test_bounded_pairs_are_pairs_of_connected_parts(query):
    graph, _ = query
    links = frozenset(graph.members.values())
    parts = [bounded_parts(graph.adjacency, links, within) for within in graph.components()]
    pairs = pairs_among(graph.adjacency, frozenset().union(*parts), 10**6)
    known = {pair for within in graph.components() for pair in pairs_up_to(graph, within, 10**6)}
    assert set(pairs) <= known
    assert len(set(pairs)) == len(pairs)
    made = {1 << position for position in range(len(graph.relations))}
    for one, other in pairs:  # inputs precede their users, and there are no others
        assert {one, other} <= made
        made.add(one | other)
    assert set(graph.components()) <= made


def test_the_blocks_of_a_tunnel_are_its_sensors():
    graph = tunnel()
    found = blocks(graph.members.values(), graph.all_relations)
    names = {frozenset(graph.names(block)) for block in found if block & (block - 1)}
    assert {frozenset(name.split(".")[0] for name in block) for block in names} == {
        frozenset({"air1"}),
        frozenset({"air2"}),
        frozenset({"heat1"}),
        frozenset({"heat2"}),
    }


@pytest.mark.parametrize("binds", [False, True])
def test_a_query_of_four_windows_is_searched_in_a_table(binds):
    graph = tunnel(binds)
    catalogue = tunnel_catalogue(graph)
    cache = PlacedPlanCache(graph, catalogue)
    choice = cache.optimized()
    assert choice.search == "bounded"
    assert not cache.exact
    assert 0 < choice.pairs <= 10_000
    verify(choice.plan, graph)
    assert choice.cost <= min(choice.placement.early_cost, choice.placement.late_cost)
    assert "were compared" in choice.notes[0]


@pytest.mark.parametrize("sensors", [("air1", "heat1"), ("air1", "air2", "heat1", "heat2")])
def test_the_plan_with_all_filters_last_is_no_dearer_than_that_of_h4(sensors):
    graph = tunnel(sensors=sensors)
    cache = PlacedPlanCache(graph, tunnel_catalogue(graph))
    for rows in (1e3, 50.0):
        cache.apply({"air1.result": readings(graph, air1=rows)["air1.result"]})
        last = cache.rivals()[-1]
        verify(last, graph)
        assert set(last.filters) >= {f"{name}.low" for name in sensors}
        assert last.cost == pytest.approx(cache.cost_of(last))
        assert last.cost <= cache.report(cache.plan()).late_cost * (1 + 1e-9)


def test_an_update_touches_what_it_reaches():
    graph = tunnel()
    catalogue = tunnel_catalogue(graph)
    cache = PlacedPlanCache(graph, catalogue)
    everything = cache.apply(readings(graph, rows=2_000.0))
    assert not everything.rebuilt
    one = cache.apply(readings(graph, rows=2_000.0, air1=500.0))
    assert 0 < one.entries < everything.entries <= MOST_PARTS
    assert one.alternatives < everything.alternatives
    assert cache.apply({}).entries == 0
    price = cache.update_filters({"heat2.low": FilterStatistics(0.2, 3.0)})
    assert 0 < price.entries < everything.entries
    anew = PlacedPlanCache(graph, catalogue)
    assert cache.cost == pytest.approx(anew.cost)


def test_a_filter_that_links_a_row_to_a_window_is_applied_before_the_other_joins():
    graph = tunnel(call_us=1.0)
    graph = replace(
        graph,
        filters=tuple(
            replace(f, selectivity=0.001 if f.name == "air1.low" else 0.9)
            if f.name.endswith(".low")
            else f
            for f in graph.filters
        ),
    )
    cache = PlacedPlanCache(graph, tunnel_catalogue(graph, rows=20_000.0), prejoin=WITHOUT)
    plan = cache.plan()
    at = {name: node.relations for node in walk(plan) for name in node.filters}
    assert at["air1.low"] <= {f"air1.{part}" for part in PARTS}
    crossed = [node for node in walk(plan) if isinstance(node, Join) and node.method == "cross"]
    assert any(node.relations < plan.relations for node in crossed)


def test_too_many_items_are_placed_in_the_trees_of_early_and_late():
    graph = tunnel()
    more = tuple(
        JoinFilter(f"more{number}", f.variables, 0.5, price=f.price, uncertain=True)
        for number, f in enumerate(graph.filters)
        if f.price is not None
    )
    graph = replace(graph, filters=(*graph.filters, *more))
    catalogue = tunnel_catalogue(graph)
    found = {
        how: PlacedPlanCache(graph, catalogue, placement=how) for how in ("early", "late", "cost")
    }
    verify(found["cost"].plan(), graph)
    assert found["cost"].cost <= min(found["early"].cost, found["late"].cost) * (1 + 1e-9)
    with pytest.raises(PlanError):
        found["cost"].update_filters({"nothing": FilterStatistics(0.5)})
