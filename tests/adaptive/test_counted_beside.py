"""What plans count that run beside evaluations, and what is learned from it."""

import pytest

from adaptive.expensive_calls import CallPrice
from adaptive.placement import place
from adaptive.plan import Join, walk
from adaptive.plan_follower import PlanFollower
from adaptive.query_graph import JoinFilter, QueryGraph
from adaptive.statistics import OperatorCounts
from tests.adaptive.test_plan_follower import GRAPH, WITHOUT, catalogue


def off(follower, plan, factor):
    """What the operators of a plan count where its first join gives so many times the rows expected."""
    expected = follower.cache.expected_rows(plan)
    first = plan.left.left.relations
    return [OperatorCounts(first, expected[first], factor * expected[first])]


def test_a_plan_that_seemed_the_cheapest_is_known_to_be_dear_once_it_was_run_beside():
    """It never serves, so no evaluation counts its rows."""
    follower = PlanFollower(GRAPH, catalogue(), None, WITHOUT)
    cheapest = follower.cache.plan()
    follower.counted_beside(cheapest, off(follower, cheapest, 1e5))
    follower.observe({})
    assert follower.cache.plan().left.left.relations != cheapest.left.left.relations
    assert follower.cache.cost_of(cheapest) > 4 * follower.cache.cost


@pytest.mark.parametrize("factor, learns", [(1.4, False), (0.5, True), (1.6, True)])
def test_what_is_counted_beside_is_learned_where_it_is_far_off(factor, learns):
    follower = PlanFollower(GRAPH, catalogue(), None, WITHOUT)
    plan = follower.current
    follower.counted_beside(plan, off(follower, plan, factor))
    assert bool(follower.cache.catalogue.corrections.in_use()) == learns


def test_nothing_is_learned_beside_from_rows_that_an_expensive_filter_has_thinned_out():
    filtered = JoinFilter("low", frozenset("x"), price=CallPrice(1.0), uncertain=True)
    graph = QueryGraph(GRAPH.relations, (filtered,))
    follower = PlanFollower(graph, catalogue(), None, WITHOUT)
    early, late = (place(follower.current, follower.cache.pricing, p) for p in ("early", "late"))
    for plan in (early, late):
        joins = [node for node in walk(plan) if isinstance(node, Join)]
        follower.counted_beside(plan, [OperatorCounts(j.relations, 1.0, 1e9) for j in joins])
        learned = set(follower.cache.catalogue.corrections.in_use())
        assert bool(learned) == (plan is late)
        assert learned <= {join.relations for join in joins if not join.filters}
