"""The cheapest plan that does without some joins costs what a search from scratch among such plans finds."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.alternatives import Alternatives
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import CostModel
from adaptive.enumerate import pairs_up_to, search_exact
from adaptive.plan import Join
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy, prejoin_candidates
from tests.adaptive.query_graphs import queries


def searched(cache, barred=lambda union: False, streamed=0):
    """The cost of the cheapest plan without barred parts that streams a relation, None where there is none."""
    graph = cache.graph
    estimator = CardinalityEstimator(graph, cache.catalogue)
    candidates = prejoin_candidates(estimator, cache.prejoin)
    kept = {c.mask: c for c in candidates if c.refusal is None}
    there = {1 << position for position in range(len(graph.relations))} | set(kept)
    pairs = []
    for one, other in pairs_up_to(graph, graph.all_relations, 10**9):
        union = one | other
        if barred(union):
            continue
        if one in there and other in there:
            there.add(union)
            pairs.append((one, other))
    alternatives = Alternatives(estimator, cache.costs, kept, cache.bushy)
    if streamed:
        alternatives = Streaming(alternatives, streamed)
    step = search_exact(alternatives, pairs, graph.all_relations).get(graph.all_relations)
    return None if step is None else step.cost


class Streaming:
    """Those of some alternatives that have a relation on the left, if they have it at all."""

    def __init__(self, alternatives, streamed):
        self.prejoins, self.read = alternatives.prejoins, alternatives.read
        self._joins, self._streamed = alternatives.joins, streamed

    def joins(self, one, other, table):
        return (s for s in self._joins(one, other, table) if not s.right & self._streamed)


class OneByOne:
    """A cost model that does not say its terms, so that each join is priced by a call."""

    def __init__(self):
        self._model = CostModel()
        for name in (
            "scan_cost",
            "hash_join_cost",
            "index_join_cost",
            "cross_join_cost",
            "window_index_cost",
            "kept_cost",
        ):
            setattr(self, name, getattr(self._model, name))


def changed(known, chance):
    """The same relation with another number of rows."""
    return replace(known, rows=known.rows * chance.choice([0.1, 1.0, 30.0]))


@settings(derandomize=True, max_examples=150, deadline=None)
@given(queries(connected=True), st.randoms(), st.booleans(), st.booleans(), st.booleans())
def test_it_is_the_cheapest_that_a_search_from_scratch_finds(
    query, chance, prejoins, bushy, linear
):
    graph, catalogue = query
    costs = CostModel() if linear else OneByOne()
    cache = PlanCache(graph, catalogue, costs, PrejoinPolicy(enabled=prejoins), bushy=bushy)
    names = [relation.name for relation in graph.relations]
    if len(names) < 2:
        return
    chance.shuffle(names)
    cut = chance.randint(1, len(names) - 1)
    first, then = names[:cut][:2], names[cut:][:2]
    cache.apply({name: changed(catalogue[name], chance) for name in names[:2]})
    early, late = graph.mask(first), graph.mask(then)
    before = cache.values()
    found = cache.otherwise(first, then)
    expected = searched(cache, lambda union: union & early == early and union & late != late)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.cost == pytest.approx(expected, rel=1e-9)
        assert cache.cost_of(found) == pytest.approx(expected, rel=1e-9)
    assert cache.values() == before, "the table stays as it was"


@settings(derandomize=True, max_examples=150, deadline=None)
@given(queries(connected=True), st.randoms(), st.booleans(), st.booleans(), st.booleans())
def test_streaming_a_relation_costs_what_a_search_from_scratch_finds(
    query, chance, prejoins, bushy, linear
):
    graph, catalogue = query
    costs = CostModel() if linear else OneByOne()
    cache = PlanCache(graph, catalogue, costs, PrejoinPolicy(enabled=prejoins), bushy=bushy)
    names = [relation.name for relation in graph.relations]
    cache.apply({name: changed(catalogue[name], chance) for name in names[:2]})
    name, before = chance.choice(names), cache.values()
    found = cache.streaming(name)
    assert found is not None
    first = found
    while isinstance(first, Join):
        first = first.left
    assert name in first.relations
    expected = searched(cache, streamed=graph.mask([name]))
    assert found.cost == pytest.approx(expected, rel=1e-9)
    assert cache.cost_of(found) == pytest.approx(expected, rel=1e-9)
    assert min(cache.streaming(other).cost for other in names) == pytest.approx(cache.cost)
    assert cache.values() == before, "the table stays as it was"
