from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.cost_model import CostModel
from adaptive.errors import SearchError, StatisticsError
from adaptive.graph.plan import Join, Prejoined, Scan, describe, join_order, verify, walk
from adaptive.graph.query_graph import JoinFilter, QueryGraph, Relation
from adaptive.search.optimizer import optimize
from adaptive.search.prejoin import PrejoinPolicy
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.query_graphs import (
    DERIVED,
    NAME2,
    Q1,
    Q2,
    Q3,
    STATIC,
    W30,
    WINDOW,
    catalogue_of,
    chain,
    clique,
    dblp,
    queries,
    star,
    statistics,
)

WITHOUT = PrejoinPolicy(enabled=False)


def kept(plan):
    return [node.name for node in walk(plan) if isinstance(node, Prejoined)]


def test_q1_streams_the_window_through_static_indexes():
    assert join_order(optimize(Q1, dblp()).plan) == ("w30", "locname", "name2")


def test_q2_goes_along_co_authors_before_it_looks_into_the_room():
    # The tempting plan, (now w30) on the room, makes 50,000 pairs of people to check.
    choice = optimize(Q2, dblp())
    assert join_order(choice.plan) == (
        "now",
        "creator1+creator2",
        "w30",
        "locname",
        "name1",
        "name2",
    )
    assert {node.method for node in walk(choice.plan) if isinstance(node, Join)} == {"index"}
    # The filter was applied when the pairs were made; nothing is left for the joins.
    assert [n.filters for n in walk(choice.plan) if n.filters] == [("different",)]
    window = next(n for n in walk(choice.plan) if isinstance(n, Join) and n.right == Scan("w30"))
    assert window.on == ("loc", "person2")
    assert choice.estimates[frozenset({"now", "creator1", "creator2"})] == pytest.approx(
        10_664, rel=0.01
    )


@pytest.mark.parametrize("more", [1, 400])
def test_names_are_never_repeated_in_the_kept_pairs(more):
    assert kept(optimize(Q2, dblp(w30=5_000.0 * more)).plan) == ["creator1+creator2"]


def test_attributes_of_the_same_things_may_be_kept_side_by_side():
    # One row a person on either side: nothing is repeated, and one look-up replaces two.
    graph = QueryGraph((W30, NAME2, Relation("mail", ("person2", "address"), STATIC)))
    catalogue = Catalogue(
        {
            "w30": statistics(30_000, person2=5_000, loc=100),
            "name2": statistics(2e5, person2=2e5),
            "mail": statistics(2e5, person2=2e5),
        }
    )
    assert describe(optimize(graph, catalogue).plan) == "(w30 {name2+mail})"


def test_q3_does_not_materialise_the_citing_pairs():
    choice = optimize(Q3, dblp())
    assert all(name in ("creator1+refs", "creator2+refs") for name in kept(choice.plan))
    assert any(note.startswith("creator1+creator2+refs is not pre-joined") for note in choice.notes)


def test_without_pre_joins_nothing_is_kept():
    choice = optimize(Q2, dblp(), prejoin=WITHOUT)
    assert kept(choice.plan) == []
    assert join_order(choice.plan)[:4] == ("now", "creator1", "creator2", "w30")
    with_them = optimize(Q2, dblp())
    assert with_them.cost < choice.cost
    rival = next(r for r in with_them.considered if r.label == "without pre-joined parts")
    assert rival.plan == choice.plan


def test_the_order_follows_the_counts():
    graph = QueryGraph(
        (
            Relation("window", ("x", "y"), WINDOW),
            Relation("left", ("x",), STATIC),
            Relation("right", ("y",), STATIC),
        )
    )

    def order(left, right):
        known = {
            "window": statistics(5_000, x=1_000, y=1_000),
            "left": statistics(left, x=left),
            "right": statistics(right, y=right),
        }
        return join_order(optimize(graph, Catalogue(known)).plan)

    assert order(10, 1_000) == ("window", "left", "right")
    assert order(1_000, 10) == ("window", "right", "left")


def test_of_two_equal_orders_the_one_declared_first_is_taken():
    # Sums of the same costs in another order differ in their last digits; that decides nothing.
    graph = QueryGraph(
        (
            Relation("now", tuple("abcde"), WINDOW),
            *(Relation(f"name_{v}", (v, f"{v}_label"), STATIC) for v in "abcde"),
        )
    )
    known = {"now": statistics(333, **dict.fromkeys("abcde", 300))}
    for number, v in enumerate("abcde"):
        rows = 7e4 * 3**number
        known[f"name_{v}"] = statistics(rows, **{v: rows, f"{v}_label": rows})
    plan = optimize(graph, Catalogue(known), prejoin=WITHOUT).plan
    assert join_order(plan) == tuple(relation.name for relation in graph.relations)


