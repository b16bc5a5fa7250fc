"""Which join order a prepared query runs with, and when that changes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from adaptive import (
    Catalogue,
    CostModel,
    OperatorCounts,
    OptimizedPlan,
    PlanNode,
    PrejoinPolicy,
    RelationStatistics,
    optimize,
)
from adaptive.cardinality import CardinalityEstimator
from adaptive.optimizer import explain_kept
from adaptive.plan import describe
from adaptive.plan_cost import PlanPricing
from adaptive.switch_cause import cause, snapshot
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
# A saving of a smaller share of an order's cost is taken for noise.
_MARGIN = 0.05
# Static parts are computed once already, each by itself.
_APART = PrejoinPolicy(enabled=False)


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
    """What orders cost; without `adaptive`, they stay as written."""

    costs: CostModel
    adaptive: bool = True


class _ClusterOrder:
    """The order of one cluster: what runs, and what would cost least under the statistics of now."""

    def __init__(self, graph: Graph, policy: OrderPolicy) -> None:
        self._graph = query_graph(graph)
        self._costs = policy.costs
        self._catalogue = Catalogue(statistics_of(graph))
        self._best = self._search()
        self.current = self._best.plan if policy.adaptive else written_order(graph)
        self._seen = snapshot(self._graph, self._catalogue)
        self._refused: set[PlanNode] = set()
        self.history: list[OrderSwitch] = []

    def _search(self) -> OptimizedPlan:
        return optimize(self._graph, self._catalogue, self._costs, _APART)

    def _pricing(self) -> PlanPricing:
        return PlanPricing(CardinalityEstimator(self._graph, self._catalogue), self._costs)

    def wanted(self, statistics: Mapping[str, RelationStatistics]) -> PlanNode:
        """The order to run with under these statistics, the current one unless another costs less by the margin."""
        for name, known in statistics.items():
            self._catalogue.update(name, known)
        self._best = self._search()
        cost = self._pricing().price(self.current).cost
        saves = cost - self._best.cost > _MARGIN * cost
        return self._best.plan if saves and self._best.plan not in self._refused else self.current

    def counted(self, counts: Sequence[OperatorCounts]) -> None:
        """Take in what the joins of a run in the current order counted."""
        expected = self._pricing().rows(self.current)
        self._catalogue.fold(
            replace(count, estimated=expected.get(count.relations, count.estimated))
            for count in counts
        )
        self._catalogue.tick()

    def refuse(self, plan: PlanNode) -> None:
        """Want an order no more."""
        self._refused.add(plan)

    def switch(self, plan: PlanNode, now: float) -> None:
        """Run in another order from now on."""
        if plan == self.current:
            return
        price, after = self._pricing().price, snapshot(self._graph, self._catalogue)
        self.history.append(
            OrderSwitch(
                now,
                describe(self.current),
                describe(plan),
                price(self.current).cost,
                price(plan).cost,
                cause(self._seen, after),
            )
        )
        self.current, self._seen = plan, after

    def explained(self) -> OptimizedPlan:
        """The current order with the estimates of now, and its rivals."""
        return explain_kept(self._best, self.current, self._pricing().repriced)


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
        self._clusters = [_ClusterOrder(graph, policy) for graph in graphs]
        self.current = self._choice([cluster.current for cluster in self._clusters])

    def due(self, rows: Sequence[int]) -> bool:
        """Whether orders should be compared again, as live views have so many rows now."""
        if not self._adaptive:
            return False
        self._runs += 1
        return self._runs >= _RUNS or any(
            _ratio(before, now) > _CHANGE for before, now in zip(self._rows, rows, strict=True)
        )

    def compare(
        self, rows: Sequence[int], graphs: Sequence[Graph], ready: Callable[[str], bool]
    ) -> Choice | None:
        """The orders wanted under the statistics of now; None to stay with the current ones.

        `ready` tells of a choice's key whether its plan is prepared.
        """
        self._rows = tuple(rows)
        self._runs = 0
        wanted = self._choice(
            [
                cluster.wanted(statistics_of(graph))
                for cluster, graph in zip(self._clusters, graphs, strict=True)
            ]
        )
        if wanted.plans == self.current.plans:
            return None
        # Plans that differ in methods alone are one plan to the JVM.
        if wanted.key == self.current.key or ready(wanted.key):
            self.switch(wanted)
            return None
        return wanted

    def counted(self, counts: Mapping[int, Sequence[OperatorCounts]]) -> None:
        """Take in what the operators of a run counted, by cluster."""
        for place, cluster in enumerate(self._clusters):
            cluster.counted(counts.get(place, ()))

    def failed(self, choice: Choice) -> None:
        """A plan could not be prepared; its orders are not asked for again."""
        for cluster, plan in zip(self._clusters, choice.plans, strict=True):
            if plan != cluster.current:
                cluster.refuse(plan)

    def switch(self, choice: Choice) -> None:
        """Take over another choice, whose plan is prepared."""
        now = time.time()
        for cluster, plan in zip(self._clusters, choice.plans, strict=True):
            cluster.switch(plan, now)
        self.current = choice

    @property
    def explained(self) -> tuple[OptimizedPlan | None, ...]:
        """The current orders with the estimates of now; None for one as written."""
        return tuple(cluster.explained() if self._adaptive else None for cluster in self._clusters)

    @property
    def history(self) -> tuple[OrderSwitch, ...]:
        """Every change of an order so far."""
        switches = [switch for cluster in self._clusters for switch in cluster.history]
        return tuple(sorted(switches, key=lambda switch: switch.time))

    def _choice(self, plans: Sequence[PlanNode]) -> Choice:
        orders = [places(plan, names) for plan, names in zip(plans, self._names, strict=True)]
        return Choice(json.dumps(orders), tuple(plans))


def _ratio(before: int, now: int) -> float:
    return math.exp(abs(math.log(max(1, before)) - math.log(max(1, now))))
