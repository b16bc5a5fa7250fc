"""Which plans are compared once more when all was tried in a state, and by which costs they are chosen."""

from adaptive.measured_times import MeasuredTimes
from adaptive.plan_cache import PlanCache
from adaptive.plan_families import small_changes
from adaptive.plan_trials import PlanTrials
from adaptive.prejoin import PrejoinPolicy
from adaptive.prepared_plans import PreparedPlans
from adaptive.switching import SwitchPolicy
from tests.adaptive.test_plan_follower import GRAPH
from tests.adaptive.test_plan_follower import catalogue as all_relations


class Settled:
    """Trials of a state in which all plans take about as long; whether costs were asked for is noted."""

    def __init__(self):
        self.cache = PlanCache(GRAPH, all_relations(), prejoin=PrejoinPolicy(enabled=False))
        self.times, self.looked = MeasuredTimes(), 0
        policy = SwitchPolicy(prepare_cost=5_000.0, switch_cost=50.0, trials=1)
        self.trials = PlanTrials(self._costs_now, policy, self.times, beside=True)
        self.running = self.cache.plan()
        self.prepared = PreparedPlans(self.running, 16)
        for _ in range(60):
            self.run()
        assert self.trials.settled

    def _costs_now(self):
        self.looked += 1
        return self.cache

    def run(self, compare=True):
        """One evaluation, and a comparison if one is asked for; returns the plan that was compared."""
        self.times.note(self.running, 0, 5e4)
        self.trials.ran(self.running, 5e4, self.prepared, 100.0)
        rival = self.trials.step(())
        if rival is not None and compare:
            self.times.compared(rival, self.running, 0, 1.0, 5e4)
            self.trials.rehearsed(rival)
        return rival

    def from_elsewhere(self):
        """A plan that was never tried here, and serves now in another state."""
        changes = [self.cache.otherwise(*change) for change in small_changes(self.running)]
        known = self.times.measured(0)
        plan = next(plan for plan in changes if plan is not None and plan not in known)
        self.prepared.add(plan, self.running)
        self.prepared.serve(plan)
        return plan


def test_costs_are_those_of_now_where_they_choose_what_served_elsewhere():
    settled = Settled()
    settled.looked = 0
    compared = [settled.run() for _ in range(200)]
    assert any(compared) and not settled.looked
    other = settled.from_elsewhere()
    settled.looked = 0
    compared = [settled.run() for _ in range(400)]
    assert other in compared
    assert settled.looked


def priced_at(settled, plan, times):
    """Let the model say that a plan costs so many times what it is."""
    cost_of = settled.cache.cost_of
    settled.cache.cost_of = lambda other: (times if other == plan else 1.0) * cost_of(other)


def test_what_served_elsewhere_is_compared_where_the_model_calls_it_ten_times_as_dear():
    settled = Settled()
    other = settled.from_elsewhere()
    priced_at(settled, other, 10.0)
    assert other in [settled.run() for _ in range(400)]


def test_what_served_elsewhere_and_is_too_dear_here_is_looked_at_once():
    settled = Settled()
    other = settled.from_elsewhere()
    priced_at(settled, other, 25.0)
    settled.looked = 0
    compared = [settled.run() for _ in range(400)]
    assert any(compared) and other not in compared
    assert settled.looked == 1


def test_the_running_plan_is_not_compared_with_itself():
    settled = Settled()
    settled.running = settled.from_elsewhere()
    compared = []
    for _ in range(400):
        compared.append(settled.run())
        assert settled.trials.step(()) != settled.running
    assert any(compared)


def test_a_plan_that_runs_before_it_was_compared_is_compared_when_another_one_runs():
    settled = Settled()
    usual, other = settled.running, settled.from_elsewhere()
    for _ in range(400):
        if settled.trials.step(()) == other:
            break
        settled.run(compare=settled.trials.step(()) is not None)
    assert settled.trials.step(()) == other
    settled.running = other
    for _ in range(2):
        settled.run(compare=False)
    assert settled.trials.step(()) is None
    settled.running = usual
    assert other in [settled.run() for _ in range(400)]
