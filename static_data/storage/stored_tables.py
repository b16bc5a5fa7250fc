"""The tables of a store as they change: what a load adds is merged in, rows are edited, and some go into files."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from static_data.jvm import extension
from static_data.storage.row_edits import (
    MOST_EDITS,
    NO_EDITS,
    Pair,
    RowEdits,
    TableKey,
    ids_to_bytes,
)
from static_data.storage.saved_store import SavedTable
from static_data.storage.table_files import TableFiles
from static_data.storage.tables import MemoryTable, Table, Tables

logger = logging.getLogger(__name__)

_ROWS_IN_MEMORY = 1 << 17
"""So many rows of a load, with the tables that it adds to, may stay in the driver's memory."""


class StoredTables:
    """The tables of one store; `now` is what they hold, one value after the other, so that readers need no lock.

    Whoever changes them holds the store's lock. `dictionary` is the store's, `work_dir` as `TableFiles` takes it.
    """

    def __init__(self, spark: SparkSession, dictionary: Any, work_dir: str | Path | None) -> None:
        self._spark = spark
        self._extension = extension(spark)
        self._dictionary = dictionary
        self._files = TableFiles(spark, work_dir)
        self.now = Tables()

    # -- loads --------------------------------------------------------------------------------------

    def keep(self, encoded: Any, replaced: Collection[TableKey]) -> Mapping[TableKey, Table]:
        """Store a load's tables, merged with those that are there and not `replaced`; returns only these."""
        numbers = [int(number) for number in encoded.pairs().split(",") if number]
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        if not pairs:
            return {}
        beside = [pair for pair in pairs if self.now.rows(pair) and pair not in replaced]
        known = self.now.in_memory(beside)
        here = sum(table.rows for table in known) + encoded.statements()
        if encoded.isHere() and len(known) == len(beside) and here <= _ROWS_IN_MEMORY:
            tables = encoded.tables([table.content for table in known])
            made = (MemoryTable(t.graph(), t.predicate(), t.rows(), t) for t in tables)
            return {(table.graph, table.predicate): table for table in made}
        return self._write(encoded, beside)

    def _write(self, encoded: Any, there: Sequence[TableKey]) -> dict[TableKey, Table]:
        self._settle(there)
        existing = self.now.frame(self._spark, there)._jdf if there else None
        rows = self._row_counts(there)
        return dict(self._files.write(lambda folder: encoded.write(folder, existing, rows)))

    def _row_counts(self, keys: Iterable[TableKey]) -> bytes:
        """Graph, predicate and rows of tables, as the extension takes them."""
        return ids_to_bytes(n for key in keys for n in (*key, self.now.rows(key)))

    def adopt(
        self, written: Mapping[TableKey, Table], replaced: Collection[TableKey]
    ) -> set[TableKey]:
        """Take over whole tables, in place of `replaced` ones too; returns those that hold other rows now."""
        changed = {key for key, table in written.items() if table.rows != self.now.rows(key)}
        self.now = self.now.replaced(replaced, written)
        return changed.union(replaced)

    # -- edits --------------------------------------------------------------------------------------

    def edit(
        self,
        graph_id: int,
        edits: Mapping[TableKey, RowEdits],
        whole: Mapping[TableKey, Collection[Pair]] | None,
    ) -> set[TableKey]:
        """Change rows of a graph's tables as `StaticStore.edit` says; returns those that changed."""
        if whole is None:
            self.now = self.now.edited(edits)
            return {key for key, edit in edits.items() if edit}
        before = self.now.of_graph(graph_id)
        added = {key: RowEdits(frozenset(pairs)) for key, pairs in whole.items()}
        self.now = self.now.replaced(before, {}).edited(added)
        return {key for key in {*before, *whole} if edits.get(key) != NO_EDITS}

    def write_large_edits(self, changed: Iterable[TableKey]) -> None:
        """Write those of the tables anew that have many edits; where that fails, the next edit tries again."""
        try:
            self._write_edits([k for k in changed if self.now.edits_of(k).size > MOST_EDITS])
        except Exception:  # The rows are read from memory as well.
            logger.exception("tables with many edits could not be written anew")

    def _write_edits(self, keys: Collection[TableKey]) -> None:
        if keys:
            self._settle(keys)
            self._write_out(keys)

    def _settle(self, keys: Iterable[TableKey]) -> None:
        """Give the terms of added rows a static layer: files are about to hold them."""
        ids: list[int] = []
        for key in keys:
            for pair in self.now.edits_of(key).added:
                ids.extend((*pair, key[1]))
        if ids:
            self._extension.dictionary.ChangeTerms(self._dictionary).settle(ids_to_bytes(ids))

    # -- files --------------------------------------------------------------------------------------

    def _write_out(self, keys: Collection[TableKey]) -> None:
        session, loading = self._spark._jsparkSession, self._extension.loading
        here = self.now.contents(self._spark, keys)
        if here is None:
            frame, rows = self.now.frame(self._spark, keys)._jdf, self._row_counts(keys)
            written = self._files.write(
                lambda folder: loading.QuadTables.writeFrame(session, frame, rows, folder)
            )
        else:
            written = self._files.write(
                lambda folder: loading.MemoryTables.write(session, here, folder)
            )
        self.now = self.now.replaced(keys, written)

    def in_files(self) -> list[SavedTable]:
        """All tables in files; those in memory are written to some, as are edited ones."""
        self._write_edits(list(self.now.edits))
        here = [key for key, t in self.now.whole.items() if isinstance(t, MemoryTable)]
        if here:
            self._write_out(here)
        return [table for table in self.now.whole.values() if isinstance(table, SavedTable)]

    def take_index_folder(self) -> str:
        """A folder for indexes that a saved store lacks."""
        return self._files.take_index_folder()

    def close(self) -> None:
        """Delete the files."""
        self._files.close()
