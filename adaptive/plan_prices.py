"""What plans cost in the light of what was measured: of them, or of plans that should cost about as much."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from adaptive.plan import PlanNode

# Plans whose modelled costs are within this factor go much the same way.
_ALIKE = 1.5


class PlanPrices:
    """Prices on the scale of the cost model, on which the running plan costs `cost`.

    A plan that was measured has that price. Of one that should be cheaper than the running plan, and was never
    measured, the model may be as wrong as of the measured plan whose cost is nearest, if that is near.

    >>> from adaptive.plan import Scan
    >>> tried, other, far = Scan("a"), Scan("b"), Scan("c")
    >>> costs = {tried: 10.0, other: 11.0, far: 40.0}
    >>> prices = PlanPrices({tried: 150.0}, 100.0, costs.__getitem__)     # ten seemed enough
    >>> prices.of(tried), prices.of(other), prices.of(far)
    (150.0, 165.0, 40.0)
    """

    def __init__(
        self, measured: Mapping[PlanNode, float], cost: float, cost_of: Callable[[PlanNode], float]
    ) -> None:
        self.measured = measured
        self._cost = cost
        self._cost_of = cost_of
        self._by_cost: list[tuple[float, float]] | None = None

    def of(self, plan: PlanNode) -> float:
        """The price of a plan."""
        known = self.known(plan)
        return self._cost_of(plan) if known is None else known

    def known(self, plan: PlanNode) -> float | None:
        """The price of a plan, if it or its like was measured, and it matters."""
        measured = self.measured.get(plan)
        if measured is not None:
            return measured
        modelled = self._cost_of(plan)
        if modelled >= self._cost:
            return None
        if self._by_cost is None:
            costs = ((self._cost_of(other), price) for other, price in self.measured.items())
            self._by_cost = [(cost, price) for cost, price in costs if cost > 0.0]
        ratios = (
            (max(cost, modelled) / max(min(cost, modelled), 1e-9), price / cost)
            for cost, price in self._by_cost
        )
        ratio, off = min(ratios, default=(_ALIKE, 1.0))
        return modelled * off if ratio < _ALIKE else None
