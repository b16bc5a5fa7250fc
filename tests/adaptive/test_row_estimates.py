import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.cardinality import CardinalityEstimator, log_match, log_matches
from adaptive.plan_cache import PlanCache
from adaptive.query_graph import (
    ColumnStatistics,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationStatistics,
)
from adaptive.statistics import Catalogue
from tests.adaptive.query_graphs import STATIC, WINDOW, clique, queries, statistics
from tests.adaptive.random_updates import random_update


@settings(derandomize=True, max_examples=120, deadline=None)
@given(queries(max_relations=7, connected=False), st.integers(0, 10**6).map(random.Random))
def test_the_arrays_have_what_the_estimator_has(query, chance):
    graph, catalogue = query
    cache = PlanCache(graph, catalogue)
    for _ in range(4):
        cache.apply(*random_update(chance, cache))
        estimator = CardinalityEstimator(graph, catalogue)
        known = cache._known_rows
        for mask in range(1, graph.all_relations + 1):
            for ours, its in (
                (known.rows(mask), estimator.rows(mask)),
                (known.unfiltered_rows(mask), estimator.unfiltered_rows(mask)),
                (known.modelled_rows(mask), estimator.modelled_rows(mask)),
                (known.share(known.decided(mask)), estimator.share(estimator.decided(mask))),
            ):
                assert ours == pytest.approx(its, rel=1e-9)


def column(chance, rows):
    listed = chance.sample(range(1, 8), chance.randint(0, 5))
    top = tuple((term, int(rows * chance.random() / 4)) for term in listed)
    return ColumnStatistics(max(1.0, rows * chance.random()), top)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6).map(random.Random))
def test_matching_many_selections_together_is_matching_each(size, chance):
    rows = [chance.choice([0.0, 4.0, 100.0, 1e4]) for _ in range(size)]
    columns = [column(chance, n) for n in rows]
    chosen = [
        [place for place in range(size) if selection >> place & 1]
        for selection in range(1, 1 << size)
    ]
    chosen = [places for places in chosen if sum(bool(columns[p].top) for p in places) >= 2]
    if not chosen:
        return
    lines = np.array([[place in places for place in range(size)] for places in chosen])
    together = log_matches(columns, rows, lines)
    for places, match in zip(chosen, together, strict=True):
        one = log_match([columns[p] for p in places], [rows[p] for p in places])
        assert match == pytest.approx(one, rel=1e-9, abs=1e-9)


def test_frequent_values_in_many_parts_are_matched_value_by_value():
    # Seven relations on one variable: enough parts for the quick way.
    graph = clique(7)
    top = ((1, 400), (2, 300))
    catalogue = Catalogue(
        {
            r.name: RelationStatistics(
                1_000, {"v": ColumnStatistics(100, top), r.variables[1]: ColumnStatistics(100)}
            )
            for r in graph.relations
        }
    )
    cache = PlanCache(graph, catalogue)
    moved = RelationStatistics(1_000, {"v": ColumnStatistics(100, ((1, 10), (9, 900)))})
    cache.apply({"r3": moved})
    estimator = CardinalityEstimator(graph, catalogue)
    for mask in range(1, graph.all_relations + 1):
        assert cache._known_rows.rows(mask) == pytest.approx(estimator.rows(mask), rel=1e-9)
    assert estimator.rows(0b11) > 5 * estimator.rows(0b1001)  # r3 is frequent elsewhere


def test_a_pre_join_on_the_limit_is_decided_alike():
    # Exactly 100,000 rows, up to rounding, where the policy says "at most 100,000".
    graph = QueryGraph(
        (
            Relation("now", ("x", "y"), WINDOW),
            Relation("a", ("x", "k"), STATIC),
            Relation("b", ("k", "y"), STATIC),
        ),
        (JoinFilter("f", frozenset("y"), 0.5),),
    )
    for divisor in (3.0, 7.0, 10.0, 49.0, math.pi):
        known = {
            "now": statistics(10, x=10, y=10),
            "a": statistics(2_000, x=2_000, k=divisor),
            "b": statistics(100.0 * divisor, y=50, k=1.0),
        }
        cache = PlanCache(graph, Catalogue(known))
        allowed = cache._allowed
        cache.apply({"b": statistics(99.0 * divisor, y=50, k=1.0)})
        touched = cache.apply({"b": known["b"]})
        assert not touched.rebuilt
        assert cache._allowed == allowed == (0b110,)


def test_pairs_that_are_forgotten_and_measured_again_in_another_order_keep_their_parts():
    graph = QueryGraph(tuple(Relation(name, ("x",), WINDOW) for name in "abcd"))
    rows = {
        r.name: RelationStatistics(100.0, {"x": ColumnStatistics(10.0)}) for r in graph.relations
    }
    catalogue = Catalogue(rows)
    cache = PlanCache(graph, catalogue)
    measured = [("a", "b", 3.0), ("c", "d", 5e5)]
    for rows, pairs in (100.0, measured), (110.0, measured[::-1]):
        for left, right, _ in pairs:
            catalogue.set_match(left, right, None)
        for left, right, found in pairs:
            catalogue.set_match(left, right, found)
        cache.apply({})
        catalogue.observe("a", rows)
        cache.apply({"a": catalogue["a"]})
    estimator = CardinalityEstimator(graph, catalogue)
    for mask in range(1, graph.all_relations + 1):
        assert cache._known_rows.rows(mask) == pytest.approx(estimator.rows(mask), rel=1e-9)
