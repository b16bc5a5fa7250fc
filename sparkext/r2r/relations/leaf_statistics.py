"""What the optimizer is told of each leaf: rows and distinct values per variable, from counts that are there anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adaptive.graph.query_graph import ColumnStatistics, RelationStatistics
from adaptive.heuristics import bound_positions_rank, guessed_statistics, within_graph
from adaptive.heuristics.h1_bound_positions import Bound
from sparkext.language.nodes import QuotedPattern, TriplePattern, Variable
from sparkext.r2r.leaves.delta_patterns import TimedPattern
from sparkext.r2r.leaves.leaf import StaticLeaf, WindowLeaf
from sparkext.r2r.leaves.scopes import NamedGraph
from sparkext.r2r.patterns.pattern_places import GRAPH_PLACE

if TYPE_CHECKING:
    from sparkext.r2r.relations.datasets import TableKey
    from static_data.catalogue import Catalogue

# What a window is taken to hold before it has held anything; a wider one holds more.
NOW_ROWS = 1_000.0
ROWS_PER_SECOND = 200.0
MOST_ROWS = 10_000.0
# What is taken to arrive at an instant.
ARRIVED_ROWS = 16.0
# What is taken to be left of the rows for each constant inside a quoted triple, of which nothing is counted.
INNER_CONSTANT_SHARE = 0.5

_PREDICATE_ALONE: Bound = (False, True, False)


def table_statistics(
    catalogue: Catalogue, key: TableKey, variables: tuple[Variable, ...]
) -> RelationStatistics:
    """Statistics of a static pattern, from the catalogue of the tables it reads.

    Constants keep the share of rows that their value has: the counted one for frequent values, else the average.
    """
    rows = 0.0
    distinct = dict.fromkeys(range(4), 0.0)
    top: dict[int, tuple[tuple[int, int], ...]] = {}
    subject, predicate, object_ = key.constants
    for graph in key.graphs or ():
        relation = catalogue.relation(graph, predicate or None)
        share = 1.0
        for constant, column in ((subject, relation.subject), (object_, relation.object)):
            if constant and relation.rows:
                counted = dict(column.top).get(constant)
                share *= (counted or 1.0 / max(1, column.distinct) * relation.rows) / relation.rows
        matched = relation.rows * share * INNER_CONSTANT_SHARE ** sum(map(bool, key.inner))
        rows += matched
        distinct[0] += min(relation.subject.distinct, matched)
        distinct[1] += min(relation.predicate.distinct, matched)
        distinct[2] += min(relation.object.distinct, matched)
        distinct[3] += 1 if matched else 0
        if share == 1.0 and not key.quoted and len(key.graphs or ()) == 1:
            top = {0: relation.subject.top, 2: relation.object.top}
    columns = {
        variable.name: ColumnStatistics(
            max(1.0, distinct[_outermost(place, key.quoted)]), top.get(place, ())
        )
        for variable, place in zip(variables, key.columns, strict=False)
    }
    return RelationStatistics(rows, columns)


def _outermost(place: int, quoted: tuple[int, ...]) -> int:
    """The place of the triple itself in which a place inside a quoted triple lies."""
    while place > GRAPH_PLACE:
        place = quoted[(place - GRAPH_PLACE - 1) // 3]
    return place


def window_statistics(
    leaf: WindowLeaf,
    width_ms: int | None,
    present_rows: int,
    domains: Mapping[Variable, float],
    h1: bool = True,
) -> RelationStatistics:
    """Statistics of a window's pattern: what it holds now, or a guess from its width while it is empty.

    `width_ms` None is NOW. `domains` bounds distinct values by what static patterns know of the same variable. With
    `h1`, patterns with more bound positions are guessed to find less.
    """
    rows = float(present_rows)
    if isinstance(leaf.pattern, TimedPattern):  # these orders stay, however the window fills up
        rows = max(rows, guessed_window_rows(width_ms))
    if not rows:
        rows = guessed_window_rows(width_ms)
        bound = bound_positions(leaf.pattern)
        # The guess is that of a pattern with its predicate alone, the usual one.
        if h1 and bound_positions_rank(bound) < bound_positions_rank(_PREDICATE_ALONE):
            rows = guessed_statistics(bound, (), rows).rows
    columns = {
        v.name: ColumnStatistics(max(1.0, min(rows, domains.get(v, rows)))) for v in leaf.variables
    }
    if leaf.kept is not None:
        rows = min(rows, max(1.0, _product(columns[v.name].distinct for v in leaf.kept)))
    return RelationStatistics(rows, columns)


def arrived_statistics(leaf: WindowLeaf, domains: Mapping[Variable, float]) -> RelationStatistics:
    """Statistics of what a window's pattern finds in the elements of one instant."""
    columns = {
        v.name: ColumnStatistics(max(1.0, min(ARRIVED_ROWS, domains.get(v, ARRIVED_ROWS))))
        for v in leaf.variables
    }
    return RelationStatistics(ARRIVED_ROWS, columns)


def guessed_window_rows(width_ms: int | None) -> float:
    """Rows of a window that has held nothing yet, by its width (None: NOW).

    >>> guessed_window_rows(None), guessed_window_rows(30_000)
    (1000.0, 6000.0)
    """
    if width_ms is None:
        return NOW_ROWS
    return min(MOST_ROWS, max(NOW_ROWS, ROWS_PER_SECOND * width_ms / 1000.0))


def heuristic_statistics(leaf: StaticLeaf, h1: bool, h2: bool) -> RelationStatistics:
    """Statistics of a static pattern by heuristics H1 and H2 alone, where nothing may be known of the data."""
    names = [variable.name for variable in leaf.variables]
    bound = bound_positions(leaf.pattern) if h1 else _PREDICATE_ALONE
    guessed = guessed_statistics(bound, names)
    specific = not (isinstance(leaf.graph, NamedGraph) and isinstance(leaf.graph.name, Variable))
    return within_graph(guessed, specific) if h2 else guessed


def bound_positions(pattern: TriplePattern) -> Bound:
    """Which of subject, predicate and object of a pattern are terms.

    >>> from static_data.terms import Iri
    >>> bound_positions(TriplePattern(Variable("p"), Iri("http://e/at"), Iri("http://e/room")))
    (False, True, True)
    """
    # A quoted triple with variables counts as a variable, a ground one as a term.
    subject, predicate, object_ = (
        not isinstance(term, Variable | QuotedPattern) for term in pattern
    )
    return subject, predicate, object_


def _product(values: Iterable[float]) -> float:
    result = 1.0
    for value in values:
        result *= value
    return result
