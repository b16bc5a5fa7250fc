import itertools
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.cost_model import CostModel
from adaptive.errors import StatisticsError
from adaptive.graph.plan import Join, Prejoined, Scan, describe, join_order, verify, walk
from adaptive.graph.query_graph import (
    ColumnStatistics,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationStatistics,
)
from adaptive.heuristics import (
    apply_filters_early,
    apply_filters_last,
    bound_positions_order,
    bound_positions_rank,
    guessed_statistics,
    specific_graph_first_order,
    within_graph,
)
from adaptive.search.optimizer import optimize
from adaptive.search.prejoin import PrejoinPolicy
from adaptive.statistics.cardinality import CardinalityEstimator
from adaptive.statistics.catalogue import Catalogue
from tests.adaptive.plan_pricing import PlanPricing
from tests.adaptive.query_graphs import STATIC, WINDOW, queries, statistics
from tests.adaptive.search.test_optimizer import answers, execute

# The order of the uncertainty paper, section 4.2, as printed.
PRINTED = ["spo", "s?o", "?po", "sp?", "??o", "s??", "?p?", "???"]


def bound(pattern):
    return tuple(position != "?" for position in pattern)


@pytest.mark.parametrize("printed", [PRINTED], ids=["000-h1"])
def test_h1_has_the_printed_order(printed):
    assert [bound_positions_rank(bound(p)) for p in printed] == list(range(8))
    assert len(set(map(bound, printed))) == 8
    for order in itertools.islice(itertools.permutations(printed), 0, 40_320, 1_009):
        sorted_ = bound_positions_order([bound(pattern) for pattern in order])
        assert [order[position] for position in sorted_] == printed


def test_h1_keeps_patterns_of_one_kind_as_written():
    assert bound_positions_order([bound("?p?"), bound("?po"), bound("?p?")]) == (1, 0, 2)


@pytest.mark.parametrize("triples", [2.0, 1e4, 1e9])
def test_h1_guesses_rows_in_that_order_between_one_and_all(triples):
    rows = [guessed_statistics(bound(p), ["x"], triples).rows for p in PRINTED]
    assert rows[0] == 1
    assert rows[-1] == pytest.approx(triples)
    assert rows == sorted(rows)
    assert len(set(rows)) == 8


def test_h1_guesses_are_statistics_that_a_search_can_use():
    graph = QueryGraph(
        (
            Relation("now", ("person", "room"), WINDOW),
            Relation("works", ("person", "place"), STATIC),
            Relation("type", ("person",), STATIC),
        )
    )
    window = statistics(1_000, person=1_000, room=10)

    def order(works, type_):
        known = {
            "now": window,
            "works": guessed_statistics(bound(works), ("person", "place"), 1e4),
            "type": guessed_statistics(bound(type_), ("person",), 1e4),
        }
        return join_order(optimize(graph, Catalogue(known), prejoin=PrejoinPolicy(False)).plan)

    alike = order("?p?", "?p?")
    assert alike == ("now", "works", "type")  # before: nothing to choose by, as written
    assert order("?p?", "?po").index("type") < order("?p?", "?po").index("works")  # after


def test_h1_needs_a_triple():
    with pytest.raises(StatisticsError, match="at least 1 triple"):
        guessed_statistics(bound("???"), ["s"], 0.0)


def test_h2_takes_specific_graphs_first():
    assert specific_graph_first_order([False, True, False, True]) == (1, 3, 0, 2)
    assert specific_graph_first_order([]) == ()


def test_h2_cuts_guesses_down_to_one_graph():
    all_graphs = RelationStatistics(100.0, {"x": ColumnStatistics(40.0, ((7, 30),))})
    one = within_graph(all_graphs, specific=True, graphs=4.0)
    assert one == RelationStatistics(25.0, {"x": ColumnStatistics(10.0, ((7, 7),))})
    assert within_graph(all_graphs, specific=False) is all_graphs
    with pytest.raises(StatisticsError, match="at least 1 graph"):
        within_graph(all_graphs, specific=True, graphs=0.5)


GRAPH = QueryGraph(
    (
        Relation("now", ("x", "y"), WINDOW),
        Relation("s", ("y", "z"), STATIC),
        Relation("t", ("z", "u"), STATIC),
    ),
    (
        JoinFilter("of_now", frozenset("x"), 0.01),
        JoinFilter("of_s", frozenset("z"), 0.5),
        JoinFilter("of_both", frozenset("xz"), 0.5),
    ),
)


def known():
    return Catalogue(
        {
            "now": statistics(1e4, x=1e4, y=1e3),
            "s": statistics(1e4, y=1e3, z=1e3),
            "t": statistics(1e3, z=1e3, u=1e3),
        }
    )


def test_h3_before_and_after():
    early = optimize(GRAPH, known(), prejoin=PrejoinPolicy(enabled=False)).plan
    pricing = PlanPricing(CardinalityEstimator(GRAPH, known()), CostModel())
    late = apply_filters_last(early, GRAPH)
    assert late.filters == ("of_now", "of_s", "of_both")
    assert sum(len(node.filters) for node in walk(late)) == 3
    assert describe(late) == describe(early)
    verify(late, GRAPH)
    assert apply_filters_early(late, GRAPH) == early
    # Ten thousand rows travel to the top instead of a hundred.
    assert pricing.price(late).cost > 10 * pricing.price(early).cost
    first = frozenset({"now"})
    assert pricing.rows(late)[first] == pytest.approx(1e4)
    assert pricing.rows(early)[first] == pytest.approx(100)
    whole = early.relations
    assert pricing.rows(late)[whole] == pytest.approx(pricing.rows(early)[whole])


def test_h3_leaves_a_kept_part_as_it_was_made():
    part = Prejoined("s+t", frozenset({"s", "t"}), ("y", "z"), ("of_s",))
    plan = Join(Scan("now", ("of_now",)), part, ("y",), "index", ("of_both",))
    late = apply_filters_last(plan, GRAPH)
    assert late.right == part
    assert late.filters == ("of_now", "of_both")
    assert apply_filters_early(late, GRAPH) == plan
    assert apply_filters_last(part, GRAPH) == apply_filters_early(part, GRAPH) == part


@settings(derandomize=True, max_examples=100, deadline=None)
@given(queries(max_relations=5, connected=False), st.data())
def test_h3_changes_no_answer(query, data):
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
    for prejoin in (PrejoinPolicy(always_rows=1e12), PrejoinPolicy(enabled=False)):
        plan = optimize(graph, catalogue, prejoin=prejoin).plan
        late = apply_filters_last(plan, graph)
        assert apply_filters_early(plan, graph) == plan
        assert apply_filters_early(late, graph) == plan
        for one in (plan, late):
            verify(one, graph)
            rows = execute(one, graph, contents)
            assert Counter(tuple(r[v] for v in wanted) for r in rows) == expected
