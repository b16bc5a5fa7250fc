"""Changes of tables by a few rows: kept beside the tables' files, laid over them when they are read."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from static_data.jvm import extension

TableKey = tuple[int, int]
"""Graph id and predicate id."""

Pair = tuple[int, int]
"""Ids of subject and object: a row of a table."""


MOST_EDITS = 50_000
"""A table with more edited rows than this is written anew."""


@dataclass(frozen=True)
class RowEdits:
    """Rows that a table has beyond some other state of it, and rows that it lacks.

    >>> RowEdits(frozenset({(1, 2)})).then(RowEdits(frozenset({(3, 4)}), frozenset({(1, 2)})))
    RowEdits(added=frozenset({(3, 4)}), removed=frozenset())
    """

    added: frozenset[Pair] = frozenset()
    removed: frozenset[Pair] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)

    @property
    def size(self) -> int:
        """Number of rows concerned."""
        return len(self.added) + len(self.removed)

    @property
    def cells(self) -> CellEdits:
        """The rows, their cells side by side."""
        added, removed = (
            ids_to_bytes(i for pair in pairs for i in pair) for pairs in (self.added, self.removed)
        )
        return CellEdits(added, removed)

    def then(self, later: RowEdits) -> RowEdits:
        """Both edits as one; the later one adds only rows that are not there and removes only some that are."""
        return RowEdits(
            (self.added - later.removed) | (later.added - self.removed),
            (self.removed - later.added) | (later.removed - self.added),
        )


NO_EDITS = RowEdits()


def ids_to_bytes(ids: Iterable[int]) -> bytes:
    """Ids as the extension takes them: eight bytes each, little end first.

    >>> ids_to_bytes([1, -1]).hex()
    '0100000000000000ffffffffffffffff'
    """
    numbers = array("q", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def ids_of_bytes(content: bytes) -> list[int]:
    """The ids in bytes that the extension gave.

    >>> ids_of_bytes(ids_to_bytes([7, -7]))
    [7, -7]
    """
    numbers = array("q")
    numbers.frombytes(bytes(content))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()


@dataclass(frozen=True)
class CellEdits:
    """Rows that a relation gains and loses, their cells side by side as the extension takes them (`ids_to_bytes`)."""

    added: bytes
    removed: bytes

    def __bool__(self) -> bool:
        return bool(self.added or self.removed)


def quads_frame(spark: SparkSession, rows: Mapping[TableKey, Iterable[Pair]]) -> DataFrame:
    """Rows in memory as a DataFrame (s, p, o, g BIGINT), which is read without a Spark job."""
    cells = ids_to_bytes(cell for quad in _quads(rows) for cell in quad)
    return DataFrame(
        extension(spark).loading.MemoryTables.frame(spark._jsparkSession, cells), spark
    )


def _quads(rows: Mapping[TableKey, Iterable[Pair]]) -> Iterator[tuple[int, int, int, int]]:
    for (graph, predicate), pairs in rows.items():
        for subject, obj in sorted(pairs):
            yield (subject, predicate, obj, graph)


def with_edits(
    spark: SparkSession, stored: DataFrame | None, edits: Mapping[TableKey, RowEdits]
) -> DataFrame:
    """Stored quads (s, p, o, g; None: none) without the rows that edits removed, with those that they added."""
    added = {key: edit.added for key, edit in edits.items() if edit.added}
    removed = {key: edit.removed for key, edit in edits.items() if edit.removed}
    if stored is None:
        return quads_frame(spark, added)
    if removed:
        gone = F.broadcast(quads_frame(spark, removed))
        stored = stored.join(gone, list("spog"), "left_anti").select(*"spog")
    return stored.unionAll(quads_frame(spark, added)) if added else stored
