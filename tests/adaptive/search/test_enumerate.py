import pytest
from hypothesis import given, settings

from adaptive.cost_model import CostModel, PaperCosts
from adaptive.graph.plan import describe
from adaptive.graph.query_graph import QueryGraph, Relation
from adaptive.search.alternatives import Alternatives
from adaptive.search.enumerate import connected_pairs, pairs_up_to, search_exact
from adaptive.search.prejoin import PrejoinPolicy, prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator
from tests.adaptive.query_graphs import STATIC, WINDOW, chain, clique, queries, star


@pytest.mark.parametrize(
    ("shape", "counts"),
    [(chain, (4, 10, 20, 35)), (star, (4, 12, 32, 80)), (clique, (6, 25, 90, 301))],
)
def test_the_known_numbers_of_pairs(shape, counts):
    for size, count in zip((3, 4, 5, 6), counts, strict=True):
        graph = shape(size)
        assert len(list(connected_pairs(graph, graph.all_relations))) == count


def submasks(mask):
    part = mask
    while part:
        yield part
        part = (part - 1) & mask


@settings(derandomize=True, max_examples=80, deadline=None)
@given(queries(max_relations=7, connected=False))
def test_pairs_are_exactly_the_linked_connected_ones_each_once(query):
    graph, _ = query
    for component in graph.components():
        found = list(connected_pairs(graph, component))
        expected = {
            frozenset((one, other))
            for one in submasks(component)
            if graph.is_connected(one)
            for other in submasks(component & ~one)
            if graph.is_connected(other) and graph.neighbours(one) & other
        }
        assert {frozenset(pair) for pair in found} == expected
        assert len(found) == len(expected)


def test_inputs_come_before_their_users():
    graph = clique(5)
    done = {1 << position for position in range(5)}
    unions = [one | other for one, other in pairs_up_to(graph, graph.all_relations, 1_000)]
    for (one, other), union in zip(
        pairs_up_to(graph, graph.all_relations, 1_000), unions, strict=True
    ):
        assert one in done
        assert other in done
        done.add(union)
    assert [u.bit_count() for u in unions] == sorted(u.bit_count() for u in unions)


def test_the_budget_is_a_number_of_pairs():
    graph = clique(5)
    assert len(pairs_up_to(graph, graph.all_relations, 90)) == 90
    assert pairs_up_to(graph, graph.all_relations, 89) is None


def trees(graph, mask):
    """Every bushy tree without cross products over a connected set, as nested pairs of sets."""
    if mask & (mask - 1) == 0:
        yield mask
    lowest = mask & -mask
    for one in submasks(mask & ~lowest):
        one = mask & ~one  # holds the lowest position, so each unordered split comes once
        other = mask & ~one
        if graph.is_connected(one) and graph.is_connected(other):
            for left in trees(graph, one):
                for right in trees(graph, other):
                    yield left, right


def covered(tree):
    return tree if isinstance(tree, int) else covered(tree[0]) | covered(tree[1])


def cheapest_way(alternatives, tree, table):
    """Fill the table with the cheapest operators for one tree; the tree's shape is kept."""
    mask = covered(tree)
    steps = [alternatives.read(mask)]
    if not isinstance(tree, int):
        for child in tree:
            cheapest_way(alternatives, child, table)
        steps += alternatives.joins(covered(tree[0]), covered(tree[1]), table)
    table[mask] = min((step for step in steps if step is not None), key=lambda step: step.cost)
    return table[mask].cost


@settings(derandomize=True, max_examples=120, deadline=None)
@given(queries(max_relations=6))
def test_the_search_finds_the_cheapest_of_all_bushy_trees(query):
    graph, catalogue = query
    estimator = CardinalityEstimator(graph, catalogue)
    everything = graph.all_relations
    candidates = prejoin_candidates(estimator, PrejoinPolicy())
    allowed = {c.mask: c for c in candidates if c.refusal is None}
    for prejoins in ({}, allowed):
        alternatives = Alternatives(estimator, CostModel(), prejoins)
        pairs = pairs_up_to(graph, everything, 10_000)
        table = search_exact(alternatives, pairs, everything)
        every = [cheapest_way(alternatives, tree, {}) for tree in trees(graph, everything)]
        assert table[everything].cost == pytest.approx(min(every), rel=1e-6)
        plan = alternatives.plan(everything, table)
        assert plan.cost == table[everything].cost


class Measured:
    """Row counts that were measured for each part, in place of estimates."""

    def __init__(self, graph, rows):
        self.graph = graph
        self._rows = {graph.mask(names): count for names, count in rows.items()}

    def rows(self, mask):
        return self._rows[mask]

    unfiltered_rows = rows

    def changed_rows(self, position):
        window = self.graph.relations[position].kind is WINDOW
        return 2.0 * self._rows[1 << position] if window else 0.0

    def decided(self, mask):
        return 0

    def share(self, filters):
        return 1.0


@pytest.mark.parametrize(
    ("a_and_b", "a_and_c", "order", "cost"),
    [(16, 0, "((A C) B)", 10.0), (2, 128, "((A B) C)", 26.0)],
    ids=["003-fig3 at 1001", "003-fig3 at 1002"],
)
def test_figure_3_of_the_cqels_report(a_and_b, a_and_c, order, cost):
    """NOW(p1,loc), RANGE30(p2,loc), co-author(p1,p2): the better order turns round in one step."""
    graph = QueryGraph(
        (
            Relation("A", ("p1", "loc"), WINDOW),
            Relation("B", ("p2", "loc"), WINDOW),
            Relation("C", ("p1", "p2"), STATIC),
        )
    )
    rows = {"A": 1, "B": 64, "C": 1_024, "AB": a_and_b, "AC": a_and_c, "BC": 1_024, "ABC": 0}
    alternatives = Alternatives(Measured(graph, rows), PaperCosts(), {})
    table = search_exact(alternatives, pairs_up_to(graph, 0b111, 100), 0b111)
    assert describe(alternatives.plan(0b111, table)) == order
    assert table[0b111].cost == cost
