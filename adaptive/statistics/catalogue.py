"""The catalogue: what is known about each relation."""

from __future__ import annotations

from collections.abc import Mapping

from adaptive.errors import StatisticsError
from adaptive.graph.query_graph import ColumnStatistics, Relation, RelationKind, RelationStatistics


class Catalogue:
    """Relation name -> statistics.

    >>> catalogue = Catalogue({"now": RelationStatistics(10.0, {"room": ColumnStatistics(20.0)})})
    >>> catalogue["now"].rows, catalogue.distinct("now", "room")
    (10.0, 10.0)
    """

    def __init__(self, relations: Mapping[str, RelationStatistics]) -> None:
        self._relations = dict(relations)

    def __getitem__(self, name: str) -> RelationStatistics:
        try:
            return self._relations[name]
        except KeyError:
            raise StatisticsError(f"no statistics for relation {name!r}") from None

    def column(self, name: str, variable: str) -> ColumnStatistics:
        """Statistics of one variable of a relation, its distinct count never above the rows.

        A variable without statistics counts as different in every row, as a key is.
        """
        return self[name].column(variable)

    def changed_rows(self, relation: Relation) -> float:
        """Rows of a relation that arrive and expire between two evaluations: none but of windows."""
        return self[relation.name].changed_rows if relation.kind is RelationKind.WINDOW else 0.0

    def distinct(self, name: str, variable: str) -> float:
        """Distinct values of one variable of a relation, at least 1."""
        return self.column(name, variable).distinct

    def card(self, name: str, variable: str | None = None, term: int | None = None) -> float:
        """Rows of a relation, or those of them in which a variable is a term: card(x=c).

        Exact where the term is listed among the most frequent values; else as many rows as each
        value that is not listed has on average. CQELS report, section 5.

        >>> known = Catalogue({"now": RelationStatistics(
        ...     100.0, {"room": ColumnStatistics(5.0, top=((7, 40), (9, 30)))})})
        >>> known.card("now"), known.card("now", "room", 7), known.card("now", "room", 8)
        (100.0, 40.0, 10.0)
        """
        if variable is None and term is None:
            return self[name].rows
        if variable is None or term is None:
            raise StatisticsError("card takes a variable and a term, or neither")
        column = self.column(name, variable)
        for listed, rows in column.top:
            if listed == term:
                return float(rows)
        others = column.distinct - len(column.top)
        if others <= 0.0:
            return 0.0
        rest = max(0.0, self[name].rows - sum(rows for _, rows in column.top))
        return rest / max(1.0, others)

    def selectivity(self, name: str, variable: str, term: int) -> float:
        """card(x=c) / card: the share of a relation's rows with that term, 0 when it is empty.

        >>> Catalogue({"now": RelationStatistics(0.0, {})}).selectivity("now", "room", 7)
        0.0
        """
        rows = self.card(name)
        return min(1.0, self.card(name, variable, term) / rows) if rows else 0.0
