"""The cheapest plan that keeps relations for later costs what a search from scratch among such plans finds."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.alternatives import Alternatives
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import CostModel
from adaptive.enumerate import pairs_up_to, search_exact
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy, prejoin_candidates
from tests.adaptive.query_graphs import queries


def searched(cache, early, late):
    """The cost of the cheapest such plan, None where there is none."""
    graph = cache.graph
    estimator = CardinalityEstimator(graph, cache.catalogue)
    candidates = prejoin_candidates(estimator, cache.prejoin)
    kept = {c.mask: c for c in candidates if c.refusal is None}
    there = {1 << position for position in range(len(graph.relations))} | set(kept)
    pairs = []
    for one, other in pairs_up_to(graph, graph.all_relations, 10**9):
        union = one | other
        if union & early == early and union & late != late:
            continue
        if one in there and other in there:
            there.add(union)
            pairs.append((one, other))
    alternatives = Alternatives(estimator, cache.costs, kept, cache.bushy)
    step = search_exact(alternatives, pairs, graph.all_relations).get(graph.all_relations)
    return None if step is None else step.cost


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
    expected = searched(cache, graph.mask(first), graph.mask(then))
    before = cache.values()
    found = cache.otherwise(first, then)
    assert (found is None) == (expected is None)
    if found is not None:
        assert found.cost == pytest.approx(expected, rel=1e-9)
        assert cache.cost_of(found) == pytest.approx(expected, rel=1e-9)
    assert cache.values() == before, "the table stays as it was"
