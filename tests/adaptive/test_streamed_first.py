"""Plans that stream another window first are tried although they should cost more, as the model may be wrong."""

from dataclasses import replace

import pytest

from adaptive.plan import describe
from tests.adaptive.simulated_machine import Machine, Rehearsing
from tests.adaptive.test_plan_follower import content

# Streaming `third`, and building all others for it, should cost 1.6 times as much as the cheapest plan.
FEW_RIGHT = content(9.9e2, 2e2, 9.8e2)
CHEAPEST = "(((window right) third) left)"
DEARER = "(third ((window right) left)*)"


def streams_third(order):
    return 0.2 if order.startswith("(third") else 1.0


def ended(kind, factors, state=FEW_RIGHT, **options):
    machine = kind(factors, noise=(0.0,), **options)
    for _ in range(80):
        machine.evaluate(state)
    return machine


def test_what_streams_another_window_is_found_to_be_fast_where_it_is_rehearsed():
    machine = ended(Rehearsing, streams_third, trials=3)
    assert machine.order == DEARER
    assert CHEAPEST in machine.ran
    assert machine.follower.history[-1].cause.startswith("measured: 0.3")


def test_it_is_not_tried_in_evaluations_nor_without_trials():
    for machine in ended(Machine, streams_third, trials=3), ended(Rehearsing, streams_third):
        assert machine.order.startswith("(((window right)")
        assert not any(describe(plan).startswith("(third") for plan in machine.asked)


def test_what_should_take_more_than_five_times_as_long_is_not_tried():
    """A window of which hardly anything changes is cheap to probe, and dear to stream."""
    long = {"left": replace(content(3e6, 0.0)["left"], changed=0.0)}
    machine = ended(
        Rehearsing,
        lambda order: 0.01 if order.startswith("(left") else 1.0,
        FEW_RIGHT | long,
        trials=3,
    )
    cache = machine.follower.cache
    assert cache.streaming("left").cost > 5.0 * cache.cost
    assert machine.asked
    assert not any(describe(plan).startswith("(left") for plan in machine.asked)


@pytest.mark.parametrize(("first", "found"), [(0.2, True), (1.0, False)])
def test_small_changes_of_what_serves_may_be_as_dear_as_that(first, found):
    """The fastest should cost 1.35 times the least, and is looked for where what should cost 1.5 times that serves."""
    other = "(((window third) left) right)"

    def factors(order):
        return 0.1 if order == other else first if order.startswith("(((right window)") else 1.0

    machine = ended(Rehearsing, factors, content(3e2, 9e2, 9e2), trials=3)
    cache = machine.follower.cache
    assert (other in machine.ran) == found
    assert 1.3 * cache.cost < cache.otherwise(["left"], ["third"]).cost < 1.4 * cache.cost
    assert describe(cache.streaming("right")) == "(((right window) left) third)"
