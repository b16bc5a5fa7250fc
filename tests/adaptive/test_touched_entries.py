"""Which entries of the plan cache a change of statistics touches."""

import pytest

from adaptive.enumerate import pairs_up_to
from adaptive.plan_cache import PlanCache, Touched
from adaptive.query_graph import FilterKind, JoinFilter, QueryGraph, Relation
from adaptive.statistics import Catalogue, OperatorCounts
from tests.adaptive.query_graphs import WINDOW, catalogue_of, chain, clique, star, statistics
from tests.adaptive.random_updates import WITHOUT, check, connected, cycle


@pytest.mark.parametrize("shape", [chain, star, clique, cycle])
def test_an_update_touches_the_parts_that_hold_a_changed_relation_and_no_others(shape):
    graph = shape(6)
    cache = PlanCache(graph, catalogue_of(graph), prejoin=WITHOUT)
    for changed in ((0,), (2,), (1, 4)):
        mask = sum(1 << position for position in changed)
        before = cache.values()
        untouched = {names: cost for names, cost in before.items() if not graph.mask(names) & mask}
        # A part that must not be computed again keeps even a wrong value.
        for names in untouched:
            cache._prices.value[cache._sub_plans.number[graph.mask(names)]] += 1e9
        known = cache.catalogue
        touched = cache.apply(
            {
                f"{graph.relations[p].name}": statistics(
                    known[graph.relations[p].name].rows * 3,
                    **dict.fromkeys(graph.relations[p].variables, 50.0),
                )
                for p in changed
            }
        )
        assert touched.entries == connected(graph, lambda m, mask=mask: m & mask)
        pairs = pairs_up_to(graph, graph.all_relations, 10**6)
        reached = [(one, other) for one, other in pairs if (one | other) & mask]
        assert touched.alternatives == 2 * len(reached)
        after = cache.values()
        assert touched.changed == sum(
            after[names] != cost for names, cost in before.items() if names not in untouched
        )
        for names, cost in untouched.items():
            assert after[names] == cost + 1e9
        cache = PlanCache(graph, cache.catalogue, prejoin=WITHOUT)


def test_a_measured_pair_touches_the_parts_that_hold_both():
    graph = clique(6)
    cache = PlanCache(graph, catalogue_of(graph), prejoin=WITHOUT)
    touched = cache.apply({}, {("r1", "r3"): 7.0})
    assert touched.entries == 2**4
    assert cache.apply({}, {("r1", "r3"): 7.0}) == Touched()
    check(cache)


def test_a_count_touches_the_parts_that_hold_its_join_set():
    graph = chain(6)
    cache = PlanCache(graph, catalogue_of(graph), prejoin=WITHOUT)
    counts = [OperatorCounts(frozenset({"r1", "r2"}), 100.0, 5_000.0)]
    assert cache.apply({}, observed=counts).entries == 2 * 4
    check(cache)


def test_the_same_statistics_again_touch_nothing():
    graph = star(5)
    cache = PlanCache(graph, catalogue_of(graph))
    assert cache.apply({"r1": statistics(1_000.0, v1=100.0)}) == Touched()


def test_a_changed_filter_guess_reaches_parts_without_the_changed_relation():
    # The fewest values of x are known from `a`, and tell how much `x = y` keeps in `b` and `c`.
    graph = QueryGraph(
        (
            Relation("a", ("x",), WINDOW),
            Relation("b", ("x", "k"), WINDOW),
            Relation("c", ("k", "y"), WINDOW),
            Relation("d", ("y",), WINDOW),
        ),
        (JoinFilter("same", frozenset("xy"), kind=FilterKind.EQUAL),),
    )
    catalogue = Catalogue(
        {
            "a": statistics(10, x=10),
            "b": statistics(1e4, x=1e4, k=100),
            "c": statistics(1e4, k=100, y=2),
            "d": statistics(9, y=2),
        }
    )
    cache = PlanCache(graph, catalogue)
    both = cache.values()[frozenset("bcd")]
    cache.apply({"a": statistics(1_000, x=1_000)})
    assert cache.values()[frozenset("bcd")] != both
    check(cache)


def test_what_a_change_reaches_is_found_once():
    graph = star(9)
    cache = PlanCache(graph, catalogue_of(graph), prejoin=WITHOUT)
    sub_plans = cache._sub_plans
    first = sub_plans.reach(frozenset({1}), 0)
    assert sub_plans.reach(frozenset({1}), 0) is first
    for mask in range(2, 90):
        sub_plans.reach(frozenset({mask}), 0)
    again = sub_plans.reach(frozenset({1}), 0)
    assert again is not first  # forgotten: other changes were more recent
    assert again.parts.tolist() == first.parts.tolist()
    assert again.alternatives.tolist() == first.alternatives.tolist()
