"""The ways to join two parts of a query, each with its cost: what every search chooses from.

A search keeps a table (set of relations -> its cheapest `Step`). A step names its inputs as sets,
so a plan is read off the table top-down and is never stored nested, where it could go stale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

from adaptive.cost_model import JoinCosts
from adaptive.graph.plan import Join, JoinMethod, PlanNode, Prejoined, Scan
from adaptive.graph.query_graph import QueryGraph, bits
from adaptive.search.prejoin import PrejoinCandidate


class RowEstimator(Protocol):
    """The estimates that costing needs; `CardinalityEstimator` is the one in use."""

    graph: QueryGraph

    def rows(self, mask: int) -> float:
        """Rows of a set of relations after its filters."""

    def unfiltered_rows(self, mask: int) -> float:
        """Rows of a set of relations before any filter."""

    def changed_rows(self, position: int) -> float:
        """Rows of a relation that arrive and expire between two evaluations: none but of windows."""

    def decided(self, mask: int) -> int:
        """The filters that a set of relations can decide, bit i = filter i."""

    def share(self, filters: int) -> float:
        """The share of rows that a set of filters keeps."""

    def distinct_rows(self, mask: int, variables: Iterable[str]) -> float:
        """Distinct rows of a set of relations after projecting to some variables."""


class Step(NamedTuple):
    """The last operator of a sub-plan; `cost` is that of the whole sub-plan.

    Method "read" takes the rows of a leaf as they are: `left` is its set, `right` is empty.
    """

    cost: float
    left: int
    right: int
    method: JoinMethod | Literal["read"]


Table: TypeAlias = dict[int, Step]


class Alternatives:
    """Costs every step over one query graph.

    `prejoins` are the parts that may be kept pre-joined, by set. With `bushy` False, only a
    relation or a pre-join is ever built for an evaluation, never the result of a join.
    """

    def __init__(
        self,
        estimator: RowEstimator,
        costs: JoinCosts,
        prejoins: Mapping[int, PrejoinCandidate],
        bushy: bool = True,
    ) -> None:
        self.graph = estimator.graph
        self.estimator = estimator
        self.costs = costs
        self.prejoins = prejoins
        self.bushy = bushy
        # Set -> (rows in the index, filters already behind it, cost of having it).
        self._indexes: dict[int, tuple[float, int, float]] = {}
        for position, relation in enumerate(self.graph.relations):
            if relation.indexable:
                rows = estimator.unfiltered_rows(1 << position)
                cost = costs.window_index_cost(estimator.changed_rows(position))
                self._indexes[1 << position] = (rows, 0, cost)
        for mask, kept in prejoins.items():
            cost = costs.kept_cost(kept.rows, len(kept.variables))
            self._indexes[mask] = (kept.rows, estimator.decided(mask), cost)

    def read(self, mask: int) -> Step | None:
        """Read a relation or a pre-joined part row by row; None when the set is neither."""
        if mask in self.prejoins:
            rows, _, kept = self._indexes[mask]
            return Step(kept + self.costs.scan_cost(rows), mask, 0, "read")
        if mask & (mask - 1):
            return None
        rows = self.estimator.unfiltered_rows(mask)
        return Step(self.costs.scan_cost(rows), mask, 0, "read")

    def joins(self, one: int, other: int, table: Table) -> Iterator[Step]:
        """Every way to join two parts that share a variable, either of them being streamed."""
        for left, right in ((one, other), (other, one)):
            index = self._indexes.get(right)
            if index is not None:
                yield self._probe(left, right, index, table)
                # Building what is there already pays only if filters leave little of it.
                if index[1] == self.estimator.decided(right):
                    continue
            if self.bushy or right & (right - 1) == 0 or right in self.prejoins:
                yield self._build(left, right, "hash", table)

    def cross(self, one: int, other: int, table: Table) -> Iterator[Step]:
        """Both ways to pair all rows of two parts that share no variable."""
        yield self._build(one, other, "cross", table)
        yield self._build(other, one, "cross", table)

    def _probe(self, left: int, right: int, index: tuple[float, int, float], table: Table) -> Step:
        estimator = self.estimator
        right_rows, right_filters, kept = index
        out = estimator.unfiltered_rows(left | right)
        out *= estimator.share(estimator.decided(left) | right_filters)
        cost = self.costs.index_join_cost(estimator.rows(left), right_rows, out)
        return Step(table[left].cost + kept + cost, left, right, "index")

    def _build(self, left: int, right: int, method: Literal["hash", "cross"], table: Table) -> Step:
        estimator = self.estimator
        out = estimator.unfiltered_rows(left | right)
        out *= estimator.share(estimator.decided(left) | estimator.decided(right))
        join_cost = self.costs.hash_join_cost if method == "hash" else self.costs.cross_join_cost
        cost = join_cost(estimator.rows(left), estimator.rows(right), out)
        return Step(table[left].cost + table[right].cost + cost, left, right, method)

    def plan(self, mask: int, table: Table, step: Step | None = None) -> PlanNode:
        """The plan for a set, read off the table; `step` replaces the table's choice at the top."""
        chosen = table[mask] if step is None else step
        decided = self.estimator.decided
        if chosen.method == "read":
            return self._leaf(mask, chosen.cost, decided(mask))
        right: PlanNode
        if chosen.method == "index":
            _, right_done, kept = self._indexes[chosen.right]
            right = self._leaf(chosen.right, kept, 0)
        else:
            right_done = decided(chosen.right)
            right = self.plan(chosen.right, table)
        return Join(
            left=self.plan(chosen.left, table),
            right=right,
            on=self.graph.shared_variables(chosen.left, chosen.right),
            method=chosen.method,
            filters=self._filters(decided(mask) & ~decided(chosen.left) & ~right_done),
            estimated_rows=self.estimator.rows(mask),
            cost=chosen.cost,
        )

    def _leaf(self, mask: int, cost: float, filters: int) -> Scan | Prejoined:
        part = self.prejoins.get(mask)
        if part is None:
            whole = filters == self.estimator.decided(mask)
            rows = self.estimator.rows(mask) if whole else self.estimator.unfiltered_rows(mask)
            return Scan(self.graph.names(mask)[0], self._filters(filters), rows, cost)
        names = frozenset(self.graph.names(mask))
        return Prejoined(part.name, names, part.variables, part.filters, part.rows, cost)

    def _filters(self, filters: int) -> tuple[str, ...]:
        return tuple(self.graph.filters[number].name for number in bits(filters))
