import random

import pytest

from adaptive.errors import StatisticsError
from adaptive.graph.query_graph import ColumnStatistics, RelationStatistics
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.query_graphs import statistics


def test_distinct_counts_are_never_above_the_rows():
    assert Catalogue({"now": statistics(10, person=900)}).distinct("now", "person") == 10
    assert Catalogue({"now": statistics(5_000, person=900)}).distinct("now", "person") == 900


def test_an_empty_relation_still_has_one_value_to_divide_by():
    assert Catalogue({"now": statistics(0, person=0)}).distinct("now", "person") == 1


def test_a_variable_without_statistics_is_taken_for_a_key():
    assert Catalogue({"sub": statistics(40)}).distinct("sub", "x") == 40


def test_unknown_relations_are_errors():
    with pytest.raises(StatisticsError, match="'then'"):
        Catalogue({"now": statistics(1)})["then"]


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