def test_a_relation_without_index_is_built_for_the_evaluation():
    graph = QueryGraph(
        (
            Relation("now", ("x",), WINDOW, indexable=False),
            Relation("sub", ("x", "n"), DERIVED, indexable=False),
        )
    )
    catalogue = Catalogue({"now": statistics(1_000, x=1_000), "sub": statistics(50, x=50)})
    choice = optimize(graph, catalogue)
    assert describe(choice.plan) == "(now sub*)"
    assert any("sub is built for each evaluation" in note for note in choice.notes)


def test_join_results_are_built_only_where_that_is_allowed():
    # Two large windows, each cut down by its own static part, meet in the middle.
    graph = QueryGraph(
        (
            Relation("w1", ("a", "m"), WINDOW),
            Relation("w2", ("b", "m"), WINDOW),
            Relation("s1", ("a",), STATIC),
            Relation("s2", ("b",), STATIC),
        )
    )
    catalogue = Catalogue(
        {
            "w1": statistics(1e5, a=1e5, m=10),
            "w2": statistics(1e5, b=1e5, m=10),
            "s1": statistics(1e3, a=1e3),
            "s2": statistics(1e3, b=1e3),
        }
    )
    bushy, deep = (optimize(graph, catalogue, bushy=bushy) for bushy in (True, False))
    assert any(isinstance(n, Join) and isinstance(n.right, Join) for n in walk(bushy.plan))
    assert not any(isinstance(n, Join) and isinstance(n.right, Join) for n in walk(deep.plan))
    assert bushy.cost < deep.cost


def test_filters_sit_where_their_variables_are_first_bound():
    graph = QueryGraph(
        (
            Relation("now", ("x", "y"), WINDOW),
            Relation("s", ("y", "z"), STATIC),
        ),
        (
            JoinFilter("of_now", frozenset("x"), 0.5),
            JoinFilter("of_key", frozenset("y"), 0.5),
            JoinFilter("of_s", frozenset("z"), 0.5),
            JoinFilter("of_both", frozenset("xz"), 0.5),
        ),
    )
    catalogue = Catalogue({"now": statistics(100, x=9, y=9), "s": statistics(1e6, y=1e5, z=9)})
    plan = optimize(graph, catalogue).plan
    # The index gives unfiltered rows, so the join applies the filters of the probed relation.
    assert plan.filters == ("of_s", "of_both")
    assert plan.left == Scan("now", ("of_now", "of_key"))
    assert plan.right == Scan("s")


def test_a_side_that_its_filter_makes_tiny_is_built_though_it_has_an_index():
    graph = QueryGraph(
        (Relation("now", ("x", "y"), WINDOW, False), Relation("s", ("y", "z"), STATIC)),
        (JoinFilter("rare", frozenset("z"), 0.001),),
    )
    catalogue = Catalogue({"now": statistics(1e4, x=1e4, y=10), "s": statistics(1e4, y=10, z=1e4)})
    plan = optimize(graph, catalogue).plan
    assert describe(plan) == "(now s*)"  # through the index, ten million rows come out unfiltered
    assert plan.right == Scan("s", ("rare",))
    assert plan.filters == ()


def test_a_disconnected_graph_is_crossed_last():
    graph = QueryGraph(
        (
            Relation("big", ("x", "k"), WINDOW),
            Relation("lonely", ("q",), STATIC),
            Relation("cut", ("k",), STATIC),
        ),
        (JoinFilter("across", frozenset("xq"), 0.5),),
    )
    catalogue = Catalogue(
        {
            "big": statistics(1_000, x=1_000, k=100),
            "lonely": statistics(20, q=20),
            "cut": statistics(5, k=5),
        }
    )
    choice = optimize(graph, catalogue)
    assert choice.plan.method == "cross"
    assert choice.plan.filters == ("across",)
    assert [n.method for n in walk(choice.plan) if isinstance(n, Join)] == ["index", "cross"]
    assert any("cross product" in note for note in choice.notes)


