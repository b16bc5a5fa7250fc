import json
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.cost_model import CostModel
from adaptive.enumerate import pairs_up_to
from adaptive.errors import PlanError
from adaptive.expensive_calls import CallPrice, FilterStatistics
from adaptive.explain import explain_choice, format_plan
from adaptive.heuristics.h4_late_uncertain_filters import without_filters
from adaptive.optimizer import optimize
from adaptive.placed_plan_cache import PlacedPlanCache, optimize_placed, place_given, plan_cache
from adaptive.placed_space import PlacedAlternatives
from adaptive.placement import placed_exactly
from adaptive.plan import Join, Scan, verify, walk
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import (
    ColumnStatistics,
    Extend,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationStatistics,
)
from adaptive.statistics import Catalogue, OperatorCounts
from tests.adaptive.placed_queries import placed_queries
from tests.adaptive.query_graphs import Q2, WINDOW, dblp, statistics

WITHOUT = PrejoinPolicy(enabled=False)


def all_trees(cache):
    """Every tree of joins over a small connected graph, without items."""
    graph = cache.items.without
    alternatives = PlacedAlternatives(cache.items, cache.estimator, CostModel(), {}, True)
    made = {1 << p: [{1 << p: alternatives.read(1 << p)}] for p in range(len(graph.relations))}
    for one, other in pairs_up_to(graph, graph.all_relations, 10**6):
        for left in made[one]:
            for right in made[other]:
                table = left | right
                for step in alternatives.joins(one, other, table):
                    made.setdefault(one | other, []).append(table | {one | other: step})
    for table in made[graph.all_relations]:
        yield alternatives.plan(graph.all_relations, table)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(placed_queries(max_relations=6, most=4))
def test_cost_is_never_dearer_than_the_best_early_and_late_plans(query):
    graph, catalogue = query
    found = {
        how: PlacedPlanCache(graph, catalogue, placement=how) for how in ("early", "late", "cost")
    }
    for cache in found.values():
        plan = cache.plan()
        verify(plan, graph)
        assert cache.cost == pytest.approx(cache.cost_of(plan))
    least = min(found["early"].cost, found["late"].cost)
    assert found["cost"].cost <= least * (1 + 1e-9)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(placed_queries(max_relations=3, most=3))
def test_no_other_order_and_placement_is_cheaper(query):
    graph, catalogue = query
    cache = PlacedPlanCache(graph, catalogue, prejoin=WITHOUT)
    pricing = cache.pricing
    best = min(pricing.price(placed_exactly(tree, pricing)).cost for tree in all_trees(cache))
    assert cache.cost == pytest.approx(best)


@settings(derandomize=True, max_examples=25, deadline=None)
@given(placed_queries(max_relations=5), st.integers(0, 99))
def test_after_updates_the_cache_is_as_one_made_anew(query, seed):
    graph, catalogue = query
    chance = random.Random(seed)
    cache = PlacedPlanCache(graph, catalogue)
    names = [relation.name for relation in graph.relations]
    for _ in range(5):
        changed = {}
        for name in chance.sample(names, chance.randint(0, len(names))):
            known, factor = catalogue[name], chance.choice([0.0, 0.1, 3.0, 50.0])
            changed[name] = RelationStatistics(
                known.rows * factor,
                {v: ColumnStatistics(c.distinct * factor) for v, c in known.columns.items()},
                chance.choice([None, 2.0, known.rows * factor]),
            )
        cache.apply(changed)
        cache.update_filters(
            {
                item.name: FilterStatistics(
                    chance.choice([None, 0.01, 0.5, 1.0]), chance.choice([None, 0.0, 300.0])
                )
                for item in cache.items.items
                if chance.random() < 0.5
            }
        )
        anew = PlacedPlanCache(graph, catalogue)
        assert cache.plan() == anew.plan()
        assert cache.cost == pytest.approx(anew.cost)


def test_without_expensive_filters_nothing_is_different():
    plain = plan_cache(Q2, dblp())
    assert type(plain) is PlanCache
    assert optimize_placed(Q2, dblp()) == optimize(Q2, dblp())
    assert optimize(Q2, dblp()).placement is None


