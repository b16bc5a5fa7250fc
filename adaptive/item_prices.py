"""What each item costs at every part and after every set of items, for all of them at once.

The numbers are those of `PlacementCosts.use`, which says what they mean.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from adaptive.cardinality import MAX_ROWS
from adaptive.cost_model import FloatArray
from adaptive.placed_states import PlacedStates
from adaptive.placement_costs import PlacementCosts
from adaptive.row_estimates import RowEstimates
from adaptive.sub_plans import IntArray

# What the price of an item hangs on but for rows: if it is as before, so is the price.
_Known: TypeAlias = tuple[object, ...]


class ItemPrices:
    """Microseconds of each step of `PlacedStates`, and the share of rows behind each state."""

    def __init__(self, states: PlacedStates, estimates: RowEstimates) -> None:
        self._states = states
        self._estimates = estimates
        self.shares: FloatArray = np.ones(len(states.items))
        self.costs: FloatArray = np.zeros(len(states.source))
        self._known: dict[int, _Known] = {}

    def sync(self, pricing: PlacementCosts) -> int:
        """Take over the prices and selectivities of now; returns the items (bits) that changed."""
        changed = 0
        shares = False
        for number, item in enumerate(pricing.items.items):
            observed = pricing.observed(number)
            share = pricing.selectivities[number]
            sources = () if item.price is None else tuple(pricing.combinations(number))
            known = (share, observed.call_us, observed.distinct_factor, sources)
            if (before := self._known.get(number)) != known:
                shares = shares or before is None or before[0] != share
                self._known[number] = known
                changed |= 1 << number
        if shares:
            self.shares = self._share(self._states.items, pricing)
        return changed

    def update(self, steps: IntArray, pricing: PlacementCosts) -> None:
        """Re-price some steps."""
        kinds = self._states.item[steps]
        for number in np.unique(kinds).tolist():
            chosen = steps[kinds == number]
            self.costs[chosen] = self._cost(number, self._states.source[chosen], pricing)

    def _share(self, items: IntArray, pricing: PlacementCosts) -> FloatArray:
        shares: FloatArray = np.ones(len(items))
        for number, selectivity in enumerate(pricing.selectivities):
            shares[items >> number & 1 == 1] *= selectivity
        return shares

    def _cost(self, number: int, sources: IntArray, pricing: PlacementCosts) -> FloatArray:
        item, observed = pricing.items.items[number], pricing.observed(number)
        price = item.price
        if price is None:
            return np.zeros(len(sources))
        joined = self._estimates.filtered[self._states.part[sources]]
        rows: FloatArray = joined * self.shares[sources]
        calls = rows
        if price.cached:
            distinct = self._distinct(number, sources, joined, rows, pricing)
            calls = np.minimum(rows, distinct * observed.distinct_factor)
        call_us = price.call_us if observed.call_us is None else observed.call_us
        cost: FloatArray = calls * call_us + (rows - calls) * price.hit_us
        return cost

    def _distinct(
        self,
        number: int,
        sources: IntArray,
        joined: FloatArray,
        rows: FloatArray,
        pricing: PlacementCosts,
    ) -> FloatArray:
        applied = self._states.items[sources]
        room: FloatArray = np.ones(len(sources))
        for position, base, values in pricing.combinations(number):
            own = applied & pricing.items.addable(1 << position)
            kept = np.zeros(len(sources))
            if base:
                others = joined * self._share(applied & ~own, pricing)
                kept = np.minimum(1.0, others / base) * self._share(own, pricing)
            lost = (1.0 - kept) ** max(1.0, base / values)
            room = np.minimum(MAX_ROWS, room * values * (1.0 - lost))
        return np.minimum(room, rows)
