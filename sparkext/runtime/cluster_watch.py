"""What is measured of one join cluster before each evaluation, and how `adaptive` is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from adaptive import (
    Catalogue,
    ColumnStatistics,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.cardinality import CardinalityEstimator
from sparkext.r2r.cluster_plans import ClusterSearch
from sparkext.r2r.leaves import Leaf, MergedLeaf, StaticLeaf, WindowLeaf
from sparkext.runtime.measured_pairs import MeasuredPairs, Pair

Matches = dict[Pair, float]
"""Rows of the join of two relations, by their names."""

Told = Mapping[str, Sequence[float]]
"""What the JVM tells of a cluster: `rows` and `errors`, as long and in the same order."""

# Beyond this size a relation is not sampled: it would get an index for that which perhaps no plan looks into.
MOST_SAMPLED_ROWS = 25_000_000.0


# Numbers that have moved by less than this share are the same.
_SAME = 0.02


_NOTHING = RelationStatistics(0.0, {})


@dataclass(frozen=True)
class Measured:
    """Statistics of the windows, rows of joins of two relations, and the standard errors of those that were sampled."""

    windows: Mapping[str, RelationStatistics] = field(default_factory=dict)
    matches: Mapping[Pair, float] = field(default_factory=dict)
    errors: Mapping[Pair, float] = field(default_factory=dict)


@dataclass(frozen=True)
class WatchedContents:
    """Gives the JVM's content of a pattern over a window, or windows merged with static data, and of a static one."""

    window: Callable[[WindowLeaf | MergedLeaf], Any]
    static: Callable[[StaticLeaf], Any]


