"""Streams whose selectivity, fan-out and prices drift, in simulated time: placement follows."""

import math
import random

import pytest

from adaptive.errors import PlanError
from adaptive.expensive_calls import CallPrice, FilterStatistics
from adaptive.filter_observation import FilterCounts
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import describe
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import Extend, JoinFilter, QueryGraph, Relation
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.switching import SwitchPolicy
from tests.adaptive.query_graphs import Q2, WINDOW, dblp, statistics
from tests.adaptive.tunnels import tunnel, tunnel_catalogue

WITHOUT = PrejoinPolicy(enabled=False)
BELOW = JoinFilter("below", frozenset({"value"}), price=CallPrice(20.0), uncertain=True)
GRAPH = QueryGraph(
    (
        Relation("events", ("event", "link", "value"), WINDOW),
        Relation("others", ("link", "more"), WINDOW),
    ),
    (BELOW,),
)


def content(fan_out, rows=5_000.0):
    """Each event meets `fan_out` others on average; below 1, only so many meet one."""
    others, links = rows * fan_out, rows * min(1.0, fan_out)
    return {
        "events": statistics(rows, event=rows, link=rows, value=rows),
        "others": statistics(others, link=links, more=others),
    }


class Stream:
    """What really happens, beside what the follower knows of it."""

    def __init__(self, graph=GRAPH, adaptive=True, seed=1, **options):
        self.now = 0.0
        self.chance = random.Random(seed)
        self.true = Catalogue(content(1.0))
        self.follower = PlanFollower(
            graph,
            Catalogue(content(1.0)),
            None,
            WITHOUT,
            SwitchPolicy(prepare_cost=20_000.0, switch_cost=50.0),
            clock=lambda: self.now,
            adaptive=adaptive,
            **options,
        )
        self.caches = {
            how: PlacedPlanCache(graph, self.true, prejoin=WITHOUT, placement=how)
            for how in ("early", "late", "cost")
        }
        self.spent = 0.0
        self.better = 0.0

    def evaluate(self, fan_out, **shares):
        self.now += 0.1
        follower = self.follower
        decision = follower.observe(content(fan_out))
        if decision.kind == "prepare":
            follower.prepared(decision.plan, 0.02)
        elif decision.kind == "switch":
            follower.switched(decision.plan, self.now)
        for name, share in shares.items():
            self.true.set_filter(name, FilterStatistics(share, 20.0))
        for cache in self.caches.values():
            cache.apply(content(fan_out))
        plan = follower.current
        self.spent += self.caches["cost"].cost_of(plan)
        self.better += min(self.caches["early"].cost, self.caches["late"].cost)
        seconds = self.caches["cost"].cost_of(plan) / 1e6
        follower.executed(self.rows(plan), seconds, self.counts(plan, shares))
        return decision

    def rows(self, plan):
        counted = self.caches["cost"].expected_rows(plan)
        return [OperatorCounts(names, 0.0, rows) for names, rows in counted.items()]

    def counts(self, plan, shares):
        counts = {}
        for _, use in self.caches["cost"].pricing.uses(plan):
            rows, calls = round(use.rows), round(use.calls)
            share = shares.get(use.item.name, 1.0)
            noise = self.chance.gauss(0.0, math.sqrt(share * (1.0 - share) / max(1, rows)))
            passed = round(rows * min(1.0, max(0.0, share + noise)))
            ns = round(calls * 20_000 * self.chance.lognormvariate(0.0, 0.1))
            counts[use.item.name] = FilterCounts(rows, passed, calls, rows - calls, ns)
        return counts


def placed(plan):
    return "late" if plan.filters else "early"


def test_a_drift_of_selectivity_and_fan_out_is_followed():
    stream = Stream()
    for phase in range(4):
        for _ in range(60):
            stream.evaluate(8.0 if phase % 2 else 0.05, below=0.1 if phase % 2 else 0.9)
    assert len(stream.follower.history) <= 4
    assert {placed(plan) for plan in stream.follower.kept} == {"early", "late"}
    assert stream.spent <= 1.1 * stream.better


def test_a_drift_of_the_selectivity_alone_changes_the_place():
    # A second window that trims a little: calls are saved by it only where few rows are dropped.
    graph = QueryGraph(
        GRAPH.relations,
        (
            JoinFilter("below", frozenset({"value"}), price=CallPrice(20.0), uncertain=True),
            JoinFilter("other", frozenset({"more"}), price=CallPrice(20.0), uncertain=True),
        ),
    )
    stream = Stream(graph)
    orders = []
    for below, other in ((0.05, 0.95), (0.95, 0.05), (0.05, 0.95)):
        for _ in range(60):
            stream.evaluate(1.0, below=below, other=other)
        best = stream.caches["cost"]
        assert best.cost_of(stream.follower.current) <= 1.05 * best.cost
        orders.append(stream.follower.current)
    assert orders[0] != orders[1] != orders[2]
    assert "selectivity of " in stream.follower.history[-1].cause
    assert stream.spent <= 1.1 * stream.better


