"""Plans that nobody has tried in a settled state: how they give way, are compared, and take over."""

import pytest

from adaptive.plan import describe
from adaptive.plan_cache import PlanCache
from adaptive.plan_families import small_changes
from adaptive.prejoin import PrejoinPolicy
from adaptive.statistics import Catalogue
from tests.adaptive.simulated_machine import EQUAL, Rehearsing
from tests.adaptive.test_plan_follower import GRAPH, content
from tests.adaptive.test_plan_follower import catalogue as all_relations


def settled():
    """A machine on which every plan takes what it should, where all was tried that should be."""
    machine = Rehearsing(lambda order: 1.0, trials=1, noise=(0.0,))
    for _ in range(40):
        machine.evaluate(EQUAL)
    return machine


def serve_elsewhere(follower, plan):
    """The streams come into another state, where a plan is prepared and runs."""
    follower.observe(content(3e3, 3e3, 3e3))
    follower.prepared(plan, 0.005)
    follower.switched(plan, 1.0)
    follower.executed((), 0.01)


def never_tried(machine):
    """A plan that should cost about as much as the one that runs, and was never tried."""
    follower, usual = machine.follower, machine.follower.current
    changes = [follower.cache.otherwise(*change) for change in small_changes(usual)]
    untried = [plan for plan in changes if plan is not None and plan not in follower.kept]
    cost_of = follower.cache.cost_of
    other = min(untried, key=cost_of)
    assert cost_of(other) < 1.04 * cost_of(usual), "costs alone would have it stay"
    return other


def test_a_plan_that_was_never_tried_in_a_settled_state_gives_way_and_is_tried_later():
    machine = settled()
    follower = machine.follower
    tried, other = follower.kept, never_tried(machine)
    serve_elsewhere(follower, other)
    decision = follower.observe(EQUAL)
    assert decision.kind == "switch" and decision.plan in tried
    follower.switched(decision.plan, 2.0)
    assert follower.history[-1].cost_before > follower.history[-1].cost_after
    follower.executed((), 0.01)
    machine.asked.clear()
    for _ in range(80):
        machine.evaluate(EQUAL)
    assert describe(other) in {describe(plan) for plan in machine.asked}


def test_a_plan_that_runs_before_it_was_compared_gives_way_as_well():
    """It served elsewhere, was to be compared here, and then the streams left this state: it is not on trial."""
    machine = settled()
    follower = machine.follower
    other = never_tried(machine)
    serve_elsewhere(follower, other)
    decision = follower.observe(EQUAL)
    follower.switched(decision.plan, 2.0)
    for _ in range(80):
        follower.executed((), 0.01)
        decision = follower.observe(EQUAL)
        if decision.kind == "prepare" and decision.plan == other:
            break
        if decision.kind == "prepare":
            follower.prepared(decision.plan, 0.005, 1.0)
    assert decision.plan == other, "it is to be compared"
    follower.executed((), 0.01)
    follower.observe(content(3e3, 3e3, 3e3))
    follower.switched(other, 3.0)
    follower.executed((), 0.01)
    decision = follower.observe(EQUAL)
    assert decision.kind == "switch" and decision.plan != other


@pytest.mark.parametrize("taken", [0.5, 2.0])
def test_a_plan_that_was_never_tried_in_a_settled_state_takes_over_only_when_it_was_compared(taken):
    """The streams drift within the state: it should be cheaper now, and may take for ever."""
    machine = settled()
    follower, usual = machine.follower, machine.follower.current
    now = content(9.9e2, 5.8e2, 5.8e2)
    catalogue = Catalogue({"window": all_relations()["window"], **now})
    cache = PlanCache(GRAPH, catalogue, prejoin=PrejoinPolicy(enabled=False))
    other = cache.plan()
    assert other not in follower.kept and cache.cost < 0.8 * cache.cost_of(usual)
    state = follower.state
    follower.observe(content(3e3, 3e3, 3e3))
    follower.prepared(other, 0.005)
    asked = None
    for _ in range(20):
        decision = follower.observe(now)
        assert follower.state == state
        assert decision.kind != "switch"
        if decision.kind == "prepare" and decision.plan == other:
            asked = decision
            break
        follower.executed((), 0.01)
    assert asked is not None, "it is to be compared"
    follower.prepared(other, 0.0, taken)
    orders = set()
    for _ in range(20):
        decision = follower.observe(now)
        if decision.kind == "switch":
            follower.switched(decision.plan, 1.0)
        elif decision.kind == "prepare":
            follower.prepared(decision.plan, 0.0, 1.0)
        follower.executed((), 0.01)
        orders.add(follower.current)
    assert (other in orders) == (taken < 1.0)


def test_a_rehearsal_that_is_cut_short_is_made_again_but_not_for_ever():
    """Where the streams never stay long enough, what should be cheaper is taken for that."""
    machine = settled()
    follower = machine.follower
    other = never_tried(machine)
    serve_elsewhere(follower, other)
    follower.switched(follower.observe(EQUAL).plan, 2.0)
    asked = 0
    for _ in range(160):
        follower.executed((), 0.01)
        decision = follower.observe(EQUAL)
        if decision.kind == "prepare":
            cut = decision.plan == other
            asked += cut
            follower.prepared(decision.plan, 0.0, None if cut else 1.0)
    assert asked == 3


def test_a_rehearsal_cut_short_in_one_state_is_no_trial_in_another():
    machine = settled()
    follower, usual = machine.follower, machine.follower.current
    now = content(9.9e2, 5.8e2, 5.8e2)
    catalogue = Catalogue({"window": all_relations()["window"], **now})
    other = PlanCache(GRAPH, catalogue, prejoin=PrejoinPolicy(enabled=False)).plan()
    for _ in range(4):
        follower.observe(content(3e3, 3e3, 3e3))
        follower.observe(now)
        follower.prepared(other, 0.005)
    for _ in range(20):
        decision = follower.observe(now)
        assert decision.kind != "switch", "it was never compared here"
        follower.executed((), 0.01)
    assert follower.current == usual
