"""The session's static relations in memory: tables of patterns and kept joins, each made once for all queries."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptive.recent import Recent
from sparkext.r2r.leaves.leaf import StaticLeaf
from sparkext.r2r.relations.datasets import Dataset, TableKey
from sparkext.r2r.relations.static_reads import StaticRead
from static_data.progress import progress_bar
from static_data.storage.row_edits import MOST_EDITS, CellEdits, RowEdits, ids_to_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.bridge.engine_room import EngineRoom
    from static_data.storage.store_changes import StoreChange

logger = logging.getLogger(__name__)

# Relations that no query holds any more are kept for the next one that asks: the last ones asked for, so many at most,
# and in this share of the JVM's memory, without the indexes that they have got since they were made.
IDLE_RELATIONS = 256
_IDLE_SHARE = 0.1

# Numbers that tell of static data are kept so many.
_MEASURES = 10_000


@dataclass(frozen=True)
class _Held:
    """A relation and what it was made from; `table` where it is the rows of one pattern, `bytes` as it was made."""

    content: Any
    reads: frozenset[StaticRead]
    table: TableKey | None
    bytes: int


class StaticRelations:
    """Contents by what they hold, not by what a query calls them: equal patterns share rows and indexes.

    Kept joins and groups are made on the driver where there are no more than `rows_here` static triples.
    A relation stays as long as the `Dataset` of a query holds it, or it is among the last that were asked for. With
    `sharing` off, every request makes its own. `made` counts those that were made from the store, `edited` those that
    followed a change row by row.
    """

    def __init__(self, room: EngineRoom, sharing: bool = True, rows_here: int = -1) -> None:
        self._room = room
        self._sharing = sharing
        self._rows_here = rows_here
        self._contents: weakref.WeakValueDictionary[object, _Held] = weakref.WeakValueDictionary()
        self._recent = Recent[object, _Held](IDLE_RELATIONS)
        self._idle_bytes = int(_IDLE_SHARE * room.memory_bytes())
        self._measures = Recent[object, int](_MEASURES)
        self._making = threading.RLock()  # plans are prepared in the background, too
        self.made = 0
        self.edited = 0

    def table(self, dataset: Dataset, leaf: StaticLeaf) -> Any:
        """The rows of a static pattern."""
        key = dataset.key(leaf)
        return self._content(
            dataset,
            ("table", key),
            lambda: self._rows(dataset, leaf, key),
            lambda: frozenset(dataset.reads_of(leaf)),
            key,
        )

    def rows(self, dataset: Dataset, leaf: StaticLeaf) -> Any:
        """The same to be read once, kept for nobody."""
        key = dataset.key(leaf)
        with self._making:
            held = self._contents.get(("table", key))
        return self._rows(dataset, leaf, key) if held is None else held.content

    def _rows(self, dataset: Dataset, leaf: StaticLeaf, key: TableKey) -> Any:
        places = " ".join("?" if c == 0 else "#" for c in key.constants)
        name = f"{places} {leaf.pattern.predicate.n3()}"
        here = dataset.in_memory(key)
        if here is not None:
            return self._room.pattern_content(name, here, key.spec, key.merged)
        indexed = dataset.indexed(key)
        if indexed is None:
            names = [f"c{place}" for place in range(len(key.columns))]
            return self._room.static_content(name, dataset.rows(key, names))
        graph, table, edits = indexed
        content = self._room.mapped_content(f"{name} in files", table, key.constants)
        return self._room.edited(content, _cells_of(key, graph, key.constants[1], edits))

    def made_here(self, dataset: Dataset) -> bool:
        """Whether kept joins and groups are made on the driver, without Spark jobs."""
        return dataset.row_count() <= self._rows_here

    def kept(self, dataset: Dataset, key: object, name: str, make: Callable[[], DataFrame]) -> Any:
        """The rows of a static join or group, with their multiplicities counted.

        `make` reads through `dataset` only.
        """
        reads: set[StaticRead] = set()

        def count() -> Any:
            with dataset.noting(reads):
                frame = make()
            with progress_bar(self._room.spark, f"pre-join {name}", None):
                return self._room.counted_content(name, frame)

        return self._content(dataset, ("kept", key), count, lambda: frozenset(reads))

    def _content(
        self,
        dataset: Dataset,
        key: object,
        make: Callable[[], Any],
        reads: Callable[[], frozenset[StaticRead]],
        table: TableKey | None = None,
    ) -> Any:
        with self._making:
            held = self._contents.get(key)
            if held is None:
                content = make()
                self.made += 1
                logger.info("static relation %s: %d rows", content.name(), content.rowCount())
                if not self._sharing:
                    return content
                held = _Held(content, reads(), table, int(content.memoryBytes()))
            dataset.hold(key, held)
            dataset.note(held.reads)
            self._keep(key, held)
            return held.content

    def _keep(self, key: object, held: _Held) -> None:
        """Have a relation be the last that was asked for; those before it that are too many may go."""
        self._contents[key] = held
        self._recent.keep(key, held)
        total = sum(other.bytes for other in self._recent.values())
        while total > self._idle_bytes and len(self._recent) > 1:
            total -= self._recent.pop(next(iter(self._recent))).bytes

    def measured(self, key: object, measure: Callable[[], int]) -> int:
        """A number that tells of the static data, found once and kept until they change."""
        with self._making:
            known = self._measures.get(key)
            return self._measures.keep(key, measure() if known is None else known)

    def memory_bytes(self) -> int:
        """Bytes of all relations and their indexes."""
        return sum(int(held.content.memoryBytes()) for held in list(self._contents.values()))

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
                if edits is None or held.content.editedRows() > MOST_EDITS:
                    del self._contents[key]
                    self._recent.pop(key, None)
                elif edits:
                    content = self._room.edited(held.content, edits)
                    self._keep(key, _Held(content, held.reads, held.table, held.bytes))
                    self.edited += 1


def _edits_of(table: TableKey, change: StoreChange) -> CellEdits | None:
    """What a change means for the rows of a pattern; None where that is not known row by row."""
    graphs = table.graphs or ()
    if table.quoted or (not table.named and len(graphs) != 1):
        return None  # merged graphs: another one may still have a triple that left
    cells = CellEdits(b"", b"")
    for graph, predicate in change.tables:
        if graph not in graphs:
            return None
        if table.constants[1] in (0, predicate):
            edits = change.edits.get((graph, predicate))
            if edits is None:
                return None
            more = _cells_of(table, graph, predicate, edits)
            cells = CellEdits(cells.added + more.added, cells.removed + more.removed)
    return cells


def _cells_of(table: TableKey, graph: int, predicate: int, edits: RowEdits) -> CellEdits:
    """What edits of a table mean for the rows of a pattern."""
    added, removed = (
        ids_to_bytes(_cells(table, graph, predicate, pairs))
        for pairs in (edits.added, edits.removed)
    )
    return CellEdits(added, removed)


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
