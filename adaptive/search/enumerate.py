"""Exact search: dynamic programming over connected sub-graphs, bushy trees, no cross products.

The pairs come from DPccp (Moerkotte and Neumann, VLDB 2006): each connected set is met once, and is
paired once with each connected set beside it that shares a variable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from adaptive.graph.query_graph import QueryGraph, bits
from adaptive.search.alternatives import Alternatives, Step, Table

DEFAULT_BUDGET = 10_000

# Two costs nearer than this are equal, and then the earlier alternative stays: sums of the same
# numbers in another order must not decide a plan.
COST_TOLERANCE = 1e-11


def connected_pairs(graph: QueryGraph | _Shape, within: int) -> Iterator[tuple[int, int]]:
    """Every unordered pair of disjoint connected sets inside `within` that share a variable, once.

    The first set holds the lowest position of the two.

    >>> from adaptive.graph.query_graph import Relation, RelationKind
    >>> chain = QueryGraph(tuple(Relation(f"r{i}", (f"v{i}", f"v{i + 1}"), RelationKind.STATIC)
    ...                          for i in range(3)))
    >>> [(f"{a:03b}", f"{b:03b}") for a, b in sorted(connected_pairs(chain, 0b111))]
    [('001', '010'), ('001', '110'), ('010', '100'), ('011', '100')]
    """
    for position in bits(within):
        lowest = 1 << position
        barred = lowest | lowest - 1  # sets with a lower position are met from that position
        for first in _grown(graph, lowest, barred, within):
            near = graph.neighbours(first) & within & ~barred
            for start in bits(near):
                # A partner that reaches `first` in several places is met from the lowest of them.
                lower = near & (1 << start + 1) - 1
                for second in _grown(graph, 1 << start, barred | first | lower, within):
                    yield first, second


def _grown(graph: QueryGraph | _Shape, mask: int, barred: int, within: int) -> Iterator[int]:
    """A connected set, and all connected sets that add to it without touching `barred`."""
    yield mask
    near = graph.neighbours(mask) & within & ~barred
    added = near & -near
    while added:  # all non-empty subsets of the neighbours, in increasing order
        yield from _grown(graph, mask | added, barred | near, within)
        added = (added - near) & near


@dataclass(frozen=True)
class _Shape:
    """What of a query graph its pairs depend on."""

    adjacency: tuple[int, ...]

    def neighbours(self, mask: int) -> int:
        """As `QueryGraph.neighbours`."""
        near = 0
        for position in bits(mask):
            near |= self.adjacency[position]
        return near & ~mask


def pairs_up_to(graph: QueryGraph, within: int, budget: int) -> list[tuple[int, int]] | None:
    """All pairs, smaller results first (so that inputs precede their users); None beyond budget."""
    found = _pairs_up_to(_Shape(graph.adjacency), within, budget)
    return None if found is None else list(found)


# Statistics change with every batch, a query's shape does not.
@lru_cache(maxsize=16)
def _pairs_up_to(shape: _Shape, within: int, budget: int) -> tuple[tuple[int, int], ...] | None:
    pairs: list[tuple[int, int]] = []
    for pair in connected_pairs(shape, within):
        if len(pairs) == budget:
            return None
        pairs.append(pair)
    pairs.sort(key=lambda pair: ((pair[0] | pair[1]).bit_count(), pair))
    return tuple(pairs)


def cheaper(step: Step, best: Step | None) -> bool:
    """Whether a step beats the best one so far by more than rounding."""
    return best is None or step.cost < best.cost * (1.0 - COST_TOLERANCE)


def search_exact(alternatives: Alternatives, pairs: list[tuple[int, int]], within: int) -> Table:
    """The cheapest step for every connected set inside `within`, given all its pairs by size."""
    table: Table = {}
    for position in bits(within):
        read = alternatives.read(1 << position)
        assert read is not None
        table[1 << position] = read
    for mask in alternatives.prejoins:
        if mask & ~within == 0:
            read = alternatives.read(mask)
            assert read is not None
            table[mask] = read
    for one, other in pairs:
        union = one | other
        best = table.get(union)
        for step in alternatives.joins(one, other, table):
            if cheaper(step, best):
                best = table[union] = step
    return table


def join_components(alternatives: Alternatives, table: Table, components: tuple[int, ...]) -> None:
    """Pair up the unconnected parts of the graph, fewest rows first, and enter that in the table.

    Nothing but a cross product is left here; each takes the cheaper of its two sides to hold.
    """
    rows = alternatives.estimator.rows
    first, *rest = sorted(components, key=lambda mask: (rows(mask), mask))
    for part in rest:
        best: Step | None = None
        for step in alternatives.cross(first, part, table):
            if cheaper(step, best):
                best = step
        assert best is not None
        first |= part
        table[first] = best