# The follow-up experiment of the uncertainty paper (Figure 3): two windows of 1,000 events each, an
# uncertainty filter on the first, and a join in which an event meets so many others.


def figure_3(fan_out, selectivity, price, cached=True):
    # 1,000 events in the second window; the links of the first lead to one of these, or nowhere.
    rows = 1_000.0
    graph = QueryGraph(
        (
            Relation("events1", ("event", "link", "value"), WINDOW),
            Relation("events2", ("link", "value2"), WINDOW),
        ),
        (
            JoinFilter(
                "below",
                frozenset({"value"}),
                selectivity,
                price=CallPrice(price, cached=cached),
                uncertain=True,
            ),
        ),
    )
    catalogue = Catalogue(
        {
            "events1": statistics(rows, event=rows, link=rows, value=rows),
            "events2": statistics(rows * max(fan_out, 1.0), link=rows, value2=rows),
        }
    )
    catalogue.set_match("events1", "events2", rows * fan_out)
    caches = {
        how: PlacedPlanCache(graph, catalogue, placement=how) for how in ("early", "late", "cost")
    }
    return {how: cache.cost for how, cache in caches.items()}, caches["cost"].plan()


def place_of(plan):
    return "late" if plan.filters else "early"


@pytest.mark.parametrize("price", [1.0, 100.0])
def test_the_crossover_of_the_follow_up_experiment(price):
    winners = {}
    for fan_out in (0.01, 0.1, 1.0, 10.0, 100.0):
        for tenth in range(11):
            costs, plan = figure_3(fan_out, tenth / 10, price)
            assert costs["cost"] == pytest.approx(min(costs["early"], costs["late"]), rel=1e-6)
            winners[fan_out, tenth] = place_of(plan)
    # Where the join trims the rows, late wins; where it fans out, early does.
    assert {winners[0.01, tenth] for tenth in range(11)} == {"late"}
    assert {winners[0.1, tenth] for tenth in range(11)} == {"late"}
    for fan_out in (10.0, 100.0):
        assert {winners[fan_out, tenth] for tenth in range(10)} == {"early"}
    # One to one, the more selective filters come first, if any.
    assert winners[1.0, 0] == "early"


def test_late_calls_outweigh_the_join_only_without_a_cache():
    cached, _ = figure_3(100.0, 1.0, 100.0)
    uncached, _ = figure_3(100.0, 1.0, 100.0, cached=False)
    assert cached["late"] < 1.5 * cached["early"]
    assert uncached["late"] > 20 * uncached["early"]


OXYGEN = Relation("oxygen", ("sector", "level"), WINDOW)
TEMPERATURE = Relation("temperature", ("sector", "degrees"), WINDOW)
LOW = JoinFilter("low", frozenset({"level"}), 0.5, price=CallPrice(20.0), uncertain=True)
LISTING_2 = QueryGraph((OXYGEN, TEMPERATURE), (LOW,))


def windows(warm):
    return Catalogue(
        {
            "oxygen": statistics(1_000, sector=1_000, level=1_000),
            "temperature": statistics(warm, sector=warm, degrees=warm),
        }
    )


def test_the_report_says_where_everything_is_and_what_it_would_cost_elsewhere():
    cache = PlacedPlanCache(LISTING_2, windows(20.0))
    choice = cache.optimized()
    report = choice.placement
    assert report.chosen_cost == choice.cost == cache.cost
    assert report.late_cost == pytest.approx(choice.cost)
    assert report.early_cost > 10 * report.late_cost
    (low,) = report.filters
    assert (low.name, low.kind, low.place, low.call_us) == ("low", "filter", "late", 20.0)
    assert low.nodes == (frozenset({"oxygen", "temperature"}),)
    assert low.calls == pytest.approx(20.0)
    assert low.late_cost == report.chosen_cost
    assert low.early_cost > low.late_cost
    tree = explain_choice(choice)
    assert json.loads(json.dumps(tree)) == tree
    shown = tree["placement"]
    assert shown["filters"][0]["nodes"] == ["oxygen+temperature"]
    assert shown["filters"][0]["chosen_cost"] == shown["chosen_cost"] == tree["cost"]
    text = format_plan(tree)
    assert "filters placed by cost: " in text
    assert "filter low after oxygen+temperature (late): ~20 rows, 20 calls of 20 us" in text


