"""What is measured of one join cluster before each evaluation, and how `adaptive` is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from adaptive import ColumnStatistics, RelationStatistics
from sparkext.r2r.cluster_plans import ClusterSearch
from sparkext.r2r.leaves import Leaf, StaticLeaf, WindowLeaf

Matches = dict[tuple[str, str], float]
"""Rows of the join of two relations, by their names."""

# A relation that is not in memory yet is not brought there to be sampled beyond this size.
MOST_SAMPLED_ROWS = 5_000_000.0


# Numbers that have moved by less than this share are the same.
_SAME = 0.02


@dataclass(frozen=True)
class WatchedContents:
    """Gives the JVM's content of a window's pattern and of a static one."""

    window: Callable[[WindowLeaf], Any]
    static: Callable[[StaticLeaf], Any]


class ClusterWatch:
    """Measures the windows of a cluster, and each window beside its neighbours.

    `measures` is the JVM's list of them; their order is kept here. Windows are counted from the start; a static
    relation is sampled once `watch_static` has seen to its index.
    """

    def __init__(self, search: ClusterSearch, contents: WatchedContents, measures: Any) -> None:
        self.measures = measures
        self._search = search
        self._contents = contents
        self._windows: list[tuple[str, WindowLeaf]] = [
            (name, leaf) for name, leaf in search.leaves.items() if isinstance(leaf, WindowLeaf)
        ]
        self._columns: list[tuple[str, tuple[str, ...]]] = []
        self._pairs: list[tuple[str, str]] = []
        self._matches: Matches = {}
        for name, leaf in self._windows:
            self._watch_window(name, leaf)
        for place, (name, leaf) in enumerate(self._windows):
            for other, other_leaf in self._windows[place + 1 :]:
                self._watch_windows(name, leaf, other, other_leaf)

    @property
    def worthwhile(self) -> bool:
        """Whether there is anything to measure, and another order of joins or of dear filters to take."""
        search = self._search
        return bool(self._windows) and (len(search.leaves) > 1 or bool(search.priced))

    def watch_static(self) -> None:
        """Have static neighbours of windows sampled; brings them and their indexes into memory, so it may take long."""
        for name, leaf in self._windows:
            for other, other_leaf in self._search.leaves.items():
                shared = _shared(leaf, other_leaf)
                if not (isinstance(other_leaf, StaticLeaf) and shared):
                    continue
                if self._search.catalogue[other].rows > MOST_SAMPLED_ROWS:
                    continue
                content = self._contents.static(other_leaf)
                columns = _places(other_leaf, shared)
                content.makeIndexOn(columns)
                window = self._contents.window(leaf)
                # First: as soon as the JVM has the pair it may tell an evaluation of it, and it tells once.
                self._pairs.append((name, other))
                self.measures.addStatic(window, _places(leaf, shared), content, columns)

    def read(self, told: Sequence[float]) -> tuple[dict[str, RelationStatistics], Matches]:
        """What the JVM's numbers say: statistics of the windows, and rows of joins of two relations."""
        numbers = iter(told)
        statistics = {name: self._statistics(name, names, numbers) for name, names in self._columns}
        matches = {
            pair: _followed(self._matches.get(pair), rows)
            for pair, rows in zip(self._pairs, numbers, strict=False)
            if rows >= 0
        }
        self._matches = matches
        return statistics, matches

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
        rows, changed = _followed(before.rows, next(numbers)), next(numbers)
        changed = _followed(before.changed, changed)
        # What joins to nothing keeps the number of values that it was taken to have, as far as there are rows.
        columns = {
            variable: _with(column, max(1.0, min(column.distinct, rows)))
            for variable, column in before.columns.items()
        }
        for variable in names:
            column, distinct = before.columns.get(variable), max(1.0, next(numbers))
            followed = _followed(None if column is None else column.distinct, distinct)
            columns[variable] = _with(column, followed)
        now = RelationStatistics(rows, columns, changed)
        return before if now == before else now

    def _watch_window(self, name: str, leaf: WindowLeaf) -> None:
        graph = self._search.graph
        joined = tuple(
            v.name for v in leaf.variables if graph.members.get(v.name, 0).bit_count() > 1
        )
        groups = ";".join(_places(leaf, (variable,)) for variable in joined)
        self.measures.addWindow(self._contents.window(leaf), groups)
        self._columns.append((name, joined))

    def _watch_windows(
        self, name: str, leaf: WindowLeaf, other: str, other_leaf: WindowLeaf
    ) -> None:
        shared = _shared(leaf, other_leaf)
        if shared:
            self.measures.addWindows(
                self._contents.window(leaf),
                _places(leaf, shared),
                self._contents.window(other_leaf),
                _places(other_leaf, shared),
            )
            self._pairs.append((name, other))


def _followed(before: float | None, now: float) -> float:
    """What a number is taken to be: as before while it hardly moves, so that nothing is computed anew for it.

    >>> _followed(1000.0, 1015.0), _followed(1000.0, 1030.0), _followed(None, 5.0)
    (1000.0, 1030.0, 5.0)
    """
    return now if before is None or abs(now - before) > _SAME * before else before


def _with(column: ColumnStatistics | None, distinct: float) -> ColumnStatistics:
    """Statistics of a window's column with so many values: the same ones where nothing has changed."""
    if column is None or column.top or column.distinct != distinct:
        return ColumnStatistics(distinct)
    return column


def _shared(leaf: Leaf, other: Leaf) -> tuple[str, ...]:
    if leaf is other:
        return ()
    return tuple(sorted({v.name for v in leaf.variables} & {v.name for v in other.variables}))


def _places(leaf: Leaf, names: Sequence[str]) -> str:
    columns = [v.name for v in leaf.variables]
    return ",".join(str(columns.index(name)) for name in names)
