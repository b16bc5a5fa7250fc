import math
import random

import pytest

from adaptive.cardinality import CardinalityEstimator
from adaptive.corrections import LARGEST_FACTOR, Corrections
from adaptive.errors import StatisticsError
from adaptive.query_graph import ColumnStatistics, JoinFilter, QueryGraph, RelationStatistics
from adaptive.statistics import Catalogue, OperatorCounts
from tests.adaptive.query_graphs import catalogue_of, chain

AB, BC, ABC = frozenset("ab"), frozenset("bc"), frozenset("abc")


def test_a_set_takes_its_own_factor_or_that_of_the_largest_counted_set_in_it():
    corrections = Corrections()
    corrections.learn(BC, 2.0)
    corrections.learn(AB, 1.0)
    assert corrections.factor(AB) == 1.0
    assert corrections.factor(ABC) == 1.0  # of two as large, the first by name
    assert corrections.factor(frozenset("bcd")) == 2.0
    assert corrections.factor(frozenset("ac")) == 0.0
    corrections.learn(ABC, -3.0)
    assert corrections.factor(frozenset("abcd")) == -3.0


def test_counts_are_smoothed_and_clamped():
    corrections = Corrections()
    corrections.learn(AB, 2.0)
    corrections.learn(AB, 0.0)
    assert corrections.factor(AB) == pytest.approx(1.0)
    for _ in range(30):
        corrections.learn(AB, 1e9)
    assert corrections.factor(AB) == pytest.approx(LARGEST_FACTOR, rel=0.01)
    corrections.learn(AB, 0.0)
    assert corrections.factor(AB) == pytest.approx(0.7 * LARGEST_FACTOR, rel=0.02)


def test_factors_fade_by_half_in_a_half_life_and_are_forgotten_at_last():
    corrections = Corrections(half_life=10.0)
    corrections.learn(AB, 4.0)
    for _ in range(10):
        corrections.tick()
    assert corrections.factor(AB) == pytest.approx(2.0, abs=math.log(1.1))
    for _ in range(51):
        corrections.tick()
    assert corrections.factor(AB) == 0.0
    assert corrections.in_use() == {}


def test_a_factor_in_use_moves_in_steps_only():
    corrections = Corrections(half_life=1_000.0)
    corrections.learn(AB, 1.0)
    for _ in range(20):
        corrections.tick()
    assert corrections.factor(AB) == 1.0
    for _ in range(200):
        corrections.tick()
    assert corrections.factor(AB) < 0.92


def test_what_was_not_counted_for_longest_is_forgotten_first():
    corrections = Corrections()
    for number in range(200):
        corrections.learn(frozenset({f"r{number}", "x"}), 1.0)
        corrections.tick()
    assert len(corrections.in_use()) == 128
    assert corrections.factor(frozenset({"r0", "x"})) == 0.0
    assert corrections.factor(frozenset({"r199", "x"})) == pytest.approx(1.0, abs=0.1)


def test_a_half_life_must_be_positive():
    with pytest.raises(StatisticsError, match="half-life"):
        Corrections(half_life=0.0)


def test_repeated_counts_bring_the_estimate_to_what_is_counted():
    graph = chain(4)
    catalogue = catalogue_of(graph)
    part = frozenset({"r1", "r2"})
    for _ in range(10):
        estimated = CardinalityEstimator(graph, catalogue).rows(graph.mask(part))
        catalogue.fold([OperatorCounts(part, estimated, 300_000.0)])
    after = CardinalityEstimator(graph, catalogue)
    assert after.rows(graph.mask(part)) == pytest.approx(300_000, rel=0.11)
    # A larger set has the same factor, one that does not hold the part has none.
    factor = 300_000 / 10_000
    assert after.rows(graph.all_relations) == pytest.approx(1_000 * 10**3 * factor, rel=0.11)
    assert after.rows(graph.mask(["r0", "r1"])) == pytest.approx(10_000)


def test_counts_of_one_evaluation_are_all_compared_with_the_same_estimates():
    graph = chain(3)
    catalogue = catalogue_of(graph)
    part, whole = frozenset({"r0", "r1"}), frozenset({"r0", "r1", "r2"})
    catalogue.fold([OperatorCounts(part, 1e4, 1e5), OperatorCounts(whole, 1e5, 1e6)])
    assert catalogue.corrections.factor(whole) == pytest.approx(math.log(10), rel=1e-3)


def test_a_count_of_one_relation_is_about_its_filters():
    graph = QueryGraph(chain(2).relations, (JoinFilter("f", frozenset({"v0"}), 0.5),))
    catalogue = catalogue_of(graph)
    catalogue.fold([OperatorCounts(frozenset({"r0"}), 499, 49)])
    catalogue.fold([OperatorCounts(frozenset({"r1"}), 999, 9)])  # no filter: rows are known
    estimator = CardinalityEstimator(graph, catalogue)
    assert estimator.unfiltered_rows(1) == 1_000
    assert estimator.rows(1) == pytest.approx(50)
    assert estimator.rows(2) == 1_000
    assert estimator.rows(3) == pytest.approx(500)


def test_card_and_selectivity_of_a_term_are_exact_where_it_is_listed():
    chance = random.Random(1)
    values = [chance.choice([1, 1, 1, 2, 3, 4, 5]) for _ in range(300)]
    top = tuple((term, values.count(term)) for term in (1, 2))
    catalogue = Catalogue({"w": RelationStatistics(300, {"x": ColumnStatistics(5, top)})})
    for term in (1, 2):
        assert catalogue.card("w", "x", term) == values.count(term)
        assert catalogue.selectivity("w", "x", term) == values.count(term) / 300
    rest = 300 - values.count(1) - values.count(2)
    assert catalogue.card("w", "x", 9) == pytest.approx(rest / 3)
    # All values together are all rows again.
    assert sum(catalogue.card("w", "x", term) for term in range(1, 6)) == pytest.approx(300)


def test_card_of_columns_listed_whole_unknown_or_empty():
    catalogue = Catalogue(
        {
            "w": RelationStatistics(4, {"x": ColumnStatistics(1, ((1, 4),))}),
            "none": RelationStatistics(0, {"x": ColumnStatistics(0)}),
        }
    )
    assert catalogue.card("w", "x", 2) == 0
    assert catalogue.card("w", "y", 2) == 1  # a variable without statistics is taken for a key
    assert catalogue.card("none", "x", 2) == catalogue.selectivity("none", "x", 2) == 0
    with pytest.raises(StatisticsError, match="neither"):
        catalogue.card("w", "x")
