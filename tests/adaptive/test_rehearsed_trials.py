"""Plans that are run beside the evaluations before they serve, and what comparing them decides; in simulated time."""

import random

import pytest

from adaptive.plan import describe
from tests.adaptive.simulated_machine import EQUAL, FIRST, Rehearsing
from tests.adaptive.test_plan_follower import content


def test_what_is_rehearsed_need_not_be_tried_in_an_evaluation():
    machine = Rehearsing(lambda order: 0.6 if order.endswith(" left)") else 1.0, trials=3)
    for _ in range(80):
        machine.evaluate(EQUAL)
    assert machine.order.endswith(" left)")
    assert len(machine.asked) >= 2
    assert all(s.cause.startswith("measured") for s in machine.follower.history)
    assert {order for order in machine.ran if not order.endswith(" left)")} == {FIRST}
    asked = len(machine.asked)
    for _ in range(1000):
        machine.evaluate(EQUAL)
    assert len(machine.asked) - asked <= 3 * 8, "only what is close, after 8, 16, 32 ... runs"


def test_a_decision_that_hears_of_one_rehearsal_asks_for_the_next():
    machine = Rehearsing(lambda order: 1.0, trials=12, noise=(0.0,))
    asked = []
    for _ in range(30):
        before = len(machine.asked)
        machine.evaluate(EQUAL)
        asked.append(len(machine.asked) - before)
    assert sum(asked) > 6
    first = asked.index(1)
    assert asked[first : first + 6] == [1] * 6


def test_costs_are_not_computed_anew_while_nothing_but_trials_is_to_be_decided():
    machine = Rehearsing(lambda order: 1.0, trials=12, noise=(0.0,))
    for _ in range(8):
        machine.evaluate(EQUAL)
    machine.follower._cache.catalogue.corrections.learn(frozenset({"window", "left"}), 9.0)
    updates, asked = machine.follower.updates, len(machine.asked)
    for _ in range(5):  # what was learned fades by more than a tenth in each
        machine.evaluate({})
    # In one of them nothing was to be asked: what streams another window first had been tried already.
    assert (machine.follower.updates, len(machine.asked)) == (updates, asked + 4)
    for _ in range(5):
        machine.evaluate({})
    assert machine.follower.updates > updates


@pytest.mark.parametrize(("factor", "wins"), [(0.965, True), (0.99, False)])
def test_a_small_difference_counts_when_it_was_measured_often(factor, wins):
    """One comparison is worth five per cent; several are worth less than three, and come soon."""
    machine = Rehearsing(
        lambda order: factor if order.endswith(" left)") else 1.0, trials=3, noise=(0.0,)
    )
    for _ in range(40):
        machine.evaluate(EQUAL)
    assert machine.order.endswith(" left)") == wins
    for _ in range(400):
        machine.evaluate(EQUAL)
    assert len(machine.follower.history) == wins


@pytest.mark.parametrize("seed", range(4))
def test_plans_of_equal_time_do_not_take_turns_for_chance(seed):
    chance = random.Random(seed)
    machine = Rehearsing(
        lambda order: 1.0, comparison=lambda order: chance.gauss(1.0, 0.02), trials=12
    )
    for _ in range(600):
        machine.evaluate(EQUAL)
    assert len(machine.follower.history) <= 6


def test_a_comparison_that_was_disturbed_is_mended_by_later_ones():
    disturbed = iter([1.1, 1.1])
    machine = Rehearsing(
        lambda order: 0.92 if order.endswith(" left)") else 1.0,
        comparison=lambda order: next(disturbed, 1.0) if order.endswith(" left)") else 1.0,
        trials=3,
    )
    for _ in range(14):
        machine.evaluate(EQUAL)
    before = machine.order
    for _ in range(120):
        machine.evaluate(EQUAL)
    assert (before, machine.order.endswith(" left)")) == (FIRST, True)
    assert len(machine.follower.history) == 1


def test_a_plan_that_has_become_slower_by_itself_is_compared_again_soon():
    slow = []
    machine = Rehearsing(
        lambda order: 1.15 if order == FIRST and slow else 1.0, trials=3, noise=(0.0,)
    )
    for _ in range(200):
        machine.evaluate(EQUAL)
    assert machine.order == FIRST
    slow.append(True)
    for _ in range(20):
        machine.evaluate(EQUAL)
    assert machine.order != FIRST


def test_what_was_farther_is_compared_again_once_the_running_plan_has_become_slower():
    slow = []
    machine = Rehearsing(
        lambda order: 1.0 if order != FIRST else 1.6 if slow else 0.7, trials=12, noise=(0.0,)
    )
    for _ in range(200):
        machine.evaluate(EQUAL)
    assert machine.order == FIRST, "others took 1.43 times as long"
    slow.append(True)
    for _ in range(20):
        machine.evaluate(EQUAL)
    assert machine.order != FIRST


def test_what_was_never_measured_is_priced_as_what_is_like_it():
    """All plans that begin with right should be far cheaper, and none is: one is rehearsed, none runs.

    Which of them seems to be the cheapest changes with left and third, which hardly differ.
    """
    machine = Rehearsing(lambda order: 30.0 if order.startswith("(((window right)") else 1.0)
    for _ in range(20):
        machine.evaluate(content(3e2, 1e3, 9.8e2))
    before = machine.order
    for number in range(60):
        machine.evaluate(content((1e3, 9.0e2)[number % 2], 1e2, 9.5e2))
    assert machine.order == before
    tried = [plan for plan in machine.asked if describe(plan).startswith("(((window right)")]
    assert len(tried) == 1


def test_a_rehearsal_that_is_given_up_keeps_a_plan_from_running():
    machine = Rehearsing(lambda order: 1.0 if order == FIRST else float("inf"), trials=3)
    for _ in range(80):
        machine.evaluate(EQUAL)
    assert set(machine.ran) == {FIRST}
    assert machine.asked


def test_a_plan_that_the_model_prefers_wrongly_never_runs_where_it_is_rehearsed():
    machine = Rehearsing(lambda order: 5.0 if order.startswith("(((window third)") else 1.0)
    for _ in range(20):
        machine.evaluate(content(1e3, 9e2, 1e3))
    for _ in range(60):
        machine.evaluate(content(1e3, 9e2, 3e2))
    assert any(describe(plan).startswith("(((window third)") for plan in machine.asked)
    assert not any(order.startswith("(((window third)") for order in machine.ran)
