"""What given plans of a query cost now; of those that were asked for before it is found quickly."""

from __future__ import annotations

from collections.abc import Callable

from adaptive.alternatives import RowEstimator
from adaptive.cost_model import JoinCosts
from adaptive.operator_prices import OperatorPrices
from adaptive.plan import PlanNode, verify
from adaptive.plan_cost import PlanPricing
from adaptive.plan_operators import PlanOperators, operators_of
from adaptive.query_graph import QueryGraph
from adaptive.row_estimates import RowEstimates
from adaptive.sub_plans import SubPlans

# Plans whose operators are remembered, so that pricing one again need not look for them again.
_KNOWN_PLANS = 256


class KnownPlans:
    """Prices any valid plan, from the operators of a plan cache's table where they are in it.

    `estimator` gives the rows of now. Without `clear` no table is known; after a change of statistics `forget` must be
    called. Raises PlanError for a plan that does not answer the query.
    """

    def __init__(
        self, graph: QueryGraph, costs: JoinCosts, estimator: Callable[[], RowEstimator]
    ) -> None:
        self._graph = graph
        self._costs = costs
        self._estimator = estimator
        self._table: tuple[SubPlans, RowEstimates, OperatorPrices] | None = None
        self._operators: dict[int, tuple[PlanNode, PlanOperators | None]] = {}
        self._costs_now: dict[int, tuple[PlanNode, float]] = {}

    def clear(self, table: tuple[SubPlans, RowEstimates, OperatorPrices] | None = None) -> None:
        """There is another table, or none."""
        self._table = table
        self._operators.clear()
        self.forget()

    def forget(self) -> None:
        """Some statistics have changed."""
        self._costs_now.clear()

    def cost(self, plan: PlanNode) -> float:
        """Microseconds of one evaluation of a plan."""
        known = self._costs_now.get(id(plan))
        if known is not None and known[0] is plan:
            return known[1]
        operators, cost = self._operators_of(plan), None
        if operators is not None and self._table is not None:
            cost = self._table[2].cost_of(operators)
        if cost is None:
            cost = self._pricing().price(plan).cost
        self._costs_now[id(plan)] = (plan, cost)
        return cost

    def rows(self, plan: PlanNode) -> dict[frozenset[str], float]:
        """Rows expected of every join of a plan and every leaf read, by relations' names."""
        operators = self._operators_of(plan)
        if operators is not None and self._table is not None:
            filtered = self._table[1].filtered
            return {names: float(filtered[number]) for names, number in operators.parts}
        return self._pricing().rows(plan)

    def repriced(self, plan: PlanNode) -> PlanNode:
        """The same plan with its rows and costs at every node."""
        verify(plan, self._graph)
        return self._pricing().repriced(plan)

    def _pricing(self) -> PlanPricing:
        return PlanPricing(self._estimator(), self._costs)

    def _operators_of(self, plan: PlanNode) -> PlanOperators | None:
        known = self._operators.get(id(plan))
        if known is None or known[0] is not plan:
            verify(plan, self._graph)
            operators = None
            if self._table is not None:
                operators = operators_of(plan, self._graph, self._table[0])
            if len(self._operators) >= _KNOWN_PLANS:
                del self._operators[next(iter(self._operators))]
            known = self._operators[id(plan)] = (plan, operators)
        return known[1]
