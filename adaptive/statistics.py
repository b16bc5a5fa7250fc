"""The catalogue: what is known about each relation, and what executed operators really counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from adaptive.corrections import HALF_LIFE, Corrections
from adaptive.errors import StatisticsError
from adaptive.query_graph import (
    ColumnStatistics,
    Relation,
    RelationKind,
    RelationStatistics,
)


@dataclass(frozen=True)
class OperatorCounts:
    """Rows that came out of one executed operator, beside what was expected of it.

    `relations` names the part of the query that the operator had joined; rows are per evaluation.
    """

    relations: frozenset[str]
    estimated: float
    actual: float


class Catalogue:
    """Relation name -> statistics, with counted joins.

    `observe` and `update` take over what is known about one relation, `fold` what executed operators
    counted. `half_life` is in evaluations.

    >>> catalogue = Catalogue({"now": RelationStatistics(100.0, {"room": ColumnStatistics(20.0)})})
    >>> catalogue.observe("now", 250)
    >>> catalogue["now"].rows, catalogue.distinct("now", "room")
    (250.0, 20.0)
    """

    def __init__(
        self, relations: Mapping[str, RelationStatistics], half_life: float = HALF_LIFE
    ) -> None:
        self._relations = dict(relations)
        self.corrections = Corrections(half_life)
        """What counted joins correct."""

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

    def observe(self, name: str, rows: float) -> None:
        """Take over the counted rows of one relation; its columns stay as they were known."""
        self._relations[name] = replace(self[name], rows=float(rows))

    def update(self, name: str, statistics: RelationStatistics) -> None:
        """Take over all statistics of one known relation."""
        self[name]  # an unknown relation is an error, not a new one
        self._relations[name] = statistics

    def fold(self, counts: Iterable[OperatorCounts]) -> None:
        """Take in what operators counted, and correct the estimates of their join sets by it.

        The estimate in a count is the one of the moment: with the correction in use. A count of a
        single relation is not taken for the relation itself, as filters may lie between.
        """
        learned = []
        for count in counts:
            for name in count.relations:
                self[name]  # a count about an unknown relation is an error, not a new relation
            # One row is added on both sides, so that 0 of 0.3 expected rows says next to nothing.
            error = math.log((max(0.0, count.actual) + 1.0) / (max(0.0, count.estimated) + 1.0))
            learned.append((count.relations, self.corrections.factor(count.relations) + error))
        for relations, factor in learned:  # only now: all estimates were made before any count
            self.corrections.learn(relations, factor)

    def tick(self) -> None:
        """One evaluation has passed: what operators counted before counts for a little less."""
        self.corrections.tick()
