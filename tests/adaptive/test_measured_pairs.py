import math
import random

import pytest

from adaptive.cardinality import CardinalityEstimator
from adaptive.measured_pairs import implied_by
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import QueryGraph, Relation, RelationKind
from adaptive.statistics import Catalogue
from tests.adaptive.query_graphs import statistics

WINDOW = RelationKind.WINDOW
KEY = {"element": 500.0, "reading": 500.0}


def readings():
    """Patterns over the elements of one window, each triple of 500 readings in its own graph."""
    graph = QueryGraph(
        (
            Relation("sensor", ("element", "reading", "sensor"), WINDOW),
            Relation("value", ("element", "reading", "value"), WINDOW),
            Relation("error", ("element", "reading", "value", "error"), WINDOW),
            Relation("place", ("sensor", "place"), WINDOW),
        )
    )
    known = {
        "sensor": statistics(500, **KEY, sensor=100),
        "value": statistics(500, **KEY, value=500),
        "error": statistics(500, **KEY, value=500, error=1),
        "place": statistics(100, sensor=100, place=100),
    }
    return graph, Catalogue(known)


def test_patterns_over_the_same_elements_have_as_many_rows_as_there_are():
    graph, catalogue = readings()
    for pair in (("sensor", "value"), ("sensor", "error"), ("value", "error")):
        catalogue.set_match(*pair, 500.0)
    estimator = CardinalityEstimator(graph, catalogue)
    for mask in (0b0011, 0b0101, 0b0110, 0b0111, 0b1111):
        assert estimator.unfiltered_rows(mask) == pytest.approx(500)


def test_pairs_on_different_variables_all_count():
    pairs = (("x", "y"), ("y", "z"), ("x", "z"))
    graph = QueryGraph(tuple(Relation(f"r{n}", both, WINDOW) for n, both in enumerate(pairs)))
    assert set(implied_by(graph, [(0, 1), (0, 2), (1, 2)]).values()) == {0}
    catalogue = Catalogue(
        {r.name: statistics(1_000, **dict.fromkeys(r.variables, 100)) for r in graph.relations}
    )
    before = CardinalityEstimator(graph, catalogue).unfiltered_rows(0b111)
    for pair in (("r0", "r1"), ("r0", "r2"), ("r1", "r2")):
        catalogue.set_match(*pair, 20_000.0)  # twice what is modelled
    found = CardinalityEstimator(graph, catalogue).unfiltered_rows(0b111)
    assert found == pytest.approx(8 * before)


def test_no_circle_over_the_same_variables_is_closed():
    relations = tuple(Relation(f"r{n}", ("k", f"v{n}"), WINDOW) for n in range(5))
    graph = QueryGraph(relations)
    pairs = [(low, high) for high in range(5) for low in range(high)]
    implied = implied_by(graph, pairs)
    for mask in range(1, 32):
        kept = [
            pair
            for pair, hubs in implied.items()
            if mask >> pair[0] & mask >> pair[1] & 1 and not hubs & mask
        ]
        assert len(kept) == mask.bit_count() - 1


def test_the_plan_cache_has_the_same_estimates_whatever_is_measured_when():
    graph, catalogue = readings()
    cache = PlanCache(graph, catalogue, prejoin=PrejoinPolicy(enabled=False))
    chance = random.Random(5)
    pairs = [("sensor", "value"), ("sensor", "error"), ("value", "error"), ("sensor", "place")]
    for _ in range(30):
        measured = {
            pair: chance.choice((5.0, 500.0, 9_000.0)) for pair in pairs[: chance.randrange(5)]
        }
        chance.shuffle(pairs)
        cache.apply({}, measured)
        estimator = CardinalityEstimator(graph, catalogue)
        for mask in (0b0011, 0b0101, 0b0110, 0b0111, 0b1001, 0b1011, 0b1101, 0b1111):
            expected = math.log(estimator.rows(mask))
            assert math.log(cache.estimator.rows(mask)) == pytest.approx(expected, abs=1e-9)
