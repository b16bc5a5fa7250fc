"""Keeps a store's catalogue: counted when asked for, carried along by small edits meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from static_data.storage.catalogue import Catalogue, describe
from static_data.storage.catalogue_edits import after_edits
from static_data.storage.row_edits import Pair, RowEdits, TableKey

_RECOUNTED = 0.1
"""The share of a graph's rows after whose change its tables are counted again."""

_LEAST_EDITS = 1_000
"""So many edits of a graph are carried along in any case."""


class CatalogueUpkeep:
    """The statistics of all tables and the graphs whose tables must be counted before they are true again."""

    def __init__(self) -> None:
        self._catalogue: Catalogue | None = None
        self._uncounted: set[int] = set()
        self._edits_since: dict[int, int] = {}

    def changed(self, graphs: Iterable[int]) -> None:
        """Tables of these graphs are others now."""
        self._uncounted.update(graphs)

    def adopt(self, catalogue: Catalogue) -> None:
        """Take over statistics of everything there is."""
        self._catalogue = catalogue
        self._uncounted.clear()

    def edited(
        self,
        graph_id: int,
        rows: int,
        small: Mapping[TableKey, RowEdits],
        whole: Mapping[TableKey, Collection[Pair]],
    ) -> None:
        """Follow edits of a graph that has `rows` rows now: some of each table, or `whole` tables.

        After many edits of the first kind, whose effect on distinct values is a guess, the graph is counted anew.
        """
        if self._catalogue is None or graph_id in self._uncounted:
            self._uncounted.add(graph_id)
            return
        self._catalogue = after_edits(self._catalogue, small, whole)
        drift = self._edits_since.get(graph_id, 0) + sum(edit.size for edit in small.values())
        self._edits_since[graph_id] = drift
        if drift > max(_LEAST_EDITS, _RECOUNTED * rows):
            self._uncounted.add(graph_id)

    def current(
        self,
        tables: Iterable[TableKey],
        count: Callable[[Sequence[TableKey]], list[list[int]]],
    ) -> Catalogue:
        """The statistics of now; `count` counts those of `tables` whose graphs need it."""
        if self._catalogue is None or self._uncounted:
            keys = [key for key in tables if key[0] in self._uncounted]
            self._catalogue = describe(count(keys), self._uncounted, self._catalogue)
            for graph in self._uncounted:
                self._edits_since.pop(graph, None)
            self._uncounted.clear()
        return self._catalogue
