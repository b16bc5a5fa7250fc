import json
from dataclasses import replace

import pytest
from hypothesis import given, settings

from adaptive.cost_model import CostModel
from adaptive.errors import PlanError, SearchError
from adaptive.explain import explain_choice, format_plan
from adaptive.graph.expensive_calls import CallCost
from adaptive.graph.plan import Join, Scan, verify, walk
from adaptive.graph.query_graph import Extend, JoinFilter, QueryGraph, Relation
from adaptive.heuristics.h4_late_uncertain_filters import without_filters
from adaptive.search.optimizer import optimize
from adaptive.search.placed_items import PlacedItems
from adaptive.search.placed_search import optimize_placed, place_given
from adaptive.search.placement_costs import PlacementCosts
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.placed_queries import placed_queries
from tests.adaptive.query_graphs import Q2, WINDOW, dblp, statistics

PLACEMENTS = ("early", "late", "cost")


@settings(derandomize=True, max_examples=40, deadline=None)
@given(placed_queries(max_relations=6, most=4))
def test_cost_is_never_dearer_than_the_best_early_and_late_plans(query):
    graph, catalogue = query
    items = PlacedItems(graph)
    estimator = CardinalityEstimator(items.without, catalogue)
    pricing = PlacementCosts(items, estimator, CostModel(), catalogue)
    found = {how: optimize_placed(graph, catalogue, placement=how) for how in PLACEMENTS}
    for choice in found.values():
        verify(choice.plan, graph)
        assert choice.cost == pytest.approx(pricing.price(choice.plan).cost)
        assert choice.placement.early_cost == found["early"].cost
        assert choice.placement.late_cost == found["late"].cost
    least = min(found["early"].cost, found["late"].cost)
    assert found["cost"].cost <= least * (1 + 1e-9)


@settings(derandomize=True, max_examples=20, deadline=None)
@given(placed_queries(max_relations=5, most=2))
def test_beyond_the_budget_orders_are_searched_greedily(query):
    graph, catalogue = query
    found = {how: optimize_placed(graph, catalogue, None, None, how, 0) for how in PLACEMENTS}
    for choice in found.values():
        verify(choice.plan, graph)
    assert found["cost"].cost <= min(found["early"].cost, found["late"].cost) * (1 + 1e-9)


def test_without_expensive_filters_nothing_is_different():
    assert optimize_placed(Q2, dblp()) == optimize(Q2, dblp())
    assert optimize(Q2, dblp()).placement is None


# The follow-up experiment of the uncertainty paper (Figure 3): two windows of 1,000 events each, an
# uncertainty filter on the first, and a join in which an event meets so many others.


def figure_3(fan_out, selectivity, price, cached=True):
    # The links of 1,000 events in the first window lead to as many in the second, on average, or to nowhere.
    rows = 1_000.0
    linked = rows * min(fan_out, 1.0)
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
                call_cost=CallCost(price, cached=cached),
                uncertain=True,
            ),
        ),
    )
    catalogue = Catalogue(
        {
            "events1": statistics(rows, event=rows, link=rows, value=rows),
            "events2": statistics(rows * fan_out, link=linked, value2=linked),
        }
    )
    found = {how: optimize_placed(graph, catalogue, placement=how) for how in PLACEMENTS}
    return {how: choice.cost for how, choice in found.items()}, found["cost"].plan


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
LOW = JoinFilter("low", frozenset({"level"}), 0.5, call_cost=CallCost(20.0), uncertain=True)
LISTING_2 = QueryGraph((OXYGEN, TEMPERATURE), (LOW,))


def windows(warm):
    return Catalogue(
        {
            "oxygen": statistics(1_000, sector=1_000, level=1_000),
            "temperature": statistics(warm, sector=warm, degrees=warm),
        }
    )


def test_the_report_says_where_everything_is_and_what_it_would_cost_elsewhere():
    choice = optimize_placed(LISTING_2, windows(20.0))
    report = choice.placement
    assert report.chosen_cost == choice.cost
    assert [rival.label for rival in choice.considered] == ["filters early"]
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


def test_a_static_filter_is_applied_once_inside_a_pre_join():
    filters = (*Q2.filters, JoinFilter("expensive", frozenset({"person1", "paper"}), 0.1))
    expensive = replace(filters[-1], call_cost=CallCost(1_000.0), uncertain=True)
    choice = optimize_placed(replace(Q2, filters=(*Q2.filters, expensive)), dblp())
    plan = choice.plan
    assert any(
        "expensive" in n.filters and not n.children and len(n.relations) > 1 for n in walk(plan)
    )
    (shown,) = choice.placement.filters
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
    bind = Extend("p", "p", frozenset({"paper"}), CallCost(1.0))
    graph = replace(Q2, extends=(bind,))
    assert "paper" in graph.needed_outside(graph.mask(["creator1", "creator2"]))
    plan = optimize_placed(graph, dblp()).plan
    verify(plan, graph)
    for node in walk(plan):
        if {"creator1", "creator2"} <= node.relations and not node.children:
            assert "paper" in node.variables


def test_unknown_placements_and_negative_budgets_are_errors():
    with pytest.raises(PlanError, match="'first'"):
        optimize_placed(LISTING_2, windows(10.0), placement="first")
    with pytest.raises(SearchError, match="at least 0 pairs"):
        optimize_placed(LISTING_2, windows(10.0), budget=-1)
