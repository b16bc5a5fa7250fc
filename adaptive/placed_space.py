"""Which pairs of parts are joined where filters and binds are placed, and by which methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from adaptive.alternatives import Alternatives, RowEstimator, Step, Table
from adaptive.bounded_pairs import bounded_parts, pairs_among
from adaptive.cost_model import JoinCosts
from adaptive.enumerate import pairs_linked_up_to
from adaptive.placed_items import PlacedItems
from adaptive.prejoin import PrejoinCandidate
from adaptive.query_graph import bits

# So many alternatives per pair in the budget are as quick to keep as its pairs without items.
_ALTERNATIVES_PER_PAIR = 10

# Cross products of so many unconnected components are made in all orders.
_MOST_CROSSED = 4


class PlacedSpace(NamedTuple):
    """The pairs to compare, smaller results first, inside which components.

    `exact` says that these are all pairs of connected parts, `crossed` that cross products of
    unconnected components are made in all orders.
    """

    pairs: list[tuple[int, int]]
    components: tuple[int, ...]
    exact: bool
    crossed: bool


def placed_space(
    items: PlacedItems, kept: Iterable[int], budget: int, more: Callable[[], Iterable[int]]
) -> PlacedSpace | None:
    """All pairs if there are few, else those of `bounded_parts`; None where these are many too.

    An item that reads variables of relations that share none links them: they are crossed where it
    is applied, be it in the middle of the plan, not after all joins. `kept` are the parts that may
    be kept pre-joined, whether there is a space does not hang on them; `more` gives the parts to be
    compared in any case.
    """
    shape = _Shape(items)
    pairs = shape.all_pairs(budget)
    exact = pairs is not None and _fits(items, pairs, budget)
    if not exact:
        pairs = None
        extra = frozenset(more())
        for blocked in (frozenset(kept), frozenset[int]()):
            for links in ((False, True), (False,)):
                if pairs is None:
                    pairs = shape.some_pairs(budget, blocked, extra, links)
                    if pairs is not None and not _fits(items, pairs, budget):
                        pairs = None
    if pairs is None:
        return None
    return PlacedSpace(pairs, shape.components, exact, len(shape.components) == 1)


def _fits(items: PlacedItems, pairs: list[tuple[int, int]], budget: int) -> bool:
    return _alternatives(items, pairs) <= budget * _ALTERNATIVES_PER_PAIR


class _Shape:
    """What is linked in a query graph, by variables and, beside that, by items and cross products."""

    def __init__(self, items: PlacedItems) -> None:
        graph = items.without
        self._parts = graph.components()
        self._joined = tuple(graph.adjacency)
        self._shared = frozenset(graph.members.values())
        adjacency, links = list(self._joined), set(self._shared)
        for item in items.items:
            members = 0
            for variable in item.variables:
                members |= graph.members[variable]
            if sum(1 for part in self._parts if part & members) > 1:
                links.add(members)
                for part in self._parts:
                    for position in bits(members & part):
                        adjacency[position] |= members & ~part
        self._linked = tuple(adjacency)
        self._links = frozenset(links)
        self._connected = _components(self._linked)
        # Unions of components as a whole, as of a plan that crosses them after all other joins.
        self._unions: list[tuple[int, int]] = []
        self.components = self._connected
        if 1 < len(self._parts) <= _MOST_CROSSED:
            whole = (1 << len(graph.relations)) - 1
            self.components = (whole,)
            self._unions = _splits(self._parts)

    def all_pairs(self, budget: int) -> list[tuple[int, int]] | None:
        """All pairs of linked parts; None beyond the budget."""
        pairs: list[tuple[int, int]] = []
        for component in self._connected:
            more = pairs_linked_up_to(self._linked, component, budget - len(pairs))
            if more is None:
                return None
            pairs += more
        return self._with_unions(pairs)

    def some_pairs(
        self, budget: int, kept: frozenset[int], more: frozenset[int], links: tuple[bool, ...]
    ) -> list[tuple[int, int]] | None:
        """Those of `bounded_parts`, with and without the links that items make."""
        parts = more
        for linked in links:
            adjacency = self._linked if linked else self._joined
            shared = self._links if linked else self._shared
            for component in self._connected if linked else self._parts:
                found = bounded_parts(adjacency, shared, component, kept)
                if found is None:
                    return None
                parts |= found
        pairs = pairs_among(self._linked, parts, budget)
        return None if pairs is None else self._with_unions(list(pairs))

    def _with_unions(self, pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
        known = set(pairs)
        pairs += [pair for pair in self._unions if pair not in known]
        pairs.sort(key=lambda pair: ((pair[0] | pair[1]).bit_count(), pair))
        return pairs


def _splits(parts: tuple[int, ...]) -> list[tuple[int, int]]:
    """All pairs of disjoint unions of some parts, the one with the lowest relation first."""
    unions = [0]
    for part in parts:
        unions += [union | part for union in unions]
    return [
        (one, other)
        for one in unions[1:]
        for other in unions[1:]
        if not one & other and one & -one < other & -other
    ]


def _components(adjacency: tuple[int, ...]) -> tuple[int, ...]:
    found, rest = [], (1 << len(adjacency)) - 1
    while rest:
        part, near = 0, rest & -rest
        while near:
            part |= near
            grown = 0
            for position in bits(near):
                grown |= adjacency[position]
            near = grown & ~part
        found.append(part)
        rest &= ~part
    return tuple(found)


def _alternatives(items: PlacedItems, pairs: list[tuple[int, int]]) -> int:
    """How many ways to join there are about, each with each set of items before it."""
    count = 0
    for one, other in pairs:
        count += len(items.sets(one)) * len(items.sets(other))
    return 2 * count


class PlacedAlternatives(Alternatives):
    """The ways to join two parts, whatever has been applied to them; nothing is priced here."""

    def __init__(
        self,
        items: PlacedItems,
        estimator: RowEstimator,
        costs: JoinCosts,
        prejoins: Mapping[int, PrejoinCandidate],
        bushy: bool,
    ) -> None:
        super().__init__(estimator, costs, prejoins, bushy)
        self.items = items

    def inside(self, mask: int) -> int:
        """The items that a part has applied when it is kept pre-joined."""
        kept = self.prejoins.get(mask)
        number = self.items.number
        return sum(1 << number[f] for f in kept.filters if f in number) if kept else 0

    def joins(self, one: int, other: int, table: Table) -> Iterator[Step]:
        """Every way to join two parts; what items can filter may be built besides being probed."""
        if not self.graph.neighbours(one) & other:
            yield Step(0.0, one, other, "cross")
            yield Step(0.0, other, one, "cross")
            return
        for left, right in ((one, other), (other, one)):
            index = self.index(right)
            if index is not None:
                yield Step(0.0, left, right, "index")
                filtered = self.items.addable(right) & ~self.inside(right)
                if not filtered and index[1] == self.estimator.decided(right):
                    continue
            if self.bushy or right & (right - 1) == 0 or right in self.prejoins:
                yield Step(0.0, left, right, "hash")