class ClusterWatch:
    """Measures the windows of a cluster, and each window beside its neighbours.

    `measures` is the JVM's list of them; their order is kept here. Windows are counted from the start; a static
    relation is sampled once `watch_static` has seen to its index. Of a pattern over windows that are merged with static
    data, what the windows add is measured, and the catalogue knows the rest.
    """

    def __init__(self, search: ClusterSearch, contents: WatchedContents, measures: Any) -> None:
        self.measures = measures
        self._search = search
        self._contents = contents
        self._live: list[tuple[str, WindowLeaf | MergedLeaf]] = [
            (name, leaf)
            for name, leaf in search.leaves.items()
            if isinstance(leaf, WindowLeaf | MergedLeaf)
        ]
        self._columns: list[tuple[str, tuple[str, ...]]] = []
        self._pairs = MeasuredPairs()
        # Windows, and the static data that they are sampled beside, of the pairs that are measured.
        self._sampled: list[tuple[Pair, str, str]] = []
        self._matches: Matches = {}
        for name, leaf in self._live:
            self._watch_window(name, leaf)
        for place, (name, _) in enumerate(self._live):
            for other, _ in self._live[place + 1 :]:
                self._watch_pair((name, other))
        for name, _ in self._live:
            for other, neighbour in search.leaves.items():
                if isinstance(neighbour, StaticLeaf):
                    self._watch_pair((name, other))

    @property
    def worthwhile(self) -> bool:
        """Whether there is anything to measure, and another order of joins or of dear filters to take."""
        search = self._search
        return bool(self._live) and (len(search.leaves) > 1 or bool(search.priced))

    def watch_static(self) -> None:
        """Have static neighbours of windows sampled; brings them and their indexes into memory, so it may take long."""
        for pair, name, other in self._sampled:
            shared = self._shared(name, other)
            content = self._static_rows(other)
            columns = self._places(other, shared)
            content.makeIndexOn(columns)
            # First: as soon as the JVM has the part it may tell an evaluation of it, and it tells once.
            self._pairs.add(pair)
            window = self._window_rows(name)
            self.measures.addStatic(window, self._places(name, shared), content, columns)

    def read(self, told: Told) -> Measured:
        """What the JVM's numbers say."""
        numbers, errors = iter(told["rows"]), iter(told["errors"])
        statistics = {name: self._statistics(name, names, numbers) for name, names in self._columns}
        counted = sum(2 + len(names) for _, names in self._columns)
        found, sampled = self._pairs.read(numbers, islice(errors, counted, None))
        self._matches = {p: _followed(self._matches.get(p), rows) for p, rows in found.items()}
        return Measured(statistics, self._matches, sampled)

    def describe(self, text: Callable[[int], str], most: int = 5) -> list[dict[str, Any]]:
        """What each window counts now, by pattern and variable: card, different values, and the most frequent ones.

        `text` gives the term of an id; `selectivity` is card(x=c)/card (CQELS report, section 5).
        """
        shown = []
        for (name, variables), (rows, columns) in zip(
            self._columns, json.loads(self.measures.describe(most)), strict=True
        ):
            for variable, (distinct, exact, top) in zip(variables, columns, strict=True):
                frequent = [
                    {"value": text(term), "card": card, "selectivity": card / rows if rows else 0.0}
                    for term, card in top
                ]
                shown.append(
                    {
                        "relation": name,
                        "card": rows,
                        "variable": variable,
                        "distinct": distinct,
                        "exact": exact,
                        "top": frequent,
                    }
                )
        return shown

    def _statistics(
        self, name: str, names: tuple[str, ...], numbers: Iterator[float]
    ) -> RelationStatistics:
        before = self._search.catalogue[name]
        static = self._search.static_parts.get(name, _NOTHING)
        rows, changed = _followed(before.rows, static.rows + next(numbers)), next(numbers)
        changed = _followed(before.changed, changed)
        # What joins to nothing keeps the number of values that it was taken to have, as far as there are rows.
        columns = {
            variable: _with(column, max(1.0, min(column.distinct, rows)), _top(static, variable))
            for variable, column in before.columns.items()
        }
        for variable in names:
            column, distinct = before.columns.get(variable), next(numbers)
            if static.rows:  # as many as the two have together, at most
                distinct += static.columns[variable].distinct
            followed = _followed(None if column is None else column.distinct, max(1.0, distinct))
            columns[variable] = _with(column, followed, _top(static, variable))
        now = RelationStatistics(rows, columns, changed)
        return before if now == before else now

    def _watch_window(self, name: str, leaf: WindowLeaf | MergedLeaf) -> None:
        graph = self._search.graph
        joined = tuple(
            v.name for v in leaf.variables if graph.members.get(v.name, 0).bit_count() > 1
        )
        groups = ";".join(self._places(name, (variable,)) for variable in joined)
        self.measures.addWindow(self._window_rows(name), groups)
        self._columns.append((name, joined))

    def _watch_pair(self, pair: Pair) -> None:
        """Have the parts of a join measured that windows take part in, unless one would be sampled beside too much."""
        name, other = pair
        shared = self._shared(name, other)
        if not shared:
            return
        live = isinstance(self._search.leaves[other], WindowLeaf | MergedLeaf)
        sides = [(name, other), (other, name)] if live else [(name, other)]
        beside = [(window, static) for window, static in sides if self._has_static(static)]
        if any(self._of_static(static).rows > MOST_SAMPLED_ROWS for _, static in beside):
            return
        self._pairs.expect(pair, len(beside) + live, self._static_match(name, other))
        if live:
            self._pairs.add(pair)
            self.measures.addWindows(
                self._window_rows(name),
                self._places(name, shared),
                self._window_rows(other),
                self._places(other, shared),
            )
        self._sampled += [(pair, window, static) for window, static in beside]

    def _has_static(self, name: str) -> bool:
        leaf = self._search.leaves[name]
        return isinstance(leaf, StaticLeaf) or self._of_static(name).rows > 0.0

    def _of_static(self, name: str) -> RelationStatistics:
        """What is known of the static data of a relation."""
        if isinstance(self._search.leaves[name], StaticLeaf):
            return self._search.catalogue[name]
        return self._search.static_parts.get(name, _NOTHING)

    def _static_match(self, name: str, other: str) -> float:
        """The rows that the static data of two relations should have in common."""
        known = {one: self._of_static(one) for one in (name, other)}
        if any(statistics.rows == 0.0 for statistics in known.values()):
            return 0.0
        leaves = self._search.leaves
        relations = (
            Relation(one, tuple(v.name for v in leaves[one].variables), RelationKind.STATIC)
            for one in known
        )
        graph = QueryGraph(tuple(relations))
        return CardinalityEstimator(graph, Catalogue(known)).rows(graph.all_relations)

    def _window_rows(self, name: str) -> Any:
        """The JVM's rows that windows have of a pattern."""
        leaf = self._search.leaves[name]
        if isinstance(leaf, MergedLeaf):
            return self._contents.window(leaf).windowRows()
        assert isinstance(leaf, WindowLeaf)
        return self._contents.window(leaf)

    def _static_rows(self, name: str) -> Any:
        """The JVM's rows that static data have of a pattern."""
        leaf = self._search.leaves[name]
        if isinstance(leaf, MergedLeaf):
            return self._contents.window(leaf).staticRows()
        assert isinstance(leaf, StaticLeaf)
        return self._contents.static(leaf)

    def _shared(self, name: str, other: str) -> tuple[str, ...]:
        return _shared(self._search.leaves[name], self._search.leaves[other])

    def _places(self, name: str, variables: Sequence[str]) -> str:
        columns = [v.name for v in self._search.leaves[name].variables]
        return ",".join(str(columns.index(variable)) for variable in variables)


def _followed(before: float | None, now: float) -> float:
    """What a number is taken to be: as before while it hardly moves, so that nothing is computed anew for it.

    >>> _followed(1000.0, 1015.0), _followed(1000.0, 1030.0), _followed(None, 5.0)
    (1000.0, 1030.0, 5.0)
    """
    return now if before is None or abs(now - before) > _SAME * before else before


def _with(
    column: ColumnStatistics | None, distinct: float, top: tuple[tuple[int, int], ...]
) -> ColumnStatistics:
    """Statistics of a live column with so many values: the same ones where nothing has changed."""
    if column is None or column.top != top or column.distinct != distinct:
        return ColumnStatistics(distinct, top)
    return column


def _top(static: RelationStatistics, variable: str) -> tuple[tuple[int, int], ...]:
    """The most frequent values of a variable in static data, if there are any."""
    return static.columns[variable].top if static.rows else ()


def _shared(leaf: Leaf, other: Leaf) -> tuple[str, ...]:
    if leaf is other:
        return ()
    return tuple(sorted({v.name for v in leaf.variables} & {v.name for v in other.variables}))
