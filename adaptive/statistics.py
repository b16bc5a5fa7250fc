"""The catalogue: what is known about each relation, and what executed operators really counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from adaptive.errors import StatisticsError
from adaptive.query_graph import ColumnStatistics, RelationStatistics


@dataclass(frozen=True)
class OperatorCounts:
    """Rows that came out of one executed operator, beside what was expected of it.

    `relations` names the part of the query that the operator had joined; rows are per evaluation.
    """

    relations: frozenset[str]
    estimated: float
    actual: float

    @property
    def error(self) -> float:
        """How many times too high or too low the estimate was, at least 1 (the q-error).

        >>> OperatorCounts(frozenset({"now", "name1"}), estimated=50.0, actual=200.0).error
        4.0
        """
        low, high = sorted((max(1.0, self.estimated), max(1.0, self.actual)))
        return high / low


class Catalogue:
    """Relation name -> statistics, kept up to date by `observe` and `fold`.

    >>> catalogue = Catalogue({"now": RelationStatistics(100.0, {"room": ColumnStatistics(20.0)})})
    >>> catalogue.observe("now", 250)
    >>> catalogue["now"].rows, catalogue.distinct("now", "room")
    (250.0, 20.0)
    """

    def __init__(self, relations: Mapping[str, RelationStatistics]) -> None:
        self._relations = dict(relations)
        self._observed: dict[frozenset[str], OperatorCounts] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._relations

    def __getitem__(self, name: str) -> RelationStatistics:
        try:
            return self._relations[name]
        except KeyError:
            raise StatisticsError(f"no statistics for relation {name!r}") from None

    def column(self, name: str, variable: str) -> ColumnStatistics:
        """Statistics of one variable of a relation, its distinct count never above the rows.

        A variable without statistics counts as different in every row, as a key is.
        """
        relation = self[name]
        column = relation.columns.get(variable)
        if column is None:
            return ColumnStatistics(max(1.0, relation.rows))
        # At least one value: an empty column joins to nothing by its row count, not by 1/0.
        distinct = max(1.0, min(column.distinct, relation.rows))
        return column if distinct == column.distinct else replace(column, distinct=distinct)

    def distinct(self, name: str, variable: str) -> float:
        """Distinct values of one variable of a relation, at least 1."""
        return self.column(name, variable).distinct

    def observe(self, name: str, rows: float) -> None:
        """Take over the counted rows of one relation; its columns stay as they were known."""
        self._relations[name] = replace(self[name], rows=float(rows))

    def fold(self, counts: Iterable[OperatorCounts]) -> None:
        """Remember what operators counted, the latest for each part of the query.

        A part of a single relation is not taken for the relation itself: filters may lie between.
        """
        for count in counts:
            for name in count.relations:
                self[name]  # a count about an unknown relation is an error, not a new relation
            self._observed[count.relations] = count

    def observed(self, relations: frozenset[str]) -> OperatorCounts | None:
        """The latest count for exactly this part of the query, None when it never ran."""
        return self._observed.get(relations)
