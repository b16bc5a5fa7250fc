import pytest

from adaptive.errors import PlanError
from adaptive.graph.plan import Join, Prejoined, Scan, describe, join_order, verify, walk
from adaptive.graph.query_graph import JoinFilter, QueryGraph, Relation
from tests.adaptive.query_graphs import STATIC

A, B, C = Scan("a"), Scan("b"), Scan("c")
GRAPH = QueryGraph(
    (
        Relation("a", ("x", "y"), STATIC),
        Relation("b", ("y", "z"), STATIC),
        Relation("c", ("z", "t"), STATIC),
    ),
    (JoinFilter("f", frozenset({"x", "z"})),),
)
AB = Join(A, B, ("y",), "index", ("f",))


def test_walk_meets_inputs_before_users():
    plan = Join(AB, C, ("z",), "index")
    assert list(walk(plan)) == [A, B, AB, C, plan]
    assert join_order(plan) == ("a", "b", "c")
    assert plan.relations == frozenset("abc")
    verify(plan, GRAPH)


def test_estimates_do_not_make_plans_different():
    assert Scan("a", estimated_rows=5, cost=1) == Scan("a", estimated_rows=6, cost=2)
    assert Join(A, B, ("y",), "index") != Join(A, B, ("y",), "hash")
    assert len({AB, Join(A, B, ("y",), "index", ("f",), cost=3)}) == 1


def test_the_shape_is_seen_in_one_line():
    pairs = Prejoined("b+c", frozenset("bc"), ("t", "y"))
    assert describe(Join(A, pairs, ("y",), "index")) == "(a {b+c})"
    assert describe(Join(A, Join(B, C, ("z",), "index"), ("y",), "hash")) == "(a (b c)*)"


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (AB, "not the whole query"),
        (Join(AB, Join(B, C, ("z",), "index"), ("y", "z"), "hash"), "a relation twice"),
        (Join(AB, C, ("t",), "index"), r"sides share \('z',\)"),
        (Join(Join(A, B, ("y",), "index"), C, ("z",), "index"), "applies no f"),
        (Join(Join(A, B, ("y",), "index", ("g",)), C, ("z",), "index"), "unknown filter 'g'"),
        (
            Join(Join(Scan("a", ("f",)), B, ("y",), "index"), C, ("z",), "index"),
            "'f' before its variables",
        ),
    ],
)
def test_plans_that_do_not_fit_the_query_are_refused(plan, message):
    with pytest.raises(PlanError, match=message):
        verify(plan, GRAPH)


def test_a_join_result_has_no_index():
    with pytest.raises(PlanError, match="index join"):
        Join(A, Join(B, C, ("z",), "index"), ("y",), "index")


def test_only_a_cross_product_has_no_key():
    with pytest.raises(PlanError):
        Join(A, C, (), "hash")
    with pytest.raises(PlanError):
        Join(A, B, ("y",), "cross")
