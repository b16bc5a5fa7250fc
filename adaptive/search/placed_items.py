"""The filters and binds of a query graph that are placed by cost, numbered, and what each needs.

These are all binds, the filters that have a cost of calls, and those that read a variable of a bind. Sets
of them are bit masks (bit i = item i), as sets of relations are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from adaptive.graph.expensive_calls import CallCost
from adaptive.graph.query_graph import FilterKind, JoinFilter, QueryGraph, RelationKind, bits
from adaptive.heuristics.h4_late_uncertain_filters import uncertain_names

# So many sets of items are searched through for each part of a plan: six that depend on nothing.
_MOST_SETS = 64


@dataclass(frozen=True)
class PlacedItem:
    """One filter or bind: the variables of relations below it, and the items that precede it.

    `filter` is None for a bind. `inputs` are the variables of relations that its calls depend on.
    """

    name: str
    variables: frozenset[str]
    needs: int
    filter: JoinFilter | None
    call_cost: CallCost | None
    inputs: frozenset[str]
    uncertain: bool


def has_placed_items(graph: QueryGraph) -> bool:
    """Whether a query graph has anything to place by cost."""
    return bool(graph.extends) or any(filter_.call_cost is not None for filter_ in graph.filters)


class PlacedItems:
    """The items of one query graph, and the graphs in which join orders are searched for them.

    >>> from adaptive.graph.query_graph import Extend, Relation
    >>> graph = QueryGraph(
    ...     (Relation("oxygen", ("level", "error"), RelationKind.WINDOW),),
    ...     (JoinFilter("likely", frozenset({"p"}), 0.1), JoinFilter("high", frozenset({"level"}))),
    ...     extends=(Extend("p", "p", frozenset({"level", "error"}), CallCost(100.0)),))
    >>> items = PlacedItems(graph)
    >>> [(item.name, item.needs) for item in items.items]
    [('p', 0), ('likely', 1)]
    >>> [f.name for f in items.without.filters], [f.name for f in items.early.filters]
    (['high'], ['likely', 'high'])
    """

    def __init__(self, graph: QueryGraph) -> None:
        self.graph = graph
        self.items = self._numbered()
        self.number = {item.name: number for number, item in enumerate(self.items)}
        self.all = (1 << len(self.items)) - 1
        self.binds = sum(1 << n for n, item in enumerate(self.items) if item.filter is None)
        self._addable: dict[int, int] = {}
        uncertain = {item.name for item in self.items if item.uncertain}
        everything = frozenset(self.number)
        self.without = self._searched(everything)
        """The graph without any of the items."""
        self.early = self._searched(frozenset())
        """The graph in which all items that are filters are applied early, at no cost."""
        self.strict = self._without_probes(self.early)
        """The same, but that no live relation with items of its own is probed: H3 as it stands.

        What comes out of a probed index can be filtered after the join only.
        """
        self.late = self._searched(frozenset(uncertain))
        """The graph in which this is so but for those that H4 moves."""

    def _numbered(self) -> tuple[PlacedItem, ...]:
        graph, moved = self.graph, uncertain_names(self.graph)
        items: list[PlacedItem] = []
        computed: dict[str, int] = {}  # variable of a bind -> the bind and all that it needs
        below: dict[str, frozenset[str]] = {}  # variable of a bind -> variables of relations

        def traced(variables: Iterable[str]) -> tuple[frozenset[str], int]:
            base: set[str] = set()
            needs = 0
            for variable in variables:
                base |= below.get(variable, {variable})
                needs |= computed.get(variable, 0)
            return frozenset(base), needs

        for extend in graph.extends:
            base, needs = traced(extend.inputs)
            below[extend.variable] = base
            computed[extend.variable] = needs | 1 << len(items)
            inputs = traced(_inputs(extend.call_cost, extend.inputs))[0]
            call_cost, expensive = extend.call_cost, extend.name in moved
            items.append(PlacedItem(extend.name, base, needs, None, call_cost, inputs, expensive))
        for filter_ in graph.filters:
            base, needs = traced(filter_.variables)
            if filter_.call_cost is None and not needs:
                continue
            inputs = traced(_inputs(filter_.call_cost, filter_.variables))[0]
            call_cost, expensive = filter_.call_cost, filter_.name in moved
            items.append(
                PlacedItem(filter_.name, base, needs, filter_, call_cost, inputs, expensive)
            )
        return tuple(items)

    def _searched(self, left_out: frozenset[str]) -> QueryGraph:
        """The graph for a search of join orders, without binds and without some of the items.

        What is left of the items are plain filters on variables of relations. One that reads a bind
        must not slip into a pre-joined part, where nothing is bound.
        """
        graph = self.graph
        static = {
            variable
            for relation in graph.relations
            if relation.kind is RelationKind.STATIC
            for variable in relation.variables
        }
        filters = []
        wanted: set[str] = set()
        for filter_ in graph.filters:
            number = self.number.get(filter_.name)
            if number is None:
                filters.append(filter_)
                continue
            item = self.items[number]
            if filter_.name in left_out or (item.needs and item.variables <= static):
                wanted |= item.variables
            else:
                plain = replace(filter_, variables=item.variables, call_cost=None)
                if item.needs and plain.kind is not FilterKind.RANGE:
                    plain = replace(plain, kind=FilterKind.OTHER)
                filters.append(plain)
        for item in self.items:
            if item.filter is None:
                wanted |= item.variables
        output = None
        if graph.output is not None:
            output = frozenset((graph.output & graph.members.keys()) | wanted)
        return QueryGraph(graph.relations, tuple(filters), output)

    def _without_probes(self, graph: QueryGraph) -> QueryGraph:
        relations = tuple(
            replace(relation, indexable=False)
            if relation.kind is not RelationKind.STATIC and self.addable(1 << position)
            else relation
            for position, relation in enumerate(graph.relations)
        )
        return replace(graph, relations=relations)

    def addable(self, mask: int) -> int:
        """The items whose variables a set of relations binds."""
        found = self._addable.get(mask)
        if found is None:
            bound = self.graph.variables(mask)
            found = sum(1 << n for n, item in enumerate(self.items) if item.variables <= bound)
            self._addable[mask] = found
        return found

    def names(self, items: int) -> tuple[str, ...]:
        """The names of a set of items, by number."""
        return tuple(self.items[number].name for number in bits(items))

    def few(self) -> bool:
        """Whether there are so few sets of items that all placements can be searched."""
        return self._closed_sets(0, 0) <= _MOST_SETS

    def _closed_sets(self, start: int, chosen: int) -> int:
        """Number of sets that hold with each item what it needs, counted as far as that matters."""
        if start == len(self.items):
            return 1
        count = self._closed_sets(start + 1, chosen)
        if count <= _MOST_SETS and self.items[start].needs & ~chosen == 0:
            count += self._closed_sets(start + 1, chosen | 1 << start)
        return count


def _inputs(call_cost: CallCost | None, read: frozenset[str]) -> frozenset[str]:
    return read if call_cost is None or call_cost.inputs is None else call_cost.inputs
