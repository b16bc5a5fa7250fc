"""The session's static relations in memory: tables of patterns and kept joins, each made once for all queries."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sparkext.r2r.datasets import Dataset, TableKey
from sparkext.r2r.leaves import StaticLeaf
from sparkext.r2r.static_reads import StaticRead
from static_data.progress import progress_bar
from static_data.row_edits import ids_to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.runtime.engine_room import EngineRoom
    from static_data.store_changes import StoreChange

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Held:
    """A relation and what it was made from; `table` where it is the rows of one pattern."""

    content: Any
    reads: frozenset[StaticRead]
    table: TableKey | None = None


class StaticRelations:
    """Contents by what they hold, not by what a query calls them: equal patterns share rows and indexes.

    With `sharing` off, every request makes its own. `made` counts those that were made from the store, `edited` those
    that followed a change row by row.
    """

    def __init__(self, room: EngineRoom, sharing: bool = True) -> None:
        self._room = room
        self._sharing = sharing
        self._contents: dict[object, _Held] = {}
        self._measures: dict[object, int] = {}
        self._making = threading.RLock()  # plans are prepared in the background, too
        self.made = 0
        self.edited = 0

    def table(self, dataset: Dataset, leaf: StaticLeaf) -> Any:
        """The rows of a static pattern."""
        key = dataset.key(leaf)
        name = " ".join("?" if c == 0 else "#" for c in key.constants)
        names = [f"c{place}" for place in range(len(key.columns))]

        def make() -> Any:
            return self._room.static_content(
                f"{name} {leaf.pattern.predicate.n3()}", dataset.rows(key, names)
            )

        return self._content(("table", key), make, lambda: frozenset(dataset.reads_of(leaf)), key)

    def kept(self, dataset: Dataset, key: object, name: str, make: Callable[[], DataFrame]) -> Any:
        """The rows of a static join or group, with their multiplicities counted.

        `make` reads through `dataset` only.
        """
        reads: set[StaticRead] = set()

        def count() -> Any:
            with dataset.noting(reads):
                frame = make()
            counted = frame.groupBy(*frame.columns).agg(F.count(F.lit(1)).alias("multiplicity"))
            with progress_bar(self._room.spark, f"pre-join {name}", None):
                return self._room.static_content(name, counted, counted=True)

        return self._content(("kept", key), count, lambda: frozenset(reads))

    def _content(
        self,
        key: object,
        make: Callable[[], Any],
        reads: Callable[[], frozenset[StaticRead]],
        table: TableKey | None = None,
    ) -> Any:
        with self._making:
            if key in self._contents:
                return self._contents[key].content
            content = make()
            self.made += 1
            logger.info("static relation %s: %d rows", content.name(), content.rowCount())
            if self._sharing:
                self._contents[key] = _Held(content, reads(), table)
            return content

    def measured(self, key: object, measure: Callable[[], int]) -> int:
        """A number that tells of the static data, found once and kept until they change."""
        with self._making:
            if key not in self._measures:
                self._measures[key] = measure()
            return self._measures[key]

    def memory_bytes(self) -> int:
        """Bytes of all relations and their indexes."""
        return sum(int(held.content.memoryBytes()) for held in self._contents.values())

    def __len__(self) -> int:
        return len(self._contents)

    def follow(self, change: StoreChange, lookup: Callable[[str], int]) -> None:
        """Bring what reads changed tables up to date, or forget it, to be made when it is asked for again.

        `lookup` gives the id of a known term by its text, 0 for others. Plans that hold a relation keep it as it was.
        """
        with self._making:
            self._measures.clear()
            for key, held in list(self._contents.items()):
                if not any(read.touches(change.tables, lookup) for read in held.reads):
                    continue
                edits = None if held.table is None else _edits_of(held.table, change)
                if edits is None:
                    del self._contents[key]
                elif edits:
                    content = self._room.edited(held.content, edits)
                    self._contents[key] = _Held(content, held.reads, held.table)
                    self.edited += 1


@dataclass(frozen=True)
class CellEdits:
    """Rows that a relation gains and loses, their cells side by side."""

    added: bytes
    removed: bytes

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def _edits_of(table: TableKey, change: StoreChange) -> CellEdits | None:
    """What a change means for the rows of a pattern; None where that is not known row by row."""
    graphs = table.graphs or ()
    if table.quoted or (not table.named and len(graphs) != 1):
        return None  # merged graphs: another one may still have a triple that left
    added: list[int] = []
    removed: list[int] = []
    for graph, predicate in change.tables:
        if graph not in graphs:
            return None
        if table.constants[1] in (0, predicate):
            edits = change.edits.get((graph, predicate))
            if edits is None:
                return None
            added.extend(_cells(table, graph, predicate, edits.added))
            removed.extend(_cells(table, graph, predicate, edits.removed))
    return CellEdits(ids_to_bytes(added), ids_to_bytes(removed))


def _cells(
    table: TableKey, graph: int, predicate: int, pairs: Iterable[tuple[int, int]]
) -> Iterator[int]:
    subject, _, object_ = table.constants
    for s, o in pairs:
        quad = (s, predicate, o, graph)
        if (
            subject in (0, s)
            and object_ in (0, o)
            and all(quad[a] == quad[b] for a, b in table.equal)
        ):
            yield from (quad[column] for column in table.columns)