def test_a_switch_says_which_filter_went_where_and_why():
    stream = Stream()
    for _ in range(3):
        stream.evaluate(0.05, below=0.9)
    (switch,) = stream.follower.history
    assert (placed(switch.old), placed(switch.new)) == ("early", "late")
    assert describe(switch.old) == describe(switch.new) == "(events others)"
    assert switch.moved == ("filter below from scan events to after join 1",)
    assert switch.change == "filter below from scan events to after join 1, of (events others)"
    assert switch.cause == "rows of others: 5,000 -> 250"


def test_noise_does_not_make_plans_flap():
    stream = Stream()
    for turn in range(200):
        stream.evaluate(1.0 + 0.05 * (turn % 3), below=0.6)
    assert len(stream.follower.history) <= 1


def test_what_filters_keep_is_not_taken_for_a_wrong_join():
    stream = Stream()
    for share in (0.1, 0.9, 0.0, 0.2):
        for _ in range(12):
            stream.evaluate(1.0, below=share)
    corrections = stream.follower.cache.catalogue.corrections.in_use()
    assert all(abs(factor) < math.log(1.3) for factor in corrections.values())


@pytest.mark.parametrize("placement", ["early", "late"])
def test_fixed_placements_stay_where_they_are(placement):
    stream = Stream(placement=placement)
    for turn in range(40):
        stream.evaluate(8.0 if turn > 20 else 0.05, below=0.1 if turn > 20 else 0.9)
        assert placed(stream.follower.current) == placement


def test_news_of_filters_wait_for_the_next_evaluation():
    follower = PlanFollower(GRAPH, Catalogue(content(1.0)), prejoin=WITHOUT)
    assert not follower.filters_changed
    follower.executed([], 0.01, {"below": FilterCounts(5_000, 50, 5_000, 0, 10**8)})
    assert follower.filters_changed
    follower.observe({})
    assert not follower.filters_changed
    before = follower.cache.cost
    follower.update_filters({"below": FilterStatistics(0.5, 500.0)})
    assert follower.cache.cost > before
    # Filters without a price may be counted too.
    follower.executed([], 0.01, {"other": FilterCounts(10, 5, 10)})
    assert not follower.filters_changed


def test_without_expensive_filters_there_is_nothing_to_update():
    follower = PlanFollower(Q2, dblp())
    follower.executed([], 0.01, {"different": FilterCounts(10, 5, 10)})
    assert not follower.filters_changed
    with pytest.raises(PlanError):
        follower.update_filters({"different": FilterStatistics(0.5)})


def test_binds_are_followed_too():
    graph = QueryGraph(
        GRAPH.relations,
        (JoinFilter("likely", frozenset({"p"}), uncertain=True),),
        extends=(Extend("p", "p", frozenset({"value"}), CallPrice(20.0), uncertain=True),),
    )
    stream = Stream(graph)
    for fan_out in (0.05, 8.0, 0.05):
        for _ in range(60):
            stream.evaluate(fan_out, likely=0.1)
        assert placed(stream.follower.current) == ("early" if fan_out > 1 else "late")
    assert stream.spent <= 1.1 * stream.better


def test_where_the_model_is_wrong_about_late_filters_that_is_found_out():
    """They should take twice as long as the chosen ones, and take half as long."""
    graph = tunnel(sensors=("air1", "heat1"))
    catalogue, now = tunnel_catalogue(graph), 0.0
    policy = SwitchPolicy(prepare_cost=5_000.0, switch_cost=50.0, trials=12)
    follower = PlanFollower(
        graph, catalogue, None, WITHOUT, policy, clock=lambda: now, rehearses=True
    )

    def late(plan):
        return {"air1.low", "heat1.low"} <= set(plan.filters)

    def seconds(plan):
        return 0.025 if late(plan) else max(0.05, follower.cache.cost_of(plan) / 1e6)

    assert not late(follower.current)
    asked = []
    for _ in range(60):
        now += 0.1
        decision = follower.observe({})
        for plan in (decision.plan if decision.kind == "prepare" else None, decision.beside):
            if plan is not None:
                asked.append(plan)
                follower.prepared(plan, 0.005, seconds(plan) / seconds(follower.current))
        if decision.kind == "switch":
            follower.switched(decision.plan, now)
        follower.executed((), seconds(follower.current))
    assert late(follower.current)
    assert follower.history[-1].cause.startswith("measured")
    assert len(asked) < 20
