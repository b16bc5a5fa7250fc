"""H2: a pattern over one named graph is more selective than one over all graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adaptive.errors import StatisticsError
from adaptive.graph.query_graph import RelationStatistics

# Named graphs of a data set of which nothing is known.
GUESSED_GRAPHS = 10.0


def specific_graph_first_order(specific: Sequence[bool]) -> tuple[int, ...]:
    """The positions of graph patterns, those over a named graph first, equal ones as written.

    `specific` says of each whether its graph is a term, or the default graph. Before:
    `GRAPH ?g { P } GRAPH :localization { Q }`. After: Q, then P.

    >>> specific_graph_first_order([False, True])
    (1, 0)
    """
    return tuple(sorted(range(len(specific)), key=lambda position: not specific[position]))


def within_graph(
    statistics: RelationStatistics, specific: bool, graphs: float = GUESSED_GRAPHS
) -> RelationStatistics:
    """Guessed statistics of a pattern over all graphs, cut down to one where its graph is specific.

    Raises StatisticsError for fewer than one graph.

    >>> all_graphs = RelationStatistics(500.0, {})
    >>> within_graph(all_graphs, specific=False).rows, within_graph(all_graphs, specific=True).rows
    (500.0, 50.0)
    """
    if not graphs >= 1.0:
        raise StatisticsError(f"a data set must be guessed to have at least 1 graph, not {graphs}")
    if not specific:
        return statistics
    return RelationStatistics(
        statistics.rows / graphs,
        {
            name: replace(
                column,
                distinct=max(1.0, column.distinct / graphs),
                top=tuple((term, int(rows / graphs)) for term, rows in column.top),
            )
            for name, column in statistics.columns.items()
        },
    )
