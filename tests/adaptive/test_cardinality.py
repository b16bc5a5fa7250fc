import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.errors import StatisticsError
from adaptive.graph.query_graph import (
    ColumnStatistics,
    FilterKind,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationStatistics,
)
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.query_graphs import Q2, Q3, STATIC, dblp, queries, statistics


def test_two_relations_divide_by_the_larger_distinct_count():
    estimator = CardinalityEstimator(Q2, dblp())
    assert estimator.rows(Q2.mask(["now", "w30"])) == pytest.approx(
        1_000 * 5_000 / 100 * (1 - 1 / 4_900)
    )
    assert estimator.rows(Q2.mask(["now", "name1"])) == pytest.approx(1_000)


def test_citing_pairs_of_q3():
    estimator = CardinalityEstimator(Q3, dblp())
    pairs = estimator.unfiltered_rows(Q3.mask(["creator1", "refs", "creator2"]))
    assert pairs == pytest.approx(3e6 * (8 / 3) ** 2)


def test_many_relations_on_one_variable_divide_by_all_but_the_smallest():
    graph = QueryGraph(tuple(Relation(name, ("x",), STATIC) for name in "abc"))
    catalogue = Catalogue(
        {"a": statistics(100, x=10), "b": statistics(200, x=50), "c": statistics(300, x=20)}
    )
    assert CardinalityEstimator(graph, catalogue).rows(0b111) == pytest.approx(
        100 * 200 * 300 / (50 * 20)
    )


@settings(derandomize=True, max_examples=150, deadline=None)
@given(queries(max_relations=6, connected=False), st.randoms(use_true_random=False))
def test_estimates_do_not_depend_on_the_order_of_relations_or_questions(query, chance):
    graph, catalogue = query
    shuffled = list(graph.relations)
    chance.shuffle(shuffled)
    other = QueryGraph(tuple(shuffled), graph.filters, graph.output)
    one, two = CardinalityEstimator(graph, catalogue), CardinalityEstimator(other, catalogue)
    masks = list(range(1, graph.all_relations + 1))
    chance.shuffle(masks)
    for mask in masks:
        rows = one.rows(mask)
        assert math.isfinite(rows)
        assert rows >= 0
        assert two.rows(other.mask(graph.names(mask))) == pytest.approx(rows, rel=1e-9)
        for variable in graph.variables(mask):
            assert 0 <= one.distinct(mask, variable) <= rows
        assert 0 <= one.distinct_rows(mask, sorted(graph.variables(mask))) <= rows
    for mask in masks:
        assert CardinalityEstimator(graph, catalogue).rows(mask) == one.rows(mask)


def test_many_large_relations_stay_finite():
    graph = QueryGraph(tuple(Relation(f"r{i}", (f"v{i}",), STATIC) for i in range(60)))
    catalogue = Catalogue({r.name: statistics(1e9) for r in graph.relations})
    assert math.isfinite(CardinalityEstimator(graph, catalogue).rows(graph.all_relations))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1), st.lists(st.integers(1, 9), min_size=1))
def test_fully_listed_columns_give_the_exact_join_size(left, right):
    graph = QueryGraph((Relation("l", ("x",), STATIC), Relation("r", ("x",), STATIC)))
    known = {
        name: RelationStatistics(
            len(values), {"x": ColumnStatistics(len(set(values)), tuple(Counter(values).items()))}
        )
        for name, values in (("l", left), ("r", right))
    }
    exact = sum(left.count(value) for value in right)
    assert CardinalityEstimator(graph, Catalogue(known)).rows(0b11) == pytest.approx(exact)


def test_a_value_frequent_on_one_side_may_be_missing_from_a_small_other_side():
    graph = QueryGraph((Relation("l", ("x",), STATIC), Relation("r", ("x",), STATIC)))
    known = {
        "l": RelationStatistics(1_000, {"x": ColumnStatistics(101, ((7, 600),))}),
        "r": RelationStatistics(100, {"x": ColumnStatistics(11, ((8, 50),))}),
    }
    # 7 is among the 10 other values of r with chance 1/10; 8 is surely among the 100 of l.
    only_l, only_r = 600 * 5 * 0.1, 4 * 50
    others = 10 * 4 * 5
    rows = CardinalityEstimator(graph, Catalogue(known)).rows(0b11)
    assert rows == pytest.approx(only_l + only_r + others)


def test_top_values_correct_what_uniformity_gets_wrong():
    chance = random.Random(5)
    values = [int(chance.paretovariate(0.6)) % 5_000 for _ in range(20_000)]
    counts = Counter(values)
    exact = sum(count * count for count in counts.values())
    graph = QueryGraph((Relation("l", ("x",), STATIC), Relation("r", ("x",), STATIC)))

    def error(top):
        column = ColumnStatistics(len(counts), tuple(counts.most_common(top)))
        known = RelationStatistics(len(values), {"x": column})
        rows = CardinalityEstimator(graph, Catalogue({"l": known, "r": known})).rows(0b11)
        return max(rows / exact, exact / rows)

    assert error(0) > 10
    assert error(50) < 1.1


@pytest.mark.parametrize(
    ("kind", "share"),
    [(FilterKind.EQUAL, 0.01), (FilterKind.NOT_EQUAL, 0.99), (FilterKind.RANGE, 1 / 3)],
)
def test_filters_without_a_measured_selectivity_are_guessed_by_kind(kind, share):
    graph = QueryGraph(
        (Relation("a", ("x", "y"), STATIC),), (JoinFilter("f", frozenset("xy"), kind=kind),)
    )
    catalogue = Catalogue({"a": statistics(1_000, x=20, y=100)})
    assert CardinalityEstimator(graph, catalogue).rows(1) == pytest.approx(1_000 * share)


def test_a_filter_counts_once_however_many_relations_bind_its_variable():
    graph = QueryGraph(
        (Relation("a", ("x",), STATIC), Relation("b", ("x",), STATIC)),
        (JoinFilter("f", frozenset("x"), 0.25),),
    )
    catalogue = Catalogue({"a": statistics(100, x=100), "b": statistics(100, x=100)})
    estimator = CardinalityEstimator(graph, catalogue)
    assert estimator.rows(0b01) == 25
    assert estimator.rows(0b11) == pytest.approx(25)


def test_distinct_values_shrink_with_the_rows():
    graph = QueryGraph((Relation("a", ("x", "k"), STATIC), Relation("b", ("k",), STATIC)))
    catalogue = Catalogue({"a": statistics(1_000, x=100, k=1_000), "b": statistics(10, k=10)})
    estimator = CardinalityEstimator(graph, catalogue)
    assert estimator.distinct(0b01, "x") == 100
    assert estimator.rows(0b11) == pytest.approx(10)
    assert 9 < estimator.distinct(0b11, "x") <= 10  # ten rows over a hundred values
    assert estimator.distinct(0b11, "k") == pytest.approx(10)


def test_projecting_to_few_combinations_drops_duplicates():
    graph = QueryGraph((Relation("a", ("x", "y", "z"), STATIC),))
    estimator = CardinalityEstimator(graph, Catalogue({"a": statistics(1e5, x=10, y=20, z=1e5)}))
    assert estimator.distinct_rows(1, ["x", "y"]) == pytest.approx(200)
    assert estimator.distinct_rows(1, ["x", "z"]) == pytest.approx(1e5, rel=0.1)
    assert estimator.distinct_rows(1, []) == 1


def test_a_relation_without_statistics_is_named():
    graph = QueryGraph((Relation("a", ("x",), STATIC),))
    with pytest.raises(StatisticsError, match="'a'"):
        CardinalityEstimator(graph, Catalogue({}))
