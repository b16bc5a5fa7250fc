"""What the counts of a join say of the few relations that it links, beside all that came before.

A relation that closes a cycle of the query compares a row with the two or three relations that it
shares variables with, whatever else has been joined. What share of rows that keeps is therefore
known of these relations by themselves, too: a plan that closes one cycle after another tells of
each. Otherwise a plan that begins with another cycle would be priced as if its conditions did not
depend on each other, for as long as it never runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from adaptive.plan import Join, PlanNode, walk
from adaptive.query_graph import QueryGraph
from adaptive.statistics import OperatorCounts

# Cycles of up to so many relations are looked for.
_LONGEST = 4

# What fewer rows find says little.
_FEW_ROWS = 10.0

# What is expected to be none at all is taken to be so many: a ratio needs some.
_LEAST_ROWS = 1e-12


def linked_counts(
    graph: QueryGraph,
    plan: PlanNode,
    counted: Mapping[frozenset[str], float],
    rows: Callable[[frozenset[str]], float],
    modelled: Callable[[frozenset[str]], float],
) -> Iterator[OperatorCounts]:
    """Counts of cycles that were closed after more than their own relations had been joined.

    `counted` are the rows of joins of `plan`, `rows` gives what is expected of any connected set, and `modelled` that
    without what counts have corrected. The model is taken to be as wrong of the partners that a row of the cycle
    without the closing relation finds as it was of those that a row of the input found. (They need not find as many:
    what else has been joined may have left those alone that find partners.) Not told: what was counted by itself,
    joins that filter, inputs of few rows.
    """
    told: set[frozenset[str]] = set(counted)
    for node in walk(plan):
        if not isinstance(node, Join) or node.filters or node.relations not in counted:
            continue
        for closing, rest in (node.right, node.left), (node.left, node.right):
            before = counted.get(rest.relations, 0.0)
            if len(closing.relations) > 1 or before < _FEW_ROWS:
                continue
            (name,) = closing.relations
            for linked in _linked(graph, node.on, rest.relations):
                cycle = linked | {name}
                if cycle not in told:
                    told.add(cycle)
                    expected = modelled(node.relations) / max(modelled(rest.relations), _LEAST_ROWS)
                    wrong = counted[node.relations] / before / max(expected, _LEAST_ROWS)
                    partners = modelled(cycle) / max(modelled(linked), _LEAST_ROWS)
                    yield OperatorCounts(cycle, rows(cycle), rows(linked) * partners * wrong)


def _linked(
    graph: QueryGraph, on: tuple[str, ...], relations: frozenset[str]
) -> list[frozenset[str]]:
    """The smallest connected sets of at least two relations that bind all these variables.

    None if a single relation binds them: it is no cycle that is closed then.
    """
    mask = graph.mask(relations)
    positions = [p for p in range(len(graph.relations)) if mask >> p & 1]
    for size in range(1, _LONGEST):
        found = [
            chosen
            for chosen in (sum(1 << p for p in some) for some in combinations(positions, size))
            if all(graph.members[variable] & chosen for variable in on)
            and graph.is_connected(chosen)
        ]
        if found:
            return [frozenset(graph.names(chosen)) for chosen in found] if size > 1 else []
    return []
