"""The searches of join orders that a query with expensive filters or binds has: one for each graph that suggests some.

Several graphs stand for such a query (see `PlacedItems`). Some are searched with every change of statistics, others
only when their orders are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adaptive.early_calls import EarlyCalls
from adaptive.placed_items import PlacedItems
from adaptive.placement_costs import PlacementCosts
from adaptive.plan_cache import PlanCache
from adaptive.query_graph import QueryGraph
from adaptive.statistics import Catalogue
from adaptive.sub_plans import Touched


class OrderSearches:
    """A plan cache for each graph, made when it is first asked for.

    `search` makes the cache of a graph, whose filters cost what `EarlyCalls` say; `pricing` gives what calls cost now.
    With each change the caller calls `outdated`, and then `follow`, which searches those in `followed` again. `first`
    is the one that knows the rows of all parts, if any does: the caller tells that of changes before the others.
    """

    def __init__(
        self,
        items: PlacedItems,
        catalogue: Catalogue,
        search: Callable[[QueryGraph, EarlyCalls | None], PlanCache],
        pricing: Callable[[], PlacementCosts],
        followed: Iterable[QueryGraph],
        first: QueryGraph | None = None,
    ) -> None:
        self._items = items
        self._catalogue = catalogue
        self._search = search
        self._pricing = pricing
        self._caches: dict[QueryGraph, PlanCache] = {}
        self._calls: dict[QueryGraph, EarlyCalls] = {}
        self._behind: set[QueryGraph] = set()
        self._followed = tuple(order for order in dict.fromkeys(followed) if order != first)
        self._current = frozenset(self._followed if first is None else (first, *self._followed))
        self._prices_seen = self._prices()

    def __getitem__(self, order: QueryGraph) -> PlanCache:
        """The search of a graph; the best order is that of now."""
        if order not in self._caches:
            self._add(order)
        elif order in self._behind:
            self._caches[order].apply({})
            self._caches[order].reprice(self._calls[order].filters)
        self._behind.discard(order)
        return self._caches[order]

    def follow(self) -> list[Touched]:
        """Take over what the catalogue knows now; what that touched."""
        found = [self[order].apply({}) for order in self._followed]
        if (prices := self._prices()) != self._prices_seen:
            self._prices_seen = prices
            found += [self._caches[o].reprice(self._calls[o].filters) for o in self._followed]
        return found

    def outdated(self) -> None:
        """Something has changed: what nobody follows is brought up to date when it is asked for."""
        self._behind = self._caches.keys() - self._current

    def _add(self, order: QueryGraph) -> None:
        calls = EarlyCalls(order, self._items, self._pricing)
        self._calls[order] = calls
        self._caches[order] = self._search(order, calls if calls.filters else None)

    def _prices(self) -> list[tuple[float | None, float]]:
        """What was observed of items but for the selectivities, which the searches follow alone."""
        known = [self._catalogue.filter(item.name) for item in self._items.items]
        return [(statistics.call_us, statistics.distinct_factor) for statistics in known]
