"""A query beyond the budget is searched anew where something has changed, and only there."""

import importlib
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.expensive_calls import FilterStatistics
from adaptive.optimizer import search
from adaptive.plan_cache import PlanCache, Touched
from adaptive.query_graph import RelationStatistics
from adaptive.statistics import OperatorCounts
from tests.adaptive.query_graphs import catalogue_of, chain, clique, queries, statistics
from tests.adaptive.random_updates import check, random_update


@pytest.fixture
def searches(monkeypatch):
    """The searches that plan caches have done since."""
    done = []
    module = importlib.import_module("adaptive.plan_cache")
    monkeypatch.setattr(module, "search", lambda *told: (done.append(told), search(*told))[1])
    return done


def test_what_has_not_changed_is_not_searched_again(searches):
    graph = clique(5)
    cache = PlanCache(graph, catalogue_of(graph), budget=20)
    before = len(searches)
    plan = cache.plan()
    known = cache.catalogue["r0"]
    for changed in ({}, {"r0": known}, {"r0": RelationStatistics(known.rows, dict(known.columns))}):
        assert cache.apply(changed) == Touched()
    cache.catalogue.tick()
    assert cache.apply({}) == Touched()
    assert len(searches) == before
    assert cache.plan() is plan


def test_whatever_has_changed_is_searched_again(searches):
    graph = chain(5)
    cache = PlanCache(graph, catalogue_of(graph), budget=2)
    names = frozenset({"r0", "r1"})
    counted = OperatorCounts(names, 10.0, 5_000.0)

    def recognise():
        for rows in (10.0, 1e6):
            cache.catalogue.recognise({"r0": statistics(rows)})

    changes = [
        lambda: cache.apply({"r0": statistics(7, v0=7, v1=7)}),
        lambda: cache.apply({}, {("r1", "r2"): 3.0}),
        lambda: cache.apply({}, {}, [counted]),
        lambda: (cache.catalogue.observe("r4", 2.0), cache.apply({}))[1],
        lambda: (cache.catalogue.set_filter("f", FilterStatistics(0.5)), cache.apply({}))[1],
        lambda: ([cache.catalogue.tick() for _ in range(200)], cache.apply({}))[1],
        lambda: (recognise(), cache.apply({}))[1],
    ]
    for number, change in enumerate(changes):
        before = len(searches)
        assert change().rebuilt, number
        assert len(searches) == before + 1
        check(cache, whole=False)
        assert cache.apply({}) == Touched()
        assert len(searches) == before + 1


@settings(derandomize=True, max_examples=60, deadline=None)
@given(
    queries(max_relations=6, connected=False),
    st.integers(0, 10**6).map(random.Random),
    st.integers(0, 4),
)
def test_greedy_updates_stay_those_of_a_search_from_scratch(query, chance, budget):
    graph, catalogue = query
    cache = PlanCache(graph, catalogue, budget=budget)
    for _ in range(6):
        if chance.random() < 0.3:
            cache.apply({})
        else:
            cache.apply(*random_update(chance, cache))
        check(cache, whole=False)
