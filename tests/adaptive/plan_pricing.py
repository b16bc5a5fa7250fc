"""What any plan costs, reckoned node by node: what the costs of a search are held to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from adaptive.cost_model import JoinCosts
from adaptive.errors import PlanError
from adaptive.graph.plan import Join, PlanNode, Prejoined, Scan
from adaptive.search.alternatives import RowEstimator


class Priced(NamedTuple):
    """A part of a plan: its set of relations, filters applied so far, rows, and cost of it all."""

    mask: int
    filters: int
    rows: float
    cost: float


class PlanPricing:
    """Prices plans over one query graph; a plan of the search has the cost it had there.

    Filters count where the plan applies them, be it later than it could.
    """

    def __init__(self, estimator: RowEstimator, costs: JoinCosts) -> None:
        self._estimator = estimator
        self._costs = costs
        graph = estimator.graph
        self._filters: Mapping[str, int] = {
            filter_.name: 1 << number for number, filter_ in enumerate(graph.filters)
        }

    def price(self, plan: PlanNode) -> Priced:
        """Microseconds of one evaluation and rows of a plan; PlanError when it does not fit."""
        return self._price(plan, {})

    def rows(self, plan: PlanNode) -> dict[frozenset[str], float]:
        """Rows expected of every part of a plan but probed indexes, by the names of relations."""
        found: dict[frozenset[str], float] = {}
        self._price(plan, found)
        return found

    def _price(self, plan: PlanNode, found: dict[frozenset[str], float]) -> Priced:
        priced = self._join(plan, found) if isinstance(plan, Join) else self._leaf(plan)
        found[plan.relations] = priced.rows
        return priced

    def _leaf(self, plan: Scan | Prejoined) -> Priced:
        estimator, costs = self._estimator, self._costs
        mask = estimator.graph.mask(plan.relations)
        filters = self._applied(plan)
        rows = self._kept(mask, filters)
        if isinstance(plan, Scan):
            return Priced(mask, filters, rows, costs.scan_cost(estimator.unfiltered_rows(mask)))
        cost = costs.kept_cost(rows, len(plan.variables)) + costs.scan_cost(rows)
        return Priced(mask, filters, rows, cost)

    def _join(self, plan: Join, found: dict[frozenset[str], float]) -> Priced:
        costs = self._costs
        left = self._price(plan.left, found)
        probed = plan.method == "index"
        right = self._probed(plan.right) if probed else self._price(plan.right, found)
        mask = left.mask | right.mask
        filters = left.filters | right.filters
        out = self._estimator.unfiltered_rows(mask) * self._estimator.share(filters)
        if probed:
            join_cost = costs.index_join_cost
        elif plan.method == "hash":
            join_cost = costs.hash_join_cost
        else:
            join_cost = costs.cross_join_cost
        cost = left.cost + right.cost + join_cost(left.rows, right.rows, out)
        filters |= self._applied(plan)
        return Priced(mask, filters, self._kept(mask, filters), cost)

    def _probed(self, leaf: PlanNode) -> Priced:
        """An index that is there already: all its rows, and what having it costs."""
        graph, costs = self._estimator.graph, self._costs
        mask = graph.mask(leaf.relations)
        if isinstance(leaf, Prejoined):
            filters = self._applied(leaf)
            rows = self._kept(mask, filters)
            return Priced(mask, filters, rows, costs.kept_cost(rows, len(leaf.variables)))
        rows = self._estimator.unfiltered_rows(mask)
        changed = self._estimator.changed_rows(mask.bit_length() - 1)
        return Priced(mask, 0, rows, costs.window_index_cost(changed))

    def _kept(self, mask: int, filters: int) -> float:
        if filters == self._estimator.decided(mask):
            return self._estimator.rows(mask)
        return self._estimator.unfiltered_rows(mask) * self._estimator.share(filters)

    def _applied(self, plan: PlanNode) -> int:
        applied = 0
        for name in plan.filters:
            if name not in self._filters:
                raise PlanError(f"the plan applies the unknown filter {name!r}")
            applied |= self._filters[name]
        return applied
