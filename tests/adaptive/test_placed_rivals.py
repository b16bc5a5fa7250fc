"""What is tried beside the chosen plan of a query with expensive filters: plans of H3 and H4, and small changes."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.expensive_calls import CallPrice, FilterStatistics
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import Join, describe, verify, walk
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import JoinFilter, QueryGraph, Relation, RelationStatistics
from adaptive.statistics import Catalogue
from adaptive.switching import SwitchPolicy
from tests.adaptive.placed_queries import placed_queries
from tests.adaptive.query_graphs import WINDOW, statistics


def changed(catalogue, names, chance):
    return {
        name: RelationStatistics(
            catalogue[name].rows * chance.choice([0.0, 0.1, 3.0, 50.0]), catalogue[name].columns
        )
        for name in names
    }


def observed(cache, chance):
    return {
        item.name: FilterStatistics(chance.choice([None, 0.01, 1.0]), chance.choice([None, 300.0]))
        for item in cache.items.items
    }


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5), st.randoms())
def test_they_answer_the_query_and_are_those_of_now(query, chance):
    graph, catalogue = query
    cache = PlacedPlanCache(graph, catalogue)
    names = [relation.name for relation in graph.relations]
    cut = chance.randint(1, max(1, len(names) - 1))
    chance.shuffle(names)

    def asked(cache):
        several = len(names) > 1
        return [
            *cache.rivals(),
            *cache.turned(cache.plan(), last=True),
            *(cache.streaming(name) for name in names),
            cache.otherwise(names[:cut], names[cut:]) if several else None,
        ]

    for _ in range(3):
        found = asked(cache)
        assert found == asked(PlacedPlanCache(graph, catalogue))
        for plan in found:
            if plan is not None:
                verify(plan, graph)
                assert plan.cost == pytest.approx(cache.cost_of(plan))
        cache.apply(changed(catalogue, names[:2], chance))
        cache.update_filters(observed(cache, chance))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5))
def test_the_plans_of_h3_and_h4_are_among_them(query):
    graph, catalogue = query
    cache = PlacedPlanCache(graph, catalogue)
    rivals = cache.rivals()
    assert cache.plan() in rivals
    for placement in ("early", "late"):
        strategy = PlacedPlanCache(graph, catalogue, placement=placement)
        least = min(strategy.cost_of(rival) for rival in rivals)
        assert least <= strategy.cost * (1 + 1e-9)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5), st.randoms())
def test_they_go_the_way_that_is_asked_for(query, chance):
    graph, catalogue = query
    cache = PlacedPlanCache(graph, catalogue, prejoin=PrejoinPolicy(enabled=False))
    names = [relation.name for relation in graph.relations]
    chance.shuffle(names)
    for name in names:
        streamed = cache.streaming(name)
        while isinstance(streamed, Join):
            streamed = streamed.left
        assert streamed is None or streamed.relation == name
    if len(names) < 2:
        return
    first, then = set(names[:1]), set(names[1:2])
    found = cache.otherwise(first, then)
    parts = [] if found is None else [node.relations for node in walk(found)]
    assert not any(len(part) > 1 and part >= first and not part >= then for part in parts)


def filtered(call_us):
    """The filter can be first, second or third; the joins keep nearly every row."""
    price = CallPrice(call_us)
    return QueryGraph(
        (
            Relation("events", ("link", "value"), WINDOW),
            Relation("near", ("link", "more"), WINDOW),
            Relation("far", ("link", "other"), WINDOW),
        ),
        (JoinFilter("below", frozenset({"value"}), 0.99, price=price, uncertain=True),),
    )


CONTENT = {
    "events": statistics(1e3, link=1e3, value=1e3),
    "near": statistics(1e3, link=1e3, more=1e3),
    "far": statistics(1e3, link=1e3, other=1e3),
}


class Machine:
    """Rehearses what it is asked to, and takes `factors(order)` times what a plan should cost.

    With `ahead`, plans to be tried are looked for between evaluations only.
    """

    def __init__(self, factors, ahead=False, call_us=0.01):
        self.now, self.pending, self.factors, self.asked = 0.0, [], factors, []
        self.follower = PlanFollower(
            filtered(call_us),
            Catalogue(dict(CONTENT)),
            None,
            PrejoinPolicy(enabled=False),
            SwitchPolicy(prepare_cost=500.0, switch_cost=5.0, trials=12),
            clock=lambda: self.now,
            rehearses=True,
            ahead=ahead,
        )

    def takes(self, plan):
        return self.follower.cache.cost_of(plan) * self.factors(describe(plan))

    def evaluate(self):
        self.now += 0.1
        follower = self.follower
        for plan in self.pending:
            times_as_long = self.takes(plan) / self.takes(follower.current)
            follower.prepared(plan, 0.0005, times_as_long)
        decision = follower.observe(CONTENT)
        if decision.kind == "switch":
            follower.switched(decision.plan, self.now)
        asked = (decision.plan if decision.kind == "prepare" else None, decision.beside)
        self.pending = [plan for plan in asked if plan is not None]
        self.asked.append([describe(plan) for plan in self.pending])
        follower.executed((), self.takes(follower.current) / 1e6)

    def look(self):
        if self.follower.looking:
            self.follower.look()


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(
    "fast", ["((far events) near)", "((near events) far)", "((near far) events)"]
)
def test_a_small_change_that_is_faster_is_found(fast, ahead):
    machine = Machine(lambda order: 0.5 if order == fast else 1.0, ahead)
    assert describe(machine.follower.current) != fast
    for _ in range(120):
        machine.evaluate()
        machine.look()
    assert describe(machine.follower.current) == fast


SEARCHES = ("rivals", "streaming", "otherwise", "turned")


def counting(monkeypatch, cache):
    """How often plans to be tried are searched for, by the name of the search."""
    found = dict.fromkeys(SEARCHES, 0)

    def counted(name, search):
        def searched(*args, **options):
            found[name] += 1
            return search(*args, **options)

        return searched

    for name in SEARCHES:
        monkeypatch.setattr(cache, name, counted(name, getattr(cache, name)))
    return found


def test_ahead_nothing_is_searched_for_within_evaluations(monkeypatch):
    machine = Machine(lambda order: 1.0, ahead=True)
    found = counting(monkeypatch, machine.follower.cache)
    for _ in range(40):
        before = dict(found)
        machine.evaluate()
        assert found == before
        machine.look()
    assert all(found.values())


def test_ahead_the_same_plans_are_tried_as_soon():
    known, ahead = Machine(lambda order: 1.0), Machine(lambda order: 1.0, ahead=True)
    for _ in range(60):
        known.evaluate()
        ahead.evaluate()
        ahead.look()
    assert any(known.asked)
    assert ahead.asked == known.asked


def test_ahead_what_nobody_looks_for_is_not_tried():
    machine = Machine(lambda order: 1.0, ahead=True)
    for _ in range(60):
        machine.evaluate()
    assert machine.follower.looking
    assert not any(machine.asked)


def test_where_calls_take_nearly_all_of_the_time_no_other_joins_are_tried():
    """They make as many calls: no order of joins could be faster by what is hoped for."""
    tried = {}
    for call_us in (0.01, 100.0):
        machine = Machine(lambda order: 1.0, call_us=call_us)
        placed = {describe(plan) for plan in machine.follower.cache.rivals()}
        for _ in range(120):
            machine.evaluate()
        assert not machine.follower.trying
        tried[call_us] = {order for asked in machine.asked for order in asked} - placed
    assert len(tried[0.01]) > 3
    assert not tried[100.0]


def test_a_plan_that_should_make_fewer_calls_is_tried_though_calls_take_all_of_the_time():
    """It streams another window first, which should lead to half of the events only."""
    machine = Machine(lambda order: 1.0, call_us=100.0)
    follower = machine.follower
    trials = follower._measured._trials
    late = next(p for p in follower.cache.rivals() if p.filters)
    early = next(p for p in follower.cache.rivals() if not p.filters)
    assert not trials._may_gain(early, late)
    halved = {**CONTENT, "near": statistics(500.0, link=1e3, more=500.0)}
    follower.observe(halved)
    assert follower.cache.calls_cost(late) < 0.6 * follower.cache.calls_cost(early)
    assert trials._may_gain(late, early)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(placed_queries(max_relations=5))
def test_the_cost_of_calls_is_that_of_all_placed_filters(query):
    cache = PlacedPlanCache(*query)
    for plan in cache.rivals():
        calls = cache.calls_cost(plan)
        assert calls == pytest.approx(sum(f.cost for f in cache.report(plan).filters))
        assert calls <= cache.cost_of(plan) * (1 + 1e-9)


def test_where_none_is_faster_nothing_changes():
    chance = random.Random(1)
    machine = Machine(lambda order: chance.uniform(0.97, 1.03))
    first = machine.follower.current
    for _ in range(120):
        machine.evaluate()
    assert machine.follower.current == first
