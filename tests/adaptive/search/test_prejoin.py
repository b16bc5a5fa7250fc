import pytest

from adaptive.graph.query_graph import RelationKind
from adaptive.search.prejoin import PrejoinPolicy, prejoin_candidates, widens_only
from adaptive.statistics.cardinality import CardinalityEstimator
from tests.adaptive.query_graphs import Q2, Q3, catalogue_of, clique, dblp


def by_name(graph, policy=None):
    estimator = CardinalityEstimator(graph, dblp())  # names are unique, authorships are not
    return {c.name: c for c in prejoin_candidates(estimator, policy or PrejoinPolicy())}


def test_candidates_are_connected_and_static():
    found = by_name(Q2)
    assert "creator1+creator2" in found
    assert "locname+name1" not in found  # nothing links them
    for candidate in found.values():
        assert Q2.is_connected(candidate.mask)
        assert candidate.mask.bit_count() >= 2
    assert all(
        Q2.relations[Q2.positions[name]].kind is RelationKind.STATIC
        for key in found
        for name in key.split("+")
    )


def test_a_relation_that_would_only_be_repeated_is_left_out():
    assert set(by_name(Q2)) == {"creator1+creator2"}
    estimator = CardinalityEstimator(Q2, dblp())
    named = Q2.mask(["creator1", "name1"])
    assert widens_only(estimator, named, Q2.positions["name1"])
    assert not widens_only(estimator, named, Q2.positions["creator1"])


def test_a_relation_that_drops_rows_is_not_left_out():
    catalogue = dblp(name1=1_000.0)  # few people have a name
    estimator = CardinalityEstimator(Q2, catalogue)
    named = Q2.mask(["creator1", "name1"])
    assert not widens_only(estimator, named, Q2.positions["name1"])


def test_a_candidate_is_filtered_and_projected():
    pairs = by_name(Q2)["creator1+creator2"]
    assert pairs.variables == ("person1", "person2")
    assert pairs.filters == ("different",)
    assert pairs.rows == pytest.approx(8e5 * 8e5 / 3e5, rel=1e-3)
    assert pairs.input_rows == 1.6e6
    assert pairs.refusal is None


def test_citing_pairs_are_refused_and_half_of_them_is_not():
    found = by_name(Q3)
    assert "4,600,000" in found["creator1+creator2+refs"].refusal
    assert found["creator1+refs"].refusal is None


@pytest.mark.parametrize(
    ("policy", "rows", "input_rows", "allowed"),
    [
        (PrejoinPolicy(), 100_000, 10, True),  # always
        (PrejoinPolicy(), 100_001, 10, False),  # grows
        (PrejoinPolicy(), 30e6, 10e6, True),
        (PrejoinPolicy(), 41e6, 40e6, False),  # too many
        (PrejoinPolicy(max_rows=50e6), 41e6, 40e6, True),
        (PrejoinPolicy(max_growth=1.0), 2e6, 1e6, False),
    ],
)
def test_the_limits(policy, rows, input_rows, allowed):
    assert (policy.refusal(rows, input_rows) is None) is allowed


def test_the_number_of_candidates_is_bounded_small_ones_first():
    graph = clique(12)
    estimator = CardinalityEstimator(graph, catalogue_of(graph, rows=100, distinct=100))
    found = prejoin_candidates(estimator, PrejoinPolicy(max_candidates=100))
    assert len(found) == 66 + 34  # 12 * 11 / 2 pairs, then some of the triples
    assert [c.mask.bit_count() for c in found] == [2] * 66 + [3] * 34


def test_switched_off():
    assert by_name(Q2, PrejoinPolicy(enabled=False)) == {}