def test_a_kept_plan_is_explained_with_the_costs_of_now():
    cache = PlacedPlanCache(LISTING_2, windows(20.0))
    old = cache.plan()
    cache.update_filters({"low": FilterStatistics(0.01, 0.0)})
    cache.apply({"temperature": statistics(50_000, sector=1_000, degrees=50_000)})
    kept = cache.explained(old)
    assert kept.plan == old
    assert kept.cost == cache.cost_of(old) == kept.placement.chosen_cost
    assert kept.considered[0].plan == cache.plan() != old
    assert kept.placement.filters[0].early_cost < kept.cost
    assert kept.placement.early_cost == pytest.approx(cache.cost)


def test_a_price_alone_changes_the_place():
    cache = PlacedPlanCache(LISTING_2, windows(900.0))
    cache.update_filters({"low": FilterStatistics(0.0, 0.001)})
    first = cache.plan()
    touched = cache.update_filters({"low": FilterStatistics(0.0, 500.0)})
    assert not touched.rebuilt
    assert cache.plan() != first
    assert cache.plan().filters == ("low",)


def test_a_static_filter_is_applied_once_inside_a_pre_join():
    filters = (*Q2.filters, JoinFilter("dear", frozenset({"person1", "paper"}), 0.1))
    dear = replace(filters[-1], price=CallPrice(1_000.0), uncertain=True)
    cache = PlacedPlanCache(replace(Q2, filters=(*Q2.filters, dear)), dblp())
    plan = cache.plan()
    assert any("dear" in n.filters and not n.children and len(n.relations) > 1 for n in walk(plan))
    (shown,) = cache.report(plan).filters
    assert (shown.place, shown.cost) == ("pre-joined", 0.0)


def test_items_are_placed_in_a_given_order():
    given = Join(Scan("oxygen"), Scan("temperature"), ("sector",), "hash")
    for warm, place in ((20.0, "late"), (50_000.0, "early")):
        placed = place_given(given, LISTING_2, windows(warm))
        assert without_filters(placed, frozenset({"low"})) == given
        assert placed.filters == (("low",) if place == "late" else ())
        assert place_given(placed, LISTING_2, windows(warm), placement="early").left.filters
    plain = replace(LISTING_2, filters=())
    assert place_given(given, plain, windows(20.0)) is given


def test_what_a_bind_reads_is_kept_by_pre_joined_parts():
    bind = Extend("p", "p", frozenset({"paper"}), CallPrice(1.0))
    graph = replace(Q2, extends=(bind,))
    assert "paper" in graph.needed_outside(graph.mask(["creator1", "creator2"]))
    plan = PlacedPlanCache(graph, dblp()).plan()
    verify(plan, graph)
    for node in walk(plan):
        if {"creator1", "creator2"} <= node.relations and not node.children:
            assert "paper" in node.variables


def test_unknown_names_and_placements_are_errors():
    with pytest.raises(PlanError):
        PlacedPlanCache(LISTING_2, windows(10.0), placement="first")
    cache = PlacedPlanCache(LISTING_2, windows(10.0))
    with pytest.raises(PlanError):
        cache.update_filters({"high": FilterStatistics(0.5)})
    with pytest.raises(PlanError):
        cache.cost_of(PlanCache(cache.items.without, windows(10.0)).plan())


def test_counts_correct_joins_here_as_in_other_caches():
    cache = PlacedPlanCache(LISTING_2, windows(20.0))
    both = frozenset({"oxygen", "temperature"})
    before = cache.expected_rows(cache.plan())[both]
    cache.apply({}, observed=[OperatorCounts(both, before, 8 * before)])
    after = cache.expected_rows(cache.plan())[both]
    assert math.log(after / before) == pytest.approx(math.log(8), rel=0.1)