def test_one_relation_alone():
    graph = QueryGraph((Relation("now", ("x",), WINDOW),), (JoinFilter("f", frozenset("x"), 0.1),))
    choice = optimize(graph, Catalogue({"now": statistics(100, x=10)}))
    assert choice.plan == Scan("now", ("f",))
    assert choice.plan.estimated_rows == pytest.approx(10)
    assert choice.considered == ()


@pytest.mark.parametrize(
    "graph", [chain(14), star(14), clique(13)], ids=["chain", "star", "clique"]
)
def test_beyond_the_budget_the_plan_is_still_a_plan(graph):
    catalogue = catalogue_of(graph)
    choice = optimize(graph, catalogue, budget=50)
    assert choice.search == "greedy"
    verify(choice.plan, graph)
    assert not any(isinstance(n, Join) and n.method == "cross" for n in walk(choice.plan))
    assert any("greedily" in note for note in choice.notes)


def test_the_greedy_plan_of_q2_starts_well():
    choice = optimize(Q2, dblp(), budget=0)
    assert choice.search == "greedy"
    assert choice.cost <= 1.2 * optimize(Q2, dblp()).cost


@settings(derandomize=True, max_examples=80, deadline=None)
@given(queries(max_relations=6, connected=False))
def test_greedy_never_beats_exact_and_both_repeat(query):
    graph, catalogue = query
    exact, greedy = optimize(graph, catalogue), optimize(graph, catalogue, budget=0)
    assert exact.search == "exact"
    assert greedy.cost >= exact.cost * (1 - 1e-6)
    again = optimize(graph, catalogue)
    assert (again.plan, again.cost, again.notes) == (exact.plan, exact.cost, exact.notes)
    verify(greedy.plan, graph)
    assert all(rival.cost >= exact.cost * (1 - 1e-6) for rival in exact.considered)


def condition(row, name, variables):
    return sum(row[v] for v in variables) % 3 != int(name[1:])


def join_bags(left, right, on):
    return [
        {**one, **other}
        for one, other in product(left, right)
        if all(one[v] == other[v] for v in on)
    ]


def answers(graph, contents):
    rows = [{}]
    for relation in graph.relations:
        rows = join_bags(
            rows, contents[relation.name], [v for v in relation.variables if rows and v in rows[0]]
        )
    return [r for r in rows if all(condition(r, f.name, f.variables) for f in graph.filters)]


def execute(node, graph, contents):
    """What a plan says must be done, done with nested loops over lists of dicts."""
    uses = {f.name: f.variables for f in graph.filters}
    if isinstance(node, Scan):
        rows = contents[node.relation]
    elif isinstance(node, Prejoined):
        inside = QueryGraph(tuple(r for r in graph.relations if r.name in node.relations))
        rows = answers(inside, contents)
    else:
        rows = join_bags(
            execute(node.left, graph, contents), execute(node.right, graph, contents), node.on
        )
    rows = [r for r in rows if all(condition(r, name, uses[name]) for name in node.filters)]
    if isinstance(node, Prejoined):
        rows = [{v: r[v] for v in node.variables} for r in rows]
    return rows


@settings(derandomize=True, max_examples=150, deadline=None)
@given(queries(max_relations=5, connected=False), st.data(), st.sampled_from([0, 10_000]))
def test_every_chosen_plan_answers_the_query(query, data, budget):
    graph, catalogue = query
    values = st.integers(0, 2)
    contents = {
        relation.name: data.draw(
            st.lists(st.fixed_dictionaries(dict.fromkeys(relation.variables, values)), max_size=4)
        )
        for relation in graph.relations
    }
    wanted = sorted(graph.members if graph.output is None else graph.output)
    expected = Counter(tuple(r[v] for v in wanted) for r in answers(graph, contents))
    for prejoin in (PrejoinPolicy(), PrejoinPolicy(always_rows=1e12), WITHOUT):
        free = CostModel(kept_cell=0.0)  # as many pre-joins as possible
        choice = optimize(graph, catalogue, free, prejoin, budget)
        for plan in (choice.plan, *(rival.plan for rival in choice.considered)):
            verify(plan, graph)
            rows = execute(plan, graph, contents)
            assert Counter(tuple(r[v] for v in wanted) for r in rows) == expected


def test_what_is_asked_must_make_sense():
    with pytest.raises(SearchError, match="budget"):
        optimize(Q1, dblp(), budget=-1)
    with pytest.raises(StatisticsError, match="'r0'"):
        optimize(chain(2), dblp())
