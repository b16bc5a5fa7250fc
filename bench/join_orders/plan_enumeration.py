"""The k cheapest join orders of a query, under the statistics of one phase or of several together."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from adaptive import Catalogue, PlanNode, PrejoinPolicy, QueryGraph
from adaptive.cost_model import CostModel, JoinCosts
from adaptive.graph.query_graph import bits
from adaptive.search.alternatives import Alternatives, Step, Table
from adaptive.search.enumerate import connected_pairs
from adaptive.search.prejoin import prejoin_candidates
from adaptive.statistics.cardinality import CardinalityEstimator
from bench.report import BenchError

# Plans whose estimated costs are this near each other in every phase count as one.
TWINS = 0.05


@dataclass(frozen=True)
class PricedPlan:
    """A plan and what it is estimated to cost in each phase, in microseconds."""

    plan: PlanNode
    costs: tuple[float, ...]

    def resembles(self, other: PricedPlan) -> bool:
        """Whether both cost about the same in every phase."""
        return all(
            abs(math.log(max(a, 1e-9) / max(b, 1e-9))) < TWINS
            for a, b in zip(self.costs, other.costs, strict=True)
        )


@dataclass(frozen=True)
class _Way:
    """One plan for a set: its last step, which plans of the inputs it takes, and all its costs."""

    cost: float
    costs: np.ndarray
    step: Step
    left: _Way | None = None
    right: _Way | None = None


class PlanEnumeration:
    """Enumerates plans of one query graph; `phases` are the catalogues of its phases.

    Every plan is one that the optimizer may choose: same steps, same pre-joins.
    """

    def __init__(
        self,
        graph: QueryGraph,
        phases: Sequence[Catalogue],
        costs: JoinCosts | None = None,
        prejoin: PrejoinPolicy | None = None,
    ) -> None:
        if len(graph.components()) != 1:
            raise BenchError("join orders are enumerated for connected queries only")
        model, policy = costs or CostModel(), prejoin or PrejoinPolicy()
        estimators = [CardinalityEstimator(graph, catalogue) for catalogue in phases]
        allowed = {
            c.mask: c for c in prejoin_candidates(estimators[0], policy) if c.refusal is None
        }
        self._everything = graph.all_relations
        self._phases = [Alternatives(estimator, model, allowed) for estimator in estimators]
        pairs = connected_pairs(graph, graph.all_relations)
        self._pairs = sorted(pairs, key=lambda pair: ((pair[0] | pair[1]).bit_count(), pair))
        singles = [1 << position for position in bits(graph.all_relations)]
        self._sets = {*singles, *allowed, *(one | other for one, other in self._pairs)}
        free: Table = {mask: Step(0.0, mask, 0, "read") for mask in self._sets}
        self._reads = {
            mask: self._priced([a.read(mask) for a in self._phases])
            for mask in (*singles, *allowed)
        }
        # What each step costs by itself: its inputs are taken to be free here.
        self._steps: dict[int, list[tuple[Step, np.ndarray]]] = {}
        for one, other in self._pairs:
            for same in zip(*(a.joins(one, other, free) for a in self._phases), strict=True):
                self._steps.setdefault(one | other, []).append(self._priced(same))

    @staticmethod
    def _priced(same: Sequence[Step | None]) -> tuple[Step, np.ndarray]:
        steps = [step for step in same if step is not None]
        assert len({step[1:] for step in steps}) == 1
        return steps[0], np.array([step.cost for step in steps])

    def best(self, k: int, weights: Sequence[float]) -> list[PricedPlan]:
        """The k plans of least cost, cheapest first; a cost is the sum of phases by their weights."""
        weigh = np.asarray(weights, dtype=float)
        table: dict[int, list[_Way]] = {}
        for mask in sorted(self._sets, key=lambda mask: (mask.bit_count(), mask)):
            ways: list[_Way] = []
            if mask in self._reads:
                step, costs = self._reads[mask]
                ways.append(_Way(float(costs @ weigh), costs, step))
            for step, costs in self._steps.get(mask, ()):
                ways += _combined(step, costs, float(costs @ weigh), table, k)
            table[mask] = heapq.nsmallest(k, ways, key=lambda way: way.cost)
        return [self._plan(way) for way in table[self._everything]]

    def _plan(self, way: _Way) -> PricedPlan:
        # Each set occurs once in a tree, so that one tree is a table of its own.
        table: Table = {}
        waiting = [way]
        while waiting:
            one = waiting.pop()
            table[one.step.left | one.step.right] = one.step._replace(cost=one.cost)
            waiting += [side for side in (one.left, one.right) if side is not None]
        plan = self._phases[0].plan(self._everything, table)
        return PricedPlan(plan, tuple(float(cost) for cost in way.costs))

    def candidates(self, most: int, k: int = 300) -> list[PricedPlan]:
        """Up to `most` plans: the best of each phase and of all together, in turn.

        Of plans that are estimated to cost the same in all phases, only the first is taken while there are others.
        """
        phases = len(self._phases)
        unit = np.eye(phases)
        lists = [self.best(k, unit[phase]) for phase in range(phases)]
        # In a phase of large costs nothing else would count: each phase weighs the same.
        even = [1.0 / max(1e-9, found[0].costs[phase]) for phase, found in enumerate(lists)]
        lists = [*lists, self.best(k, even), self.best(k, np.ones(phases).tolist())]
        in_turn = [plan for rank in zip_longest(*lists) for plan in rank if plan is not None]
        chosen: dict[PlanNode, PricedPlan] = {}
        for twins in (False, True):
            for found in in_turn:
                if len(chosen) == most:
                    break
                if twins or not any(found.resembles(other) for other in chosen.values()):
                    chosen.setdefault(found.plan, found)
        return list(chosen.values())


def _combined(
    step: Step, costs: np.ndarray, own: float, table: dict[int, list[_Way]], k: int
) -> Iterator[_Way]:
    """A step over the best plans for its inputs: no more of them than can be among the k best."""
    lefts = table[step.left]
    if step.method == "index":
        for left in lefts:
            yield _Way(own + left.cost, costs + left.costs, step, left)
        return
    rights = table[step.right]
    for place, left in enumerate(lefts):
        for right in rights[: k // (place + 1)]:
            yield _Way(
                own + left.cost + right.cost, costs + left.costs + right.costs, step, left, right
            )
