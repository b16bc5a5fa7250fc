import math
from collections.abc import Callable

import pytest

from adaptive.linked_counts import linked_counts
from adaptive.plan import Join, PlanNode, Scan, describe
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, Relation, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from tests.adaptive.query_graphs import STATIC, WINDOW, statistics

# Two triangles that share a: (now, near, knows) and (asks, about, likes).
GRAPH = QueryGraph(
    (
        Relation("now", ("a", "room"), WINDOW),
        Relation("near", ("b", "room"), WINDOW),
        Relation("knows", ("a", "b"), STATIC),
        Relation("asks", ("a", "topic"), WINDOW),
        Relation("about", ("thing", "topic"), WINDOW),
        Relation("likes", ("a", "thing"), STATIC),
    )
)
TRIANGLE = frozenset({"asks", "about", "likes"})


def known() -> dict[str, RelationStatistics]:
    return {
        "now": statistics(1e3, a=200, room=20),
        "near": statistics(4e3, b=2e3, room=20),
        "knows": statistics(1e5, a=200, b=2e3),
        "asks": statistics(1e3, a=200, topic=20),
        "about": statistics(4e3, thing=2e3, topic=20),
        "likes": statistics(1e5, a=200, thing=2e3),
    }


def joined(left: PlanNode, name: str, *on: str, filters: tuple[str, ...] = ()) -> Join:
    return Join(left, Scan(name), on, "index", filters)


FIRST = joined(joined(Scan("now"), "near", "room"), "knows", "a", "b")
THEN = joined(joined(FIRST, "asks", "a"), "about", "topic")
PLAN = joined(THEN, "likes", "a", "thing")


def told(
    plan: PlanNode,
    counted: dict[PlanNode, float],
    modelled: Callable[[frozenset[str]], float] = lambda _: 90.0,
) -> dict[frozenset[str], float]:
    """Actual rows by set, where every set is expected to have 60 rows."""
    rows = {node.relations: actual for node, actual in counted.items()}
    found = list(linked_counts(GRAPH, plan, rows, lambda _: 60.0, modelled))
    assert all(count.estimated == 60.0 for count in found)
    return {count.relations: count.actual for count in found}


def test_closing_a_cycle_tells_of_that_cycle_alone() -> None:
    # FIRST was counted by itself, {asks, about} is a pair.
    assert told(PLAN, {FIRST: 50.0, THEN: 400.0, PLAN: 200.0}) == {TRIANGLE: 30.0}
    assert told(PLAN, {FIRST: 50.0, THEN: 400.0, PLAN: 0.0}) == {TRIANGLE: 0.0}


def test_what_was_joined_before_may_have_left_those_that_find_partners() -> None:
    """The model has four partners for each row of THEN, as `now` has left those who ask, and one elsewhere."""

    def modelled(relations: frozenset[str]) -> float:
        return 4.0 * 70.0 if relations == PLAN.relations else 70.0

    counted = {FIRST: 50.0, THEN: 400.0, PLAN: 200.0}
    assert told(PLAN, counted, modelled) == {TRIANGLE: pytest.approx(30.0 / 4.0)}


def test_nothing_is_told_where_that_is_no_news_or_not_known() -> None:
    assert told(PLAN, {PLAN: 200.0}) == {}
    assert told(PLAN, {THEN: 9.0, PLAN: 200.0}) == {}
    assert told(FIRST, {FIRST.left: 90.0, FIRST: 50.0}) == {}
    filtering = joined(THEN, "likes", "a", "thing", filters=("some",))
    assert told(filtering, {THEN: 400.0, filtering: 200.0}) == {}


def test_the_relation_that_closes_a_cycle_may_stand_on_either_side() -> None:
    turned = Join(Scan("likes"), THEN, ("a", "thing"), "hash")
    assert told(turned, {FIRST: 50.0, THEN: 400.0, turned: 200.0}) == {TRIANGLE: 30.0}


def test_a_plan_that_never_ran_is_priced_by_what_others_counted_of_its_joins() -> None:
    catalogue = Catalogue(known())
    follower = PlanFollower(GRAPH, catalogue, prejoin=PrejoinPolicy(enabled=False), initial=PLAN)
    follower.observe({})
    expected = follower.cache.expected_rows(PLAN)
    rows = {part: expected[part] for part in expected if len(part) > 1}
    # The second triangle is hardly ever closed: conditions that exclude each other.
    rows[PLAN.relations] = expected[PLAN.relations] / 1_000.0
    other = joined(joined(Scan("asks"), "about", "topic"), "likes", "a", "thing")
    other = joined(joined(joined(other, "now", "a"), "near", "room"), "knows", "a", "b")
    before, cost = follower.cache.expected_rows(other)[TRIANGLE], follower.cache.cost_of(other)
    follower.executed([OperatorCounts(part, 1.0, actual) for part, actual in rows.items()])
    follower.observe({})
    after = follower.cache.expected_rows(other)[TRIANGLE]
    assert math.log(before / after) == pytest.approx(math.log(1_000.0), rel=0.05), describe(other)
    assert follower.cache.cost_of(other) < cost
