"""Indexes of large tables, in files that are mapped into memory: made when asked for, kept with the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeGuard

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from static_data.errors import IndexSizeError
from static_data.graph_names import DEFAULT_GRAPH
from static_data.jvm import extension
from static_data.progress import progress_bar
from static_data.storage.folders import Folder
from static_data.storage.row_edits import TableKey
from static_data.storage.saved_store import SavedTable
from static_data.storage.tables import read_files

MAPPED_ROWS = 131_072
"""Tables in files with so many rows are looked up in files, unless said otherwise."""


class TableIndexes:
    """The indexes of a store's tables of at least `least_rows` rows, by subject and by object.

    A smaller table is read into memory, and so is one that edits have made or that was loaded into memory. `text`
    gives the terms of graphs and predicates.
    """

    def __init__(
        self, spark: SparkSession, text: Callable[[int], str], least_rows: int = MAPPED_ROWS
    ) -> None:
        self._spark = spark
        self._text = text
        self._least_rows = least_rows

    def of(self, table: object) -> Any | None:
        """The JVM's IndexedTable of a table, made now where it is not there; None for one that has no indexes.

        Raises IndexSizeError.
        """
        if not self._are_for(table):
            return None
        made = self._at(table, table.index_path)
        if not made.isMade():
            with progress_bar(self._spark, f"index of {table.rows:,} rows", None):
                self._make(made, table)
        return made

    def _make(self, made: Any, table: SavedTable) -> None:
        try:
            made.make()
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "OversizedIndex":
                raise
            graph = table.graph
            of = "the default graph" if graph == DEFAULT_GRAPH else f"graph {self._text(graph)}"
            raise IndexSizeError(
                f"predicate {self._text(table.predicate)} of {of}: of its {table.rows:,} rows, too many have one"
                " subject or object for an index in files (2 GiB); with spark.cqels.mappedIndexes.minRows above that"
                " number they are read into memory"
            ) from error

    def _are_for(self, table: object) -> TypeGuard[SavedTable]:
        return isinstance(table, SavedTable) and table.rows >= self._least_rows

    def _at(self, table: SavedTable, folder: str) -> Any:
        rows = read_files(self._spark, [table])
        return extension(self._spark).indexes.IndexedTable.of(rows._jdf, table.rows, folder)

    def save(self, tables: Iterable[SavedTable], folder: Folder) -> dict[str, list[TableKey]]:
        """Put the indexes of large tables into a folder, each set into one of its name; returns which are in each.

        Raises IndexSizeError.
        """
        saved: dict[str, list[TableKey]] = {}
        for table in filter(self._are_for, tables):
            indexes = folder.child(table.index_set)
            to = indexes.child(table.inner)
            indexes.child(f"graph={table.graph}").make()
            if self._at(table, table.index_path).isMade():
                Folder(self._spark, table.index_path).copy(to)
            else:
                self._make(self._at(table, to.path), table)
            saved.setdefault(table.index_set, []).append((table.graph, table.predicate))
        return saved
