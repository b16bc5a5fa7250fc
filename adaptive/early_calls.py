"""What expensive filters cost where a search of join orders applies them: as early as they can be.

Without this a search would take an order in which a dear filter meets many rows: for instance
one that probes the index over the filter's relation, so that it has to wait for the join.
"""

from __future__ import annotations

from collections.abc import Callable

from adaptive.placed_items import PlacedItems
from adaptive.placement import by_rank
from adaptive.placement_costs import Applied, PlacementCosts
from adaptive.query_graph import QueryGraph, bits


class EarlyCalls:
    """The microseconds that a step pays for the expensive filters that it is the first to decide.

    `graph` is one in which a join order is searched (see `PlacedItems`); a filter there stands for
    itself and for the binds that it reads. `pricing` has the statistics of now.
    """

    def __init__(
        self, graph: QueryGraph, items: PlacedItems, pricing: Callable[[], PlacementCosts]
    ) -> None:
        self._items = items
        self._pricing = pricing
        self._groups: dict[int, int] = {}
        for number, filter_ in enumerate(graph.filters):
            item = items.number.get(filter_.name)
            if item is not None:
                self._groups[number] = items.items[item].needs | 1 << item
        self.filters = sum(1 << number for number in self._groups)
        """The expensive filters of the graph, bit i = filter i."""
        self._known: dict[tuple[int, int, int], float] = {}
        self._known_for: PlacementCosts | None = None

    def cost(self, mask: int, before: int, decided: int) -> float:
        """Cost of the filters in `decided`, but not `before`, over the join of a set of relations."""
        pricing = self._pricing()
        if pricing is not self._known_for:
            self._known.clear()
            self._known_for = pricing
        key = (mask, before & self.filters, decided & self.filters)
        cost = self._known.get(key)
        if cost is None:
            applied = Applied(mask, pricing.decided(mask), self._of(key[1]))
            cost = 0.0
            for number in by_rank(pricing, applied, self._of(key[2]) & ~applied.items):
                cost += pricing.use(number, applied).cost
                applied = applied._replace(items=applied.items | 1 << number)
            self._known[key] = cost
        return cost

    def _of(self, filters: int) -> int:
        """The items that some expensive filters stand for."""
        items = 0
        for number in bits(filters):
            items |= self._groups[number]
        return items
