"""What plans took, in each state of the streams: their own runs, comparisons, and what is believed of a new state."""

import pytest

from adaptive.measured_times import MEASURED_RUNS, MeasuredTimes
from adaptive.plan import Scan
from adaptive.plan_trials import TRIAL_RUNS


def test_what_was_compared_in_turn_is_not_overruled_by_runs_at_other_times():
    times, one, other = MeasuredTimes(), Scan("a"), Scan("b")
    for _ in range(MEASURED_RUNS):
        times.note(one, 0, 100.0)
    times.compared(other, one, 0, 0.9, latest=100.0)
    for taken in (120.0, 115.0, 110.0):  # the machine is slower now
        times.note(other, 0, taken)
    assert times.prices(other, 0, lambda plan: 90.0) == pytest.approx({one: 100.0})
    for _ in range(10):
        times.note(other, 0, 200.0)
    (far_off,) = times.prices(other, 0, lambda plan: 90.0).values()
    assert far_off == pytest.approx(60.0, abs=5.0)


def test_a_new_state_begins_with_how_far_costs_were_off_in_the_one_it_is_like():
    times, one, other = MeasuredTimes(), Scan("a"), Scan("b")
    for _ in range(MEASURED_RUNS):
        times.note(one, 0, 100.0)
    times.compared(other, one, 0, 3.0, latest=100.0)
    before, now = {one: 10.0, other: 10.0}, {one: 40.0, other: 10.0}
    times.begin(1, 0)
    assert times.prices(one, 1, before.__getitem__) == {}, (
        "what they should cost there is not known"
    )
    times.note_costs(0, before.__getitem__)
    times.note_costs(0, now.__getitem__)  # it was noted before
    times.begin(1, 0)
    assert times.prices(one, 1, before.__getitem__) == {other: 30.0}
    assert times.prices(one, 1, now.__getitem__) == {other: 30.0}, "a third of what it seems"
    assert times.taken(other, 1) is None
    for plan, taken in ((one, 500.0), (other, 400.0)):
        for _ in range(MEASURED_RUNS):
            times.note(plan, 1, taken)
    assert times.prices(one, 1, now.__getitem__) == {other: 32.0}
    times.note_costs(1, now.__getitem__)
    times.begin(2, 1)
    times.note_costs(2, now.__getitem__)
    times.begin(3, 2)
    assert times.prices(one, 2, now.__getitem__) == {other: 32.0}
    assert times.prices(one, 3, now.__getitem__) == {}, "what was believed only is not handed on"


def test_what_costs_nothing_in_a_new_state_is_not_believed_to_take_nothing():
    times, one, other = MeasuredTimes(), Scan("a"), Scan("b")
    for plan in (one, other):
        for _ in range(MEASURED_RUNS):
            times.note(plan, 0, 100.0)
    times.note_costs(0, lambda plan: 10.0)
    times.begin(1, 0)
    assert times.prices(Scan("c"), 1, lambda plan: 0.0) == {}, "the windows may be empty there"
    costs = {one: 0.0, other: 20.0}
    assert times.prices(Scan("c"), 1, costs.__getitem__) == {other: 20.0}


def test_times_of_states_and_plans_left_long_ago_are_forgotten():
    times, plans = MeasuredTimes(), [Scan(f"r{number}") for number in range(60)]
    for state in range(40):
        times.note(plans[0], state, 100.0)
    assert (times.runs(plans[0], 0), times.runs(plans[0], 39)) == (0, 1)
    for plan in plans:
        times.note(plan, 39, 100.0)
    known = [times.runs(plan, 39) for plan in plans]
    assert known == [0] * 12 + [1] * 48


def test_times_are_asked_for_in_the_state_they_were_taken_in():
    times, plan, other = MeasuredTimes(), Scan("a"), Scan("b")
    for state, taken in ((0, 200.0), (1, 500.0)):
        for _ in range(MEASURED_RUNS - 1):
            times.note(plan, state, taken)
        assert times.taken(plan, state) is None
        times.note(plan, state, taken + 50.0)
    assert (times.taken(plan, 0), times.taken(plan, 1)) == (200.0, 500.0)
    assert times.taken(plan, 2) is None
    assert times.prices(plan, 0, lambda plan: 100.0) == {}, "no other one is known"
    assert times.prices(other, 0, lambda plan: 100.0) == {plan: 100.0}
    times.compared(other, plan, 0, 1.5, latest=900.0)
    assert times.prices(plan, 0, lambda plan: 100.0) == {other: 150.0}
    assert times.prices(other, 0, lambda plan: 120.0) == {plan: 80.0}
    for _ in range(MEASURED_RUNS):
        times.note(other, 0, 400.0)
    assert (times.taken(plan, 0), times.taken(other, 0)) == pytest.approx((350 / 1.5, 350.0))
    times.note(plan, 0, 0.0)
    assert times.runs(plan, 0) == MEASURED_RUNS
    for _ in range(100):
        times.note(plan, 1, 600.0)
    assert times.taken(plan, 0) == pytest.approx(350 / 1.5), "however long it runs elsewhere"
    assert times.runs(plan, 1) == MEASURED_RUNS + 100
    assert TRIAL_RUNS > MEASURED_RUNS
