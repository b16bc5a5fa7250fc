"""Plans that should cost about as much are tried, and what they took decides; in simulated time."""

import pytest

from adaptive.measured_times import MEASURED_RUNS
from adaptive.plan_trials import TRIAL_RUNS
from tests.adaptive.simulated_machine import EQUAL, FIRST, Machine, Rehearsing
from tests.adaptive.test_plan_follower import content


def test_the_fastest_of_the_plans_that_should_cost_the_same_is_found():
    machine = Machine(lambda order: 0.6 if order.endswith(" left)") else 1.0, trials=3)
    for _ in range(60):
        machine.evaluate(EQUAL)
    assert machine.order.endswith(" left)")
    causes = [switch.cause for switch in machine.follower.history]
    assert any(cause.startswith("tried") for cause in causes)
    before = len(causes)
    for _ in range(200):
        machine.evaluate(EQUAL)
    assert len(machine.follower.history) == before, "it has settled"


@pytest.mark.parametrize("seed", range(4))
def test_where_none_is_faster_the_first_one_comes_back(seed):
    machine = Machine(lambda order: 1.0 if order == FIRST else 1.5, seed=seed, trials=3)
    machine.evaluate(EQUAL)
    first = machine.order
    assert first == FIRST
    for _ in range(80):
        machine.evaluate(EQUAL)
    assert machine.order == first
    assert 0 < len(machine.asked) <= 3
    assert machine.follower.history[-1].cause.startswith("measured")


def test_a_hopeless_rival_is_given_up_soon():
    machine = Machine(lambda order: 1.0 if order == FIRST else 9.0, trials=1)
    elsewhere = 0
    for _ in range(60):
        machine.evaluate(EQUAL)
        elsewhere += machine.order != FIRST
    assert MEASURED_RUNS <= elsewhere < TRIAL_RUNS


def test_without_trials_the_cost_model_alone_decides():
    machine = Machine(lambda order: 0.5 if order.endswith(" left)") else 1.0)
    for _ in range(80):
        machine.evaluate(EQUAL)
    assert (machine.order, machine.asked) == (FIRST, [])


def test_short_evaluations_are_not_worth_a_trial():
    machine = Machine(lambda order: 1e-4, trials=3)
    for _ in range(200):
        machine.evaluate(EQUAL)
    assert machine.asked == []


@pytest.mark.parametrize(
    "times, alone, pays", [(1.0, False, True), (100.0, False, False), (100.0, True, True)]
)
def test_a_plan_that_is_little_of_an_evaluation_is_not_worth_a_trial(times, alone, pays):
    """Nor is one announced; an evaluation takes so many times what the plan should cost, as others do the rest."""
    machine = Rehearsing(lambda order: times, alone=alone, trials=3)
    trying = []
    for _ in range(80):
        machine.evaluate(EQUAL)
        trying.append(machine.follower.trying)
    assert bool(machine.asked) == pays
    assert any(trying[MEASURED_RUNS:]) == pays


@pytest.mark.parametrize("factor, pays", [(1.0, True), (1e-4, False)])
def test_where_trials_would_pay_they_are_to_come(factor, pays):
    """The follower says so from the first evaluations on: who waits until all was tried would go too soon else."""
    machine = Machine(lambda order: factor, trials=3)
    before = []
    while not machine.asked and len(before) < 40:
        machine.evaluate(EQUAL)
        before.append(machine.follower.trying)
    assert len(before) > MEASURED_RUNS
    assert set(before[MEASURED_RUNS:]) == {pays}
    assert bool(machine.asked) == pays


def test_each_state_of_the_stream_has_its_own_fastest_plan():
    """Where right is small, what is fast elsewhere is measured to be slow."""
    small = content(9.9e2, 2e2, 9.8e2)

    def factor(order):
        return 0.6 if order.endswith(" left)") else 1.0

    machine = Machine(factor, trials=3)
    for _ in range(8):
        for _ in range(12):
            machine.evaluate(EQUAL)
        there = machine.order
        for _ in range(12):
            machine.evaluate(small)
        here = machine.order
    assert there.endswith(" left)")
    assert here.startswith("(((window right)")
    assert len(machine.follower.history) < 60


def test_a_plan_that_the_model_prefers_wrongly_is_left_for_good():
    """It should take a third of the time, and takes longer: after a few runs the old one is back."""
    machine = Machine(lambda order: 5.0 if order.startswith("(((window left)") else 1.0)
    for _ in range(20):
        machine.evaluate(content(1e3, 9e2))
    before = machine.order
    for _ in range(60):
        machine.evaluate(content(3e2, 9e2))
    assert machine.order == before
    assert len(machine.follower.history) <= 4
