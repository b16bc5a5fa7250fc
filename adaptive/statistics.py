"""The catalogue: what is known about each relation, and what executed operators really counted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from adaptive.corrections import HALF_LIFE, Corrections
from adaptive.errors import StatisticsError
from adaptive.expensive_calls import FilterStatistics
from adaptive.query_graph import (
    ColumnStatistics,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.stream_states import StreamStates

_UNSEEN = FilterStatistics()


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
    """Relation name -> statistics, with measured pairs of relations and counted joins.

    `observe` and `update` take over what is known about one relation, `set_match` what a probe
    found about two, `fold` what executed operators counted. `half_life` is in evaluations.

    >>> catalogue = Catalogue({"now": RelationStatistics(100.0, {"room": ColumnStatistics(20.0)})})
    >>> catalogue.observe("now", 250)
    >>> catalogue["now"].rows, catalogue.distinct("now", "room")
    (250.0, 20.0)
    """

    def __init__(
        self, relations: Mapping[str, RelationStatistics], half_life: float = HALF_LIFE
    ) -> None:
        self._relations = dict(relations)
        self._observed: dict[frozenset[str], OperatorCounts] = {}
        self._matches: dict[tuple[str, str], float] = {}
        self._match_errors: dict[object, float] = {}
        self.matches_version = 0
        """Grows with each change of a pair match."""
        self._states = StreamStates(Corrections(half_life))
        self._filters: dict[str, FilterStatistics] = {}
        self.filters_version = 0
        """Grows with each change of what is known about a filter."""

    def __contains__(self, name: object) -> bool:
        return name in self._relations

    @property
    def corrections(self) -> Corrections:
        """What counted joins correct in the present state of the streams."""
        return self._states.corrections

    @property
    def corrections_version(self) -> tuple[int, int]:
        """Another one whenever a correction in use may have changed."""
        return self._states.version, self.corrections.version

    @property
    def state(self) -> int:
        """The number of the present state of the streams, see `recognise`."""
        return self._states.number

    @property
    def like(self) -> int | None:
        """The number of the state that the present one was much like when it was new, if there was one."""
        return self._states.like

    def recognise(
        self,
        changed: Mapping[str, RelationStatistics] | None = None,
        pairs: Mapping[tuple[str, str], float] | None = None,
        errors: Mapping[tuple[str, str], float] | None = None,
    ) -> int:
        """Tell in which state the streams are with these statistics, which are to be taken over next.

        Corrections are those of that state from now on. `errors` are the standard errors of those pairs
        that were not counted but sampled, in rows; of other pairs they are as they were told last.
        """
        rows: dict[object, float] = dict(self._matches.items())
        for name, known in (*self._relations.items(), *(changed or {}).items()):
            rows[name] = known.rows
        for (left, right), counted in (pairs or {}).items():
            rows[_in_order(left, right)] = counted
            self._match_errors.pop(_in_order(left, right), None)
        for (left, right), error in (errors or {}).items():
            if error and _in_order(left, right) in rows:
                self._match_errors[_in_order(left, right)] = error
        return self._states.recognise(rows, self._match_errors)

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

    def match(self, left: str, right: str) -> float | None:
        """The measured rows of the join of two relations, None when they were not measured."""
        return self._matches.get(_in_order(left, right))

    def matches(self) -> Mapping[tuple[str, str], float]:
        """All measured pairs, names in alphabetical order -> rows of their join."""
        return self._matches

    def set_match(self, left: str, right: str, rows: float | None) -> None:
        """Take over the rows of the join of two relations, measured on their content of now.

        Estimates of every set that holds both are multiplied by measured over estimated rows of
        the pair. None forgets what was measured.
        """
        for name in (left, right):
            self[name]
        if left == right:
            raise StatisticsError(f"a match needs two relations, not {left!r} twice")
        pair = _in_order(left, right)
        if rows is None:
            self._match_errors.pop(pair, None)
            if self._matches.pop(pair, None) is not None:
                self.matches_version += 1
            return
        if not 0.0 <= rows < math.inf:
            raise StatisticsError(f"the match of {left!r} and {right!r} must be at least 0")
        if self._matches.get(pair) != rows:
            self._matches[pair] = float(rows)
            self.matches_version += 1

    def filter(self, name: str) -> FilterStatistics:
        """What was observed of a filter or bind, as yet nothing for one never told of."""
        return self._filters.get(name, _UNSEEN)

    def set_filter(self, name: str, statistics: FilterStatistics) -> None:
        """Take over what was observed of a filter or bind."""
        if self.filter(name) != statistics:
            self._filters[name] = statistics
            self.filters_version += 1

    def fold(self, counts: Iterable[OperatorCounts]) -> None:
        """Take in what operators counted, and correct the estimates of their join sets by it.

        The estimate in a count is the one of the moment: with the correction in use. A count of a
        single relation is not taken for the relation itself, as filters may lie between.
        """
        learned = []
        for count in counts:
            for name in count.relations:
                self[name]  # a count about an unknown relation is an error, not a new relation
            self._observed[count.relations] = count
            # One row is added on both sides, so that 0 of 0.3 expected rows says next to nothing.
            error = math.log((max(0.0, count.actual) + 1.0) / (max(0.0, count.estimated) + 1.0))
            learned.append((count.relations, self.corrections.factor(count.relations) + error))
        for relations, factor in learned:  # only now: all estimates were made before any count
            self.corrections.learn(relations, factor)

    def tick(self) -> None:
        """One evaluation has passed: what operators counted before counts for a little less."""
        self.corrections.tick()

    def known(self, graph: QueryGraph) -> tuple[object, ...]:
        """All that estimates of a query graph are made of: equal to what it was where none of it has changed.

        >>> catalogue = Catalogue({"now": RelationStatistics(100.0, {})})
        >>> graph = QueryGraph((Relation("now", ("room",), RelationKind.WINDOW),))
        >>> before = catalogue.known(graph)
        >>> catalogue.observe("now", 100)
        >>> unchanged = catalogue.known(graph) == before
        >>> catalogue.observe("now", 101)
        >>> unchanged, catalogue.known(graph) == before
        (True, False)
        """
        relations = tuple(self[relation.name] for relation in graph.relations)
        versions = (self.matches_version, self.corrections_version, self.filters_version)
        return (relations, *versions)

    def observed(self, relations: frozenset[str]) -> OperatorCounts | None:
        """The latest count for exactly this part of the query, None when it never ran."""
        return self._observed.get(relations)


def _in_order(left: str, right: str) -> tuple[str, str]:
    return (left, right) if left < right else (right, left)
