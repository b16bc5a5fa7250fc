"""Look-ups by two variables in a large relation cost as in a small one: they stay near each other."""

import pytest

from adaptive.near_look_ups import near_rows
from adaptive.optimizer import optimize
from adaptive.plan import describe
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, Relation, RelationKind
from adaptive.statistics import Catalogue
from tests.adaptive.query_graphs import WINDOW, statistics

WITHOUT = PrejoinPolicy(enabled=False)
KNOWS = Relation("knows", ("a", "b"), RelationKind.STATIC)
TRIANGLE = QueryGraph(
    (Relation("now", ("a", "room"), WINDOW), Relation("range", ("b", "room"), WINDOW), KNOWS)
)


@pytest.mark.parametrize(
    ("rows", "a", "b", "near"),
    [
        (4e6, 1e3, 1e4, 400.0),  # the smaller tables
        (4e6, 1e3, 1e6, 4e3),  # too many values of b
        (4e6, 1e6, 2e6, 4e6),
        (4e6, 2e4, 1e3, 200.0),
        (6e4, 100, 100, 6e4),  # few rows are in the caches anyway
        (1e5, 5e3, 5e3, 1e5),  # too few rows a value
    ],
)
def test_among_which_rows_those_of_a_pair_are_looked_for(rows, a, b, near):
    known = statistics(rows, a=a, b=b)
    assert near_rows(KNOWS, known, ("a", "b")) == near
    assert near_rows(KNOWS, known, ("b",)) == rows
    assert near_rows(Relation("w", ("a", "b"), WINDOW), known, ("a", "b")) == near
    assert near_rows(Relation("d", ("a", "b"), RelationKind.DERIVED), known, ("a", "b")) == rows


def catalogue(crowd, known):
    return Catalogue(
        {
            "now": statistics(4e3, a=200, room=20),
            "range": statistics(crowd * 100, b=1e4, room=100),
            "knows": statistics(known * 1e3, a=1e3, b=1e4),
        }
    )


def test_the_way_with_fewer_look_ups_of_pairs_is_the_cheapest_in_the_table_too():
    for crowd, known, order in (
        (300, 8e3, "((range now) knows)"),
        (3e3, 100, "((now knows) range)"),
    ):
        found = optimize(TRIANGLE, catalogue(crowd, known), prejoin=WITHOUT)
        assert describe(found.plan) == order
    found = optimize(TRIANGLE, catalogue(1e3, 1e3), prejoin=WITHOUT)
    cache = PlanCache(TRIANGLE, catalogue(1e3, 1e3), prejoin=WITHOUT)
    assert cache.cost == pytest.approx(found.plan.cost)
    for crowd, known in ((3e3, 100), (300, 8e3), (1e3, 50), (50, 4e3)):
        now = catalogue(crowd, known)
        cache.apply({name: now[name] for name in ("range", "knows")})
        expected = optimize(TRIANGLE, now, prejoin=WITHOUT)
        assert cache.cost == pytest.approx(expected.plan.cost)
        assert cache.plan() == expected.plan
        assert cache.cost_of(expected.plan) == pytest.approx(expected.plan.cost)
        assert cache.repriced(expected.plan).cost == pytest.approx(expected.plan.cost)
