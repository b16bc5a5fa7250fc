"""The tables of a store at one moment: in files or in memory, with rows edited since, and how they are read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from static_data.jvm import extension
from static_data.storage.row_edits import (
    NO_EDITS,
    Pair,
    RowEdits,
    TableKey,
    quads_frame,
    with_edits,
)
from static_data.storage.saved_store import SavedTable

_LISTED_SUBJECTS = 500


@dataclass(frozen=True)
class MemoryTable:
    """The table of one graph and predicate in the driver's memory; `content` is the JVM's."""

    graph: int
    predicate: int
    rows: int
    content: Any


Table = SavedTable | MemoryTable


@dataclass(frozen=True)
class Tables:
    """Whole tables by graph and predicate, and what was edited beside them; never changed in place.

    Who reads goes on with what there was, whatever comes meanwhile. A table may consist of added rows alone.
    """

    whole: Mapping[TableKey, Table] = field(default_factory=dict)
    edits: Mapping[TableKey, RowEdits] = field(default_factory=dict)

    def of_graph(self, graph_id: int | None = None) -> set[TableKey]:
        """The tables of a graph (None: of all)."""
        return {k for k in (*self.whole, *self.edits) if graph_id is None or k[0] == graph_id}

    def rows(self, key: TableKey) -> int:
        """How many rows a table has."""
        table, edits = self.whole.get(key), self.edits.get(key, NO_EDITS)
        return (0 if table is None else table.rows) + len(edits.added) - len(edits.removed)

    def edits_of(self, key: TableKey) -> RowEdits:
        """What was edited beside a table."""
        return self.edits.get(key, NO_EDITS)

    def in_memory(self, keys: Iterable[TableKey]) -> list[MemoryTable]:
        """Those of the tables that are whole in the driver's memory, with nothing edited."""
        tables = [self.whole[key] for key in keys if key in self.whole and key not in self.edits]
        return [table for table in tables if isinstance(table, MemoryTable)]

    def replaced(self, gone: Collection[TableKey], whole: Mapping[TableKey, Table]) -> Tables:
        """Without some tables, with whole ones in the place of any before."""
        without = {*gone, *whole}
        kept = {key: table for key, table in self.whole.items() if key not in without}
        return Tables({**kept, **whole}, {k: e for k, e in self.edits.items() if k not in without})

    def edited(self, edits: Mapping[TableKey, RowEdits]) -> Tables:
        """After edits that add rows that are not there and remove some that are."""
        now = {key: self.edits.get(key, NO_EDITS).then(edit) for key, edit in edits.items()}
        return Tables(self.whole, {k: e for k, e in {**self.edits, **now}.items() if e})

    def as_edited(self, spark: SparkSession, key: TableKey) -> Any:
        """The JVM's table of now, edits included; not for one that is in files."""
        table, edits = self.whole.get(key), self.edits.get(key)
        known = table.content if isinstance(table, MemoryTable) else None
        if edits is None:
            return known
        cells = edits.cells
        return extension(spark).loading.MemoryTables.edited(known, *key, cells.added, cells.removed)

    def contents(self, spark: SparkSession, keys: Iterable[TableKey]) -> list[Any] | None:
        """The JVM's tables of now, edits included; None where some are in files."""
        keys = list(keys)
        if any(isinstance(self.whole.get(key), SavedTable) for key in keys):
            return None
        return [self.as_edited(spark, key) for key in keys]

    # -- reading ----------------------------------------------------------------------------------

    def table(self, spark: SparkSession, key: TableKey) -> DataFrame:
        """The rows (s BIGINT, o BIGINT) of one table, read when asked for."""
        table = self.whole.get(key)
        if key in self.edits or isinstance(table, MemoryTable):
            return self.frame(spark, [key]).select("s", "o")
        if table is None:
            return quads_frame(spark, {}).select("s", "o")
        return read_files(spark, [table])

    def frame(self, spark: SparkSession, keys: Collection[TableKey]) -> DataFrame:
        """The quads (s, p, o, g BIGINT) of tables, read when asked for."""
        edits = {key: self.edits[key] for key in keys if key in self.edits}
        return with_edits(spark, self.unedited(spark, keys), edits)

    def unedited(self, spark: SparkSession, keys: Iterable[TableKey]) -> DataFrame | None:
        """The quads of tables as they were before edits; None where there is no whole table."""
        by_root: dict[str, list[SavedTable]] = {}
        here = []
        for table in (self.whole[key] for key in keys if key in self.whole):
            if isinstance(table, MemoryTable):
                here.append(table.content)
            else:
                by_root.setdefault(table.root, []).append(table)
        frames = []
        if here:
            rows = extension(spark).loading.MemoryTables.frame(spark._jsparkSession, here)
            frames.append(DataFrame(rows, spark))
        for tables in by_root.values():
            frame = read_files(spark, tables, with_keys=True)
            frames.append(
                frame.select("s", F.col("predicate").alias("p"), "o", F.col("graph").alias("g"))
            )
        result = None
        for frame in frames:
            result = frame if result is None else result.unionAll(frame)
        return result

    def rows_there(
        self, spark: SparkSession, wanted: Mapping[TableKey, Collection[Pair]]
    ) -> dict[TableKey, set[Pair]]:
        """Those of the rows that the tables hold; reads no more of files than they say of these subjects."""
        found: dict[TableKey, set[Pair]] = {}
        asked: dict[TableKey, set[Pair]] = {}
        for key, pairs in wanted.items():
            edits = self.edits.get(key, NO_EDITS)
            found[key] = set(pairs) & edits.added
            if key in self.whole:
                asked[key] = set(pairs) - edits.added - edits.removed
        subjects = {s for pairs in asked.values() for s, _ in pairs}
        stored = self.unedited(spark, list(asked)) if subjects else None
        if stored is not None:
            if len(subjects) <= _LISTED_SUBJECTS:
                rows = stored.where(F.col("s").isin(sorted(subjects)))
            else:
                listed = spark.createDataFrame([(s,) for s in subjects], "s BIGINT")
                rows = stored.join(F.broadcast(listed), "s", "left_semi")
            for s, p, o, g in _quads_of(rows):
                if (s, o) in asked[g, p]:
                    found[g, p].add((s, o))
        return found

    def rows_of(self, spark: SparkSession, keys: Iterable[TableKey]) -> dict[TableKey, set[Pair]]:
        """All rows of tables, read to the driver."""
        keys = list(keys)
        rows = {key: set(self.edits[key].added) for key in keys if key not in self.whole}
        if stored := [key for key in keys if key in self.whole]:
            for s, p, o, g in _quads_of(self.frame(spark, stored)):
                rows.setdefault((g, p), set()).add((s, o))
        return rows


def read_files(
    spark: SparkSession, tables: Sequence[SavedTable], with_keys: bool = False
) -> DataFrame:
    """The rows (s, o) of tables of one folder, read when asked for; `with_keys`, (s, o, graph, predicate)."""
    root = tables[0].root
    reader = spark.read.schema("s BIGINT, o BIGINT")
    if with_keys:  # Paths say them.
        reader = spark.read.schema("s BIGINT, o BIGINT, graph BIGINT, predicate BIGINT")
        reader = reader.option("basePath", root)
    frame = reader.parquet(*[table.path for table in tables])
    # The files must stay as long as something reads this.
    extension(spark).loading.FolderReaders.add(root, frame._jdf)
    return frame


def _quads_of(frame: DataFrame) -> Iterator[tuple[int, int, int, int]]:
    """The rows (s, p, o, g) of a DataFrame, collected."""
    table = frame.select(*"spog").toArrow()
    return zip(*(column.to_pylist() for column in table.columns), strict=True)
