"""Plans that differ from a given one in what they have before what: of the same query, and the other way is tried."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.plan import Join, verify, walk
from adaptive.plan_cache import PlanCache
from adaptive.plan_families import dearest_order, flipped, last_streamed, small_changes
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, Relation, RelationKind
from adaptive.statistics import Catalogue
from adaptive.switching import SwitchPolicy
from tests.adaptive.query_graphs import WINDOW, queries, statistics


@settings(derandomize=True, max_examples=60, deadline=None)
@given(queries(connected=True))
def test_small_changes_are_plans_of_the_same_query(query):
    graph, catalogue = query
    cache = PlanCache(graph, catalogue, prejoin=PrejoinPolicy(enabled=False))
    plan = cache.plan()
    names = [relation.name for relation in graph.relations]
    for first, then in small_changes(plan):
        assert first | then <= set(names)
        assert not first & then
        other = cache.otherwise(first, then)
        if other is not None:
            verify(other, graph)
    if (other := last_streamed(plan)) is not None:
        verify(other, graph)
        assert other.left == plan.right
        assert cache.cost_of(other) >= cache.cost * (1 - 1e-9)
    other = flipped(plan, graph)
    if other is not None:
        verify(other, graph)
        assert other != plan
        assert flipped(other, graph) == plan
        assert cache.cost_of(other) >= cache.cost * (1 - 1e-9)


FIGURE_3 = QueryGraph(
    (
        Relation("now", ("a", "room"), WINDOW),
        Relation("range", ("b", "room"), WINDOW),
        Relation("knows", ("a", "b"), RelationKind.STATIC),
        Relation("name", ("b",), RelationKind.STATIC),
        Relation("label", ("room",), RelationKind.STATIC),
    )
)


def figure_3():
    """Each way makes 400,000 rows of 4,000: by whom one knows, or by who is in the room.

    Names and labels come last in either, so that most plans of about the same cost go the same way.
    """
    return Catalogue(
        {
            "now": statistics(4e3, a=200, room=40),
            "range": statistics(6e4, b=3e3, room=600),
            "knows": statistics(6e4, a=600, b=3e3),
            "name": statistics(1e4, b=1e4),
            "label": statistics(1e3, room=1e3),
        }
    )


def test_the_other_way_at_the_dearest_join_is_tried():
    policy = SwitchPolicy(prepare_cost=5_000.0, switch_cost=50.0, trials=1)
    follower = PlanFollower(
        FIGURE_3, figure_3(), prejoin=PrejoinPolicy(enabled=False), policy=policy
    )
    first = follower.current
    added, _ = dearest_order(first)
    for _ in range(40):
        decision = follower.observe({})
        if decision.kind == "prepare":
            follower.prepared(decision.plan, 0.005)
        elif decision.kind == "switch":
            follower.switched(decision.plan, 0.0)
        current = follower.current
        slow = 1.5 if dearest_order(follower.cache.repriced(current))[0] == added else 1.0
        follower.executed((), slow * follower.cache.cost_of(current) / 1e6)
    assert dearest_order(follower.cache.repriced(follower.current))[0] != added
    assert len(follower.history) <= 3


@settings(derandomize=True, max_examples=60, deadline=None)
@given(queries(connected=True), st.randoms())
def test_a_plan_that_goes_otherwise_keeps_relations_for_later(query, chance):
    graph, catalogue = query
    cache = PlanCache(graph, catalogue, prejoin=PrejoinPolicy(enabled=False))
    names = [relation.name for relation in graph.relations]
    if len(names) < 2:
        return
    first, then = chance.sample(names, 2)
    plan = cache.otherwise([first], [then])
    joined = [node.relations for node in walk(cache.plan()) if isinstance(node, Join)]
    if plan is None:
        assert any(first in part and then not in part for part in joined) or not cache.exact
        return
    verify(plan, graph)
    for node in walk(plan):
        if isinstance(node, Join):
            assert first not in node.relations or then in node.relations
    assert cache.cost_of(plan) >= cache.cost * (1 - 1e-9)
    if not any(first in part and then not in part for part in joined):
        assert cache.cost_of(plan) == pytest.approx(cache.cost)
