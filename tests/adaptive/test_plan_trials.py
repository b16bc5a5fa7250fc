"""Plans that should cost about as much are tried, and what they took decides; in simulated time."""

import random

import pytest

from adaptive.measured_times import MEASURED_RUNS
from adaptive.plan import describe
from adaptive.plan_cache import PlanCache
from adaptive.plan_follower import PlanFollower
from adaptive.plan_trials import TRIAL_RUNS
from adaptive.prejoin import PrejoinPolicy
from adaptive.statistics import Catalogue
from adaptive.switching import SwitchPolicy
from tests.adaptive.test_plan_follower import GRAPH, Run, content
from tests.adaptive.test_plan_follower import catalogue as all_relations


class Machine(Run):
    """Takes longer or shorter for a plan than its cost says, and not always the same."""

    def __init__(self, factors, seed=1, noise=(0.0, 0.0, 0.02, 0.05, 0.6), **options):
        self.noise = noise
        policy = SwitchPolicy(prepare_cost=5_000.0, switch_cost=50.0, **options)
        super().__init__(policy)
        self.factors = factors
        self.chance = random.Random(seed)

    def evaluate(self, statistics_now):
        decision = self.decide(statistics_now)
        current = self.follower.current
        expected = self.follower.cache.cost_of(current)
        disturbed = 1.0 + self.chance.choice(self.noise)
        factor = self.factors(describe(current))
        self.follower.executed((), expected * factor * disturbed / 1e6)
        return decision

    @property
    def order(self):
        return describe(self.follower.current)


# All sides keep nearly every row: which of them comes first hardly matters to the cost.
EQUAL = content(9.9e2, 1e3, 9.8e2)
FIRST = "(((window left) right) third)"


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


class Rehearsing(Machine):
    """Has plans run beside the evaluations before they serve."""

    def __init__(self, factors, size=16, comparison=lambda order: 1.0, **options):
        super().__init__(factors, **options)
        self.comparison = comparison
        self.follower = PlanFollower(
            GRAPH,
            all_relations(),
            None,
            PrejoinPolicy(enabled=False),
            self.follower.policy,
            size,
            clock=lambda: self.now,
            rehearses=True,
        )
        self.ran = []

    def evaluate(self, statistics_now):
        follower, pending = self.follower, self.pending
        for _, plan in pending:
            costs = [follower.cache.cost_of(p) for p in (plan, follower.current)]
            one, other = (self.factors(describe(p)) for p in (plan, follower.current))
            one *= self.comparison(describe(plan))
            follower.prepared(plan, 0.005, one * costs[0] / (other * costs[1]))
        self.pending = []
        decision = super().evaluate(statistics_now)
        self.ran.append(self.order)
        return decision


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
