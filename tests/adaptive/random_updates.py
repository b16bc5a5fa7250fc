"""Random changes of statistics, and what a plan cache should hold after them."""

import pytest

from adaptive.alternatives import Alternatives
from adaptive.cardinality import CardinalityEstimator
from adaptive.enumerate import pairs_up_to, search_exact
from adaptive.optimizer import optimize
from adaptive.prejoin import PrejoinPolicy, prejoin_candidates
from adaptive.query_graph import ColumnStatistics, QueryGraph, Relation, RelationStatistics
from adaptive.statistics import OperatorCounts
from tests.adaptive.query_graphs import STATIC

WITHOUT = PrejoinPolicy(enabled=False)


def cycle(n):
    return QueryGraph(
        tuple(Relation(f"r{i}", (f"v{i}", f"v{(i + 1) % n}"), STATIC) for i in range(n))
    )


def searched(cache):
    """Cost of every part by a search from scratch."""
    graph = cache.graph
    estimator = CardinalityEstimator(graph, cache.catalogue)
    candidates = prejoin_candidates(estimator, cache.prejoin)
    allowed = {c.mask: c for c in candidates if c.refusal is None}
    alternatives = Alternatives(estimator, cache.costs, allowed, cache.bushy)
    found = {}
    for component in graph.components():
        pairs = pairs_up_to(graph, component, 10**9)
        for mask, step in search_exact(alternatives, pairs, component).items():
            found[frozenset(graph.names(mask))] = step.cost
    return found


def check(cache, whole=True):
    """Every value, the estimates and the plan are those of a search from scratch."""
    if whole:
        assert cache.values() == pytest.approx(searched(cache), rel=1e-9)
    again = optimize(
        cache.graph, cache.catalogue, cache.costs, cache.prejoin, cache.budget, cache.bushy
    )
    assert cache.cost == pytest.approx(again.cost, rel=1e-9)
    plan = cache.plan()
    assert plan.cost == pytest.approx(again.cost, rel=1e-9)
    assert cache.cost_of(plan) == pytest.approx(cache.cost, rel=1e-9)
    assert cache.cost_of(again.plan) == pytest.approx(cache.cost, rel=1e-9)
    return again


def random_leaf(chance, relation):
    rows = chance.choice([0.0, 1.0, 5.0, 80.0, 3e3, 1e5, 4e6])
    top = tuple((t, int(rows) // 8) for t in range(1, 4)) if chance.random() < 0.3 else ()
    return RelationStatistics(
        rows,
        {v: ColumnStatistics(max(1.0, rows * chance.random()), top) for v in relation.variables},
        chance.choice([None, 0.0, 2.0, rows / 10, 2 * rows]),
    )


def random_update(chance, cache, counted=True):
    relations = cache.graph.relations
    changed = {
        relation.name: random_leaf(chance, relation)
        for relation in chance.sample(relations, min(len(relations), chance.choice([1, 1, 2, 3])))
    }
    pairs, counts = {}, []
    if counted and len(relations) > 1 and chance.random() < 0.5:
        left, right = chance.sample(relations, 2)
        pairs[left.name, right.name] = chance.choice([0.0, 3.0, 1e4])
    if counted and chance.random() < 0.5:
        names = frozenset(
            r.name for r in chance.sample(relations, chance.randint(1, min(4, len(relations))))
        )
        counts.append(OperatorCounts(names, chance.choice([0, 10, 1e3]), chance.choice([0, 50])))
    if counted and chance.random() < 0.3:
        for _ in range(chance.choice([1, 20, 400])):
            cache.catalogue.tick()
    return changed, pairs, counts


def connected(graph, test):
    return sum(1 for m in range(1, graph.all_relations + 1) if graph.is_connected(m) and test(m))
