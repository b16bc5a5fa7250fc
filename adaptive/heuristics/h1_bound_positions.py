"""H1: a triple pattern is the more selective the more, and the rarer, of its positions are bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from adaptive.errors import StatisticsError
from adaptive.graph.query_graph import ColumnStatistics, RelationStatistics

# Whether subject, predicate and object are terms. A quoted triple pattern that holds a variable
# counts as a variable.
Bound: TypeAlias = tuple[bool, bool, bool]

# (s, p, o) < (s, ?, o) < (?, p, o) < (s, p, ?) < (?, ?, o) < (s, ?, ?) < (?, p, ?) < (?, ?, ?)
_ORDER: tuple[Bound, ...] = (
    (True, True, True),
    (True, False, True),
    (False, True, True),
    (True, True, False),
    (False, False, True),
    (True, False, False),
    (False, True, False),
    (False, False, False),
)

# Triples in a graph of which nothing is known.
GUESSED_TRIPLES = 1_000_000.0

# A value of a variable is taken to appear in so many rows on average.
_ROWS_PER_VALUE = 3.0


def bound_positions_rank(bound: Bound) -> int:
    """The place of a pattern in the order of the uncertainty paper, 0 the most selective, to 7.

    >>> bound_positions_rank((False, True, True)) < bound_positions_rank((True, True, False))
    True
    """
    return _ORDER.index(bound)


def bound_positions_order(patterns: Sequence[Bound]) -> tuple[int, ...]:
    """The positions of the patterns in `patterns`, most selective first, equal ones as written.

    Before: `?p dc:creator ?a . ?p rdf:type :Paper . ?a ?any "Ann"`. After: the type, then "Ann",
    then the creators.

    >>> bound_positions_order([(False, True, False), (False, True, True), (False, False, True)])
    (1, 2, 0)
    """
    return tuple(sorted(range(len(patterns)), key=lambda i: bound_positions_rank(patterns[i])))


def guessed_statistics(
    bound: Bound, variables: Iterable[str], triples: float = GUESSED_TRIPLES
) -> RelationStatistics:
    """Statistics of a pattern that was never counted, out of so many triples in its graph.

    From one row for a pattern without variables to all triples for one of variables only, in equal
    ratios by rank. Raises StatisticsError for fewer than one triple.

    Before, two patterns without statistics look the same; after, the one with an object is smaller:

    >>> [guessed_statistics(bound, ["person"], 1e7).rows
    ...  for bound in ((False, True, False), (False, True, True))]
    [1000000.0, 100.0]
    """
    if not triples >= 1.0:
        raise StatisticsError(f"a graph must be guessed to have at least 1 triple, not {triples!r}")
    rows = round(triples ** (bound_positions_rank(bound) / (len(_ORDER) - 1)), 6)
    values = max(1.0, rows / _ROWS_PER_VALUE)
    return RelationStatistics(rows, {name: ColumnStatistics(values) for name in variables})
