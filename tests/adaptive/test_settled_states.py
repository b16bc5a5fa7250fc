"""States in which all was tried that come back, and new ones like them; in simulated time."""

import pytest

from adaptive.plan import describe
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy
from adaptive.statistics import Catalogue
from tests.adaptive.simulated_machine import EQUAL, Rehearsing
from tests.adaptive.test_plan_follower import GRAPH, content
from tests.adaptive.test_plan_follower import catalogue as all_relations


@pytest.mark.parametrize("size", [3, 16])
def test_a_state_that_comes_back_has_its_fastest_plan_at_once(size):
    """What ran in the other state was never measured in this one: what is known of the rest still counts.

    Its plan is still prepared, although more were tried meanwhile than are kept: three are those of two states, and one
    that is being tried.
    """
    states = {"left": content(50, 1e3, 9.8e2), "right": content(1e3, 50, 9.8e2)}
    fast = " third)"
    machine = Rehearsing(
        lambda order: 0.6 if order.endswith(fast) else 1.0, size=size, trials=12, noise=(0.0,)
    )
    for state in ("left", "right") * 2:
        for _ in range(60):
            machine.evaluate(states[state])
    asked = len(machine.asked)
    machine.ran.clear()
    for state in ("left", "right") * 6:
        machine.evaluate(states[state])
    fastest = ["(((window left) right) third)", "(((window right) left) third)"]
    assert machine.ran == fastest * 6
    assert len(machine.asked) == asked


def test_switches_of_settled_states_have_their_causes_and_costs():
    states = {"left": content(50, 1e3, 9.8e2), "right": content(1e3, 50, 9.8e2)}
    machine = Rehearsing(lambda order: 0.6 if order.endswith(" third)") else 1.0, trials=12)
    for state in ("left", "right") * 2:
        for _ in range(60):
            machine.evaluate(states[state])
    follower, ran = machine.follower, []
    switches = len(follower.history)
    for number in range(32):
        state = ("left", "right")[number % 2]
        decision = follower.observe(states[state])
        if decision.kind == "switch":
            follower.switched(decision.plan, float(number))
        ran.append(describe(follower.current))
        follower.executed(())
    assert ran == ["(((window left) right) third)", "(((window right) left) third)"] * 16
    later = follower.history[switches:]
    assert len(later) >= 31
    assert all("rows of" in switch.cause or "left" in switch.cause for switch in later)
    assert all(switch.cost_before > switch.cost_after > 0.0 for switch in later)


def test_a_plan_that_served_in_another_state_is_rehearsed_in_a_new_one():
    """It should cost too much there to be tried for that, and is the fastest."""
    here = []
    machine = Rehearsing(
        lambda order: 0.3 if here and order.startswith("(((window left)") else 1.0,
        trials=3,
        noise=(0.0,),
    )
    for state in (content(50, 1e3, 9.8e2), content(1e3, 50, 9.8e2)):
        for _ in range(40):
            machine.evaluate(state)
    assert machine.order.startswith("(((window right)")
    here.append(True)
    for _ in range(40):
        machine.evaluate(content(1e3, 3e2, 9.8e2))
    assert machine.order.startswith("(((window left)")


def test_plans_are_tried_where_every_evaluation_changes_the_plan():
    states = (content(50, 1e3, 9.8e2), content(1e3, 50, 9.8e2))
    machine = Rehearsing(
        lambda order: 0.6 if order.endswith(" third)") else 1.0, trials=12, noise=(0.0,)
    )
    for number in range(200):
        machine.evaluate(states[number % 2])
    assert machine.ran[-2:] == ["(((window left) right) third)", "(((window right) left) third)"]
    assert len(machine.asked) > 8
    updates = machine.follower.updates
    for number in range(16):
        machine.follower.observe(states[number % 2])
    assert machine.follower.updates - updates < 8, "both are settled"


def test_costs_that_were_not_looked_at_are_those_of_now_when_somebody_asks():
    machine = Rehearsing(lambda order: 1.0, trials=12, noise=(0.0,))
    for _ in range(120):
        machine.evaluate(EQUAL)
    follower, before = machine.follower, machine.follower.updates
    number = 0
    while number < 6 or follower.up_to_date:  # costs are looked at now and then all the same
        number += 1
        follower.observe(content(9.9e2 + number, 1e3, 9.8e2))
    assert number < 9
    looked = follower.updates - before
    now = content(9.9e2 + number, 1e3, 9.8e2)
    fresh = Catalogue({"window": all_relations()["window"], **now})
    expected = PlanCache(GRAPH, fresh, prejoin=PrejoinPolicy(enabled=False))
    assert follower.cache.cost_of(follower.current) == expected.cost_of(follower.current)
    assert looked <= 1
    assert follower.updates == before + looked + 1
    small = content(9.9e2, 6e2, 9.8e2)  # the same state still, but right is the smallest now
    decisions = [follower.observe(small) for _ in range(16)]
    assert {decision.reason for decision in decisions} != {"measured to be the fastest"}


@pytest.mark.parametrize("away", [0, 8])
@pytest.mark.parametrize(("rows", "orders"), [(2.1, 1), (9.0, 2)])
def test_a_new_state_much_like_a_known_one_begins_with_its_times(rows, orders, away):
    """A number at the edge makes a state of its own: the dearest plan, as measured, must not run there for trial.

    Nor where the streams come there by way of another state.
    """
    machine = Rehearsing(lambda order: 0.4 if order.endswith(" third)") else 1.0, trials=12)
    for _ in range(60):
        machine.evaluate(EQUAL)
    before = machine.order
    assert before.endswith(" third)")
    for _ in range(away):
        machine.evaluate(content(9.9e2, 1e3, 10.0))
    assert away == 0 or machine.order != before
    states = machine.follower.state
    machine.ran.clear()
    machine.evaluate(content(9.9e2, 1e3, 9.8e2 / rows))
    assert machine.follower.state == states + 1
    assert len({before, *machine.ran}) == orders


def test_costs_wait_while_the_closest_plans_are_compared_again():
    machine = Rehearsing(lambda order: 1.0, trials=12, noise=(0.0,))
    for _ in range(120):
        machine.evaluate(EQUAL)
    follower, updates, asked = machine.follower, machine.follower.updates, 0
    for number in range(320):
        decision = follower.observe(content(9.9e2 + number % 5, 1e3, 9.8e2))
        asked += decision.kind == "prepare"  # and is not done
        follower.executed((), 0.01)
    assert asked, "some plan was to be compared again"
    assert follower.updates - updates <= 21
    assert not follower.up_to_date
    assert follower.cache.cost and follower.up_to_date
