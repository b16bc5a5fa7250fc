"""Which join order a prepared query runs with, and when that changes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adaptive import (
    Catalogue,
    CostModel,
    OperatorCounts,
    OptimizedPlan,
    PlanFollower,
    PlanNode,
    PrejoinPolicy,
    SwitchPolicy,
)
from adaptive.plan import describe
from sparkext.sql.join_orders import (
    Graph,
    names_of,
    places,
    query_graph,
    statistics_of,
    written_order,
)

# A view must have grown or shrunk by more than this before orders are compared again.
_CHANGE = 1.25
# At least so often they are compared anyway: values may be distributed otherwise in as many rows.
_RUNS = 50


@dataclass(frozen=True)
class OrderSwitch:
    """A change of join order: when (seconds since the epoch), from and to what, and why.

    Costs are estimated microseconds of one run, both under the statistics of that moment.
    """

    time: float
    old: str
    new: str
    cost_before: float
    cost_after: float
    cause: str


@dataclass(frozen=True)
class OrderPolicy:
    """What orders cost, when another one is worth it, how many stay prepared; without `adaptive`, as written."""

    costs: CostModel
    switching: SwitchPolicy
    cache_size: int
    adaptive: bool = True


@dataclass(frozen=True)
class Choice:
    """One order for each cluster of a query; `key` is how the JVM knows it."""

    key: str
    plans: tuple[PlanNode, ...]

    @property
    def text(self) -> str:
        """The orders in one line."""
        return "; ".join(describe(plan) for plan in self.plans) or "(no joins to order)"


class OrderChoice:
    """Follows the statistics of one query's clusters; belongs to the thread that runs the query."""

    def __init__(self, rows: Sequence[int], graphs: Sequence[Graph], policy: OrderPolicy) -> None:
        self._adaptive = policy.adaptive and bool(graphs)
        self._names = [names_of(graph) for graph in graphs]
        self._rows = tuple(rows)
        self._runs = 0
        # Static parts are computed once already, each by itself.
        apart = PrejoinPolicy(enabled=False)
        self._followers = [
            PlanFollower(
                query_graph(graph),
                Catalogue(statistics_of(graph)),
                policy.costs,
                apart,
                policy.switching,
                policy.cache_size,
                None if policy.adaptive else written_order(graph),
                adaptive=policy.adaptive,
            )
            for graph in graphs
        ]
        self.current = self._choice([follower.current for follower in self._followers])

    def due(self, rows: Sequence[int]) -> bool:
        """Whether orders should be compared again, as live views have so many rows now."""
        if not self._adaptive:
            return False
        self._runs += 1
        return self._runs >= _RUNS or any(
            _ratio(before, now) > _CHANGE for before, now in zip(self._rows, rows, strict=True)
        )

    def ran(self, seconds: float) -> None:
        """A run has ended, and took so long."""
        for follower in self._followers if self._adaptive else ():
            follower.passed(seconds)

    def compare(
        self, rows: Sequence[int], graphs: Sequence[Graph], ready: Callable[[str], bool]
    ) -> Choice | None:
        """The orders wanted under the statistics of now; None to stay with the current ones.

        `ready` tells of a choice's key whether its plan is prepared.
        """
        self._rows = tuple(rows)
        self._runs = 0
        plans = list(self.current.plans)
        for place, (follower, graph) in enumerate(zip(self._followers, graphs, strict=True)):
            decision = follower.observe(statistics_of(graph))
            if decision.kind != "stay":
                plans[place] = decision.plan
        wanted = self._choice(plans)
        if wanted.plans == self.current.plans:
            return None
        # Plans that differ in methods alone are one plan to the JVM. Followers that ask for what is there must be told
        # so: while they wait for it, they ask for nothing else.
        if wanted.key == self.current.key or ready(wanted.key):
            self.prepared(wanted, 0.0)
            return None
        return wanted

    def counted(self, counts: Mapping[int, Sequence[OperatorCounts]]) -> None:
        """Take in what the operators of a run counted, by cluster."""
        for place, follower in enumerate(self._followers):
            follower.executed(counts.get(place, ()))

    def prepared(self, choice: Choice, seconds: float) -> None:
        """A plan is ready: run it from now on."""
        for follower, plan in zip(self._followers, choice.plans, strict=True):
            follower.prepared(plan, seconds)
        self.switch(choice)

    def failed(self, choice: Choice) -> None:
        """A plan could not be prepared; its orders are not asked for again."""
        for follower, plan in zip(self._followers, choice.plans, strict=True):
            if plan != follower.current:
                follower.failed(plan)

    def switch(self, choice: Choice) -> None:
        """Take over another choice, whose plan is prepared."""
        now = time.time()
        for follower, plan in zip(self._followers, choice.plans, strict=True):
            follower.switched(plan, now)
        self.current = choice

    @property
    def explained(self) -> tuple[OptimizedPlan | None, ...]:
        """The current orders with the estimates of now; None for one as written."""
        return tuple(
            follower.explained() if self._adaptive else None for follower in self._followers
        )

    @property
    def history(self) -> tuple[OrderSwitch, ...]:
        """Every change of an order so far."""
        switches = [switch for follower in self._followers for switch in follower.history]
        return tuple(
            OrderSwitch(
                switch.time,
                describe(switch.old),
                describe(switch.new),
                switch.cost_before,
                switch.cost_after,
                switch.cause,
            )
            for switch in sorted(switches, key=lambda switch: switch.time)
        )

    def _choice(self, plans: Sequence[PlanNode]) -> Choice:
        orders = [places(plan, names) for plan, names in zip(plans, self._names, strict=True)]
        return Choice(json.dumps(orders), tuple(plans))


def _ratio(before: int, now: int) -> float:
    return math.exp(abs(math.log(max(1, before)) - math.log(max(1, now))))
