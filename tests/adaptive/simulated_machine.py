"""A machine in simulated time, which takes longer or shorter for plans than they should cost."""

import random

from adaptive.plan import describe
from adaptive.plan_follower import PlanFollower
from adaptive.prejoin import PrejoinPolicy
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


class Rehearsing(Machine):
    """Has plans run beside the evaluations before they serve."""

    def __init__(self, factors, size=16, comparison=lambda order: 1.0, alone=True, **options):
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
            alone=alone,
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


# All sides keep nearly every row: which of them comes first hardly matters to the cost.
EQUAL = content(9.9e2, 1e3, 9.8e2)
FIRST = "(((window left) right) third)"
