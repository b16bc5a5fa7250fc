"""What the optimizer is told of each leaf: rows and distinct values per variable, from counts that are there anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from adaptive.query_graph import ColumnStatistics, RelationStatistics
from sparkext.language.algebra import Variable
from sparkext.r2r.leaves import WindowLeaf

if TYPE_CHECKING:
    from sparkext.r2r.datasets import TableKey
    from static_data.catalogue import Catalogue

# What a window is taken to hold before it has held anything; a wider one holds more.
NOW_ROWS = 1_000.0
ROWS_PER_SECOND = 200.0
MOST_ROWS = 10_000.0


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
        matched = relation.rows * share
        rows += matched
        distinct[0] += min(relation.subject.distinct, matched)
        distinct[1] += min(relation.predicate.distinct, matched)
        distinct[2] += min(relation.object.distinct, matched)
        distinct[3] += 1 if matched else 0
        if share == 1.0 and len(key.graphs or ()) == 1:
            top = {0: relation.subject.top, 2: relation.object.top}
    columns = {
        variable.name: ColumnStatistics(max(1.0, distinct[place]), top.get(place, ()))
        for variable, place in zip(variables, key.columns, strict=False)
    }
    return RelationStatistics(rows, columns)


def window_statistics(
    leaf: WindowLeaf, width_ms: int | None, present_rows: int, domains: Mapping[Variable, float]
) -> RelationStatistics:
    """Statistics of a window's pattern: what it holds now, or a guess from its width while it is empty.

    `width_ms` None is NOW. `domains` bounds distinct values by what static patterns know of the same variable.
    """
    rows = float(present_rows)
    if not rows:
        seconds = 1.0 if width_ms is None else width_ms / 1000.0
        rows = (
            NOW_ROWS
            if width_ms is None
            else min(MOST_ROWS, max(NOW_ROWS, ROWS_PER_SECOND * seconds))
        )
    columns = {
        v.name: ColumnStatistics(max(1.0, min(rows, domains.get(v, rows)))) for v in leaf.variables
    }
    if leaf.kept is not None:
        rows = min(rows, max(1.0, _product(columns[v.name].distinct for v in leaf.kept)))
    return RelationStatistics(rows, columns)


def _product(values: Iterable[float]) -> float:
    result = 1.0
    for value in values:
        result *= value
    return result
