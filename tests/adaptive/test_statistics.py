import pytest

from adaptive.errors import StatisticsError
from adaptive.statistics import Catalogue, OperatorCounts
from tests.adaptive.query_graphs import statistics


def test_an_observed_row_count_replaces_the_old_one_and_caps_distinct_counts():
    catalogue = Catalogue({"now": statistics(1_000, person=900)})
    catalogue.observe("now", 10)
    assert catalogue["now"].rows == 10
    assert catalogue.distinct("now", "person") == 10
    catalogue.observe("now", 5_000)
    assert catalogue.distinct("now", "person") == 900


def test_an_empty_relation_still_has_one_value_to_divide_by():
    assert Catalogue({"now": statistics(0, person=0)}).distinct("now", "person") == 1


def test_a_variable_without_statistics_is_taken_for_a_key():
    assert Catalogue({"sub": statistics(40)}).distinct("sub", "x") == 40


def test_unknown_relations_are_errors():
    catalogue = Catalogue({"now": statistics(1)})
    with pytest.raises(StatisticsError, match="'then'"):
        catalogue.observe("then", 3)
    with pytest.raises(StatisticsError, match="'then'"):
        catalogue.fold([OperatorCounts(frozenset({"now", "then"}), 1, 2)])
