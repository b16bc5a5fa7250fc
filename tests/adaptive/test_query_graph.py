import math

import pytest

from adaptive.errors import QueryGraphError, StatisticsError
from adaptive.graph.query_graph import ColumnStatistics, JoinFilter, QueryGraph, Relation, bits
from tests.adaptive.query_graphs import Q2, Q3, STATIC, WINDOW, statistics


def relation(name, *variables):
    return Relation(name, variables, STATIC)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: QueryGraph(()), "at least one relation"),
        (lambda: QueryGraph((relation("a", "x"), relation("a", "y"))), "'a' is declared twice"),
        (lambda: relation("a", "x", "x"), "'a' lists a variable twice"),
        (
            lambda: QueryGraph((relation("a", "x"),), (JoinFilter("f", frozenset({"z"})),)),
            "filter 'f' uses z",
        ),
        (lambda: QueryGraph((relation("a", "x"),), output=frozenset({"q"})), "output uses q"),
        (lambda: Q2.mask(["nobody"]), "no relation 'nobody'"),
    ],
)
def test_contradictions_are_refused(build, message):
    with pytest.raises(QueryGraphError, match=message):
        build()


@pytest.mark.parametrize("value", [-1.0, math.nan, math.inf])
def test_counts_must_be_counts(value):
    with pytest.raises(StatisticsError):
        statistics(value)
    with pytest.raises(StatisticsError):
        ColumnStatistics(value)


def test_a_top_value_is_listed_once():
    with pytest.raises(StatisticsError, match="twice"):
        ColumnStatistics(3, top=((5, 1), (5, 2)))


def test_a_selectivity_is_a_share():
    with pytest.raises(StatisticsError, match="'f'"):
        JoinFilter("f", frozenset(), 1.5)


def test_neighbours_share_a_variable():
    assert Q2.names(Q2.neighbours(Q2.mask(["creator1"]))) == ("now", "creator2", "name1")
    assert Q2.shared_variables(Q2.mask(["w30"]), Q2.mask(["now", "creator2"])) == ("loc", "person2")


def test_connected_sets_and_components():
    graph = QueryGraph((relation("a", "x"), relation("b", "y"), relation("c", "x", "z")))
    assert graph.components() == (0b101, 0b010)
    assert graph.is_connected(0b101)
    assert not graph.is_connected(0b011)
    assert not graph.is_connected(0)


def test_a_static_part_keeps_what_is_read_outside_it():
    # refs and creator2 are read through p1 and person2; p2 is theirs alone.
    assert Q3.needed_outside(Q3.mask(["refs", "creator2"])) == ("p1", "person2")


def test_a_filter_that_straddles_a_part_keeps_its_variable():
    graph = QueryGraph(
        (relation("a", "x", "y"), relation("b", "y", "z"), Relation("w", ("z", "t"), WINDOW)),
        (JoinFilter("f", frozenset({"x", "t"})), JoinFilter("inside", frozenset({"y"}))),
        output=frozenset({"t"}),
    )
    assert graph.needed_outside(0b011) == ("x", "z")
    assert [f.name for f in graph.filters_within(0b011)] == ["inside"]


def test_bits_of_the_empty_set():
    assert list(bits(0)) == []
