"""Which measured pairs of relations say something of a set, when others of the set say it already.

The joins of three relations on the same variables are measured two by two, but two of these
measurements imply the third: who agrees with a third one agrees with each other. Counting it again
would take what the variables have to do with each other twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from adaptive.query_graph import QueryGraph, bits

Pair = tuple[int, int]
"""Positions of two relations, the lower one first."""


def implied_by(graph: QueryGraph, pairs: Iterable[Pair]) -> dict[Pair, int]:
    """For each measured pair the relations that, with either of which, a set says as much.

    Such a relation shares all variables of the pair with both, and both of its pairs are measured
    and come first: those with more variables, then by position. So of the pairs that a set keeps
    none closes a circle over the same variables.

    >>> from adaptive.query_graph import Relation, RelationKind
    >>> triple = ("element", "reading")
    >>> graph = QueryGraph((Relation("sensor", triple, RelationKind.WINDOW),
    ...                     Relation("value", (*triple, "v"), RelationKind.WINDOW),
    ...                     Relation("error", (*triple, "v", "e"), RelationKind.WINDOW)))
    >>> implied_by(graph, [(0, 1), (0, 2), (1, 2)])
    {(1, 2): 0, (0, 1): 0, (0, 2): 2}
    """
    variables = [frozenset(relation.variables) for relation in graph.relations]
    ranked = sorted(pairs, key=lambda pair: (-len(variables[pair[0]] & variables[pair[1]]), pair))
    measured: dict[int, int] = {}  # position -> those that it makes an earlier pair with
    implied: dict[Pair, int] = {}
    for low, high in ranked:
        shared = variables[low] & variables[high]
        others = measured.get(low, 0) & measured.get(high, 0)
        implied[low, high] = sum(1 << p for p in bits(others) if shared <= variables[p])
        measured[low] = measured.get(low, 0) | 1 << high
        measured[high] = measured.get(high, 0) | 1 << low
    return implied
