"""Which join order a prepared query runs with, and when that changes."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from adaptive import (
    Catalogue,
    CostModel,
    Join,
    OptimizedPlan,
    PlanNode,
)
from adaptive.alternatives import Alternatives, Table
from adaptive.cardinality import CardinalityEstimator
from adaptive.plan import describe, walk
from sparkext.sql.join_orders import (
    Graph,
    names_of,
    optimized,
    places,
    query_graph,
    statistics_of,
    written_order,
)

# A view must have grown or shrunk by more than this before orders are compared again.
_CHANGE = 1.25
# At least so often they are compared anyway: values may be distributed otherwise in as many rows.
_RUNS = 50
# A new order must be cheaper by this factor, as estimates err by more than that.
_MARGIN = 0.9


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
class Choice:
    """One order for each cluster of a query; `key` is how the JVM knows it."""

    key: str
    plans: tuple[PlanNode, ...]
    optimized: tuple[OptimizedPlan | None, ...]

    @property
    def text(self) -> str:
        """The orders in one line."""
        return "; ".join(describe(plan) for plan in self.plans) or "(no joins to order)"


class OrderChoice:
    """Chooses the orders of one query's clusters from their statistics."""

    def __init__(
        self,
        views: Sequence[str],
        rows: Sequence[int],
        graphs: Sequence[Graph],
        adaptive: bool = True,
    ) -> None:
        self._views = tuple(views)
        self._adaptive = adaptive and bool(graphs)
        self._rows = tuple(rows)
        self._switched_at = tuple(rows)
        self._runs = 0
        self.current = _choose(graphs) if adaptive else _as_written(graphs)
        self.history: list[OrderSwitch] = []

    def due(self, rows: Sequence[int]) -> bool:
        """Whether orders should be compared again, as live views have so many rows now."""
        if not self._adaptive:
            return False
        self._runs += 1
        return self._runs >= _RUNS or any(
            _ratio(before, now) > _CHANGE for before, now in zip(self._rows, rows, strict=True)
        )

    def compare(self, rows: Sequence[int], graphs: Sequence[Graph]) -> tuple[Choice, float] | None:
        """A choice worth changing to under the statistics of now, and what the current one costs; None to stay."""
        self._rows = tuple(rows)
        self._runs = 0
        best = _choose(graphs)
        if best.key == self.current.key:
            self.current = best  # the same work, but fresh estimates
            return None
        before = sum(map(cost_of, self.current.plans, graphs))
        return (best, before) if _cost(best) < before * _MARGIN else None

    def switch(self, choice: Choice, cost_before: float) -> None:
        """Take over another choice, whose plan is prepared."""
        cause = "other values in the views"
        ratios = [_ratio(old, new) for old, new in zip(self._switched_at, self._rows, strict=True)]
        most = max(range(len(ratios)), key=ratios.__getitem__, default=None)
        if most is not None and ratios[most] > 1:
            old, new = self._switched_at[most], self._rows[most]
            cause = f"rows of {self._views[most]}: {old:,} -> {new:,}"
        self.history.append(
            OrderSwitch(
                time.time(), self.current.text, choice.text, cost_before, _cost(choice), cause
            )
        )
        self._switched_at = self._rows
        self.current = choice


def cost_of(plan: PlanNode, graph: Graph) -> float:
    """What a plan costs under the statistics of a graph, whatever it was chosen for."""
    estimator = CardinalityEstimator(query_graph(graph), Catalogue(statistics_of(graph)))
    alternatives = Alternatives(estimator, CostModel(), {})
    table: Table = {}
    mask = estimator.graph.mask
    for node in walk(plan):
        if not isinstance(node, Join):
            step = alternatives.read(mask(node.relations))
            assert step is not None
            table[mask(node.relations)] = step
            continue
        left, right = mask(node.left.relations), mask(node.right.relations)
        steps = (
            alternatives.joins(left, right, table)
            if node.on
            else alternatives.cross(left, right, table)
        )
        fitting = [step for step in steps if (step.left, step.right) == (left, right)]
        table[left | right] = min(fitting, key=lambda step: step.cost)
    return table[estimator.graph.all_relations].cost


def _choose(graphs: Sequence[Graph]) -> Choice:
    found = tuple(optimized(graph) for graph in graphs)
    return _choice(graphs, tuple(one.plan for one in found), found)


def _as_written(graphs: Sequence[Graph]) -> Choice:
    return _choice(graphs, tuple(map(written_order, graphs)), (None,) * len(graphs))


def _choice(
    graphs: Sequence[Graph],
    plans: tuple[PlanNode, ...],
    found: tuple[OptimizedPlan | None, ...],
) -> Choice:
    orders = [places(plan, names_of(graph)) for plan, graph in zip(plans, graphs, strict=True)]
    return Choice(json.dumps(orders), plans, found)


def _cost(choice: Choice) -> float:
    return sum(plan.cost for plan in choice.plans)


def _ratio(before: int, now: int) -> float:
    return math.exp(abs(math.log(max(1, before)) - math.log(max(1, now))))
