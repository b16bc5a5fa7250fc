"""The files of a store's tables: a folder for each write, deleted once nothing reads what is in it."""

from __future__ import annotations

import logging
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from static_data.errors import StaticDataError
from static_data.jvm import extension
from static_data.storage.folders import Folder
from static_data.storage.row_edits import TableKey
from static_data.storage.saved_store import SavedTable

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class _Written:
    """A folder, and the tables in it as far as somebody holds them."""

    folder: Folder
    tables: Sequence[weakref.ref[SavedTable]]


class TableFiles:
    """Writes the tables of one store, each time into a new folder.

    All are in a folder of the store's own in `work_dir`, or in a temporary one when that is not given; `close` deletes
    it. A table that is written anew leaves its old files behind, for those who read them. They are deleted at a later
    write: when nobody holds a table of their folder, and the garbage collector has found no plan that reads it.
    """

    def __init__(self, spark: SparkSession, work_dir: str | Path | None = None) -> None:
        self._spark = spark
        self._cleanup: Callable[[], object] | None = None
        self._own = self._make_own(work_dir)
        self._readers = extension(spark).loading.FolderReaders
        self._writes = 0
        self._written: list[_Written] = []

    def _make_own(self, work_dir: str | Path | None) -> Folder:
        if work_dir is not None:
            # Stores of other processes, and of earlier ones that were killed, may have used the same.
            return Folder(self._spark, work_dir).child(f"cqels-{uuid.uuid4().hex}")
        master = self._spark.sparkContext.master or ""
        if not master.startswith("local"):
            raise StaticDataError(
                f"on {master} the store needs work_dir, a folder that all executors reach"
            )
        made = tempfile.mkdtemp(prefix="cqels-static-")
        self._cleanup = weakref.finalize(self, shutil.rmtree, made, ignore_errors=True)
        return Folder(self._spark, made)

    def write(
        self, rows_of: Callable[[str], Iterable[Sequence[Any]]]
    ) -> dict[TableKey, SavedTable]:
        """Have `rows_of` write tables into the folder of this path; it returns graph, predicate and rows of each."""
        self._delete_unread()
        folder = self._own.child(f"load-{self._writes}")
        self._writes += 1
        # Spark reads nothing of such a name as rows.
        indexes = folder.child(f"_indexes/{uuid.uuid4().hex}").path
        try:
            tables = [
                SavedTable(folder.path, int(graph), int(predicate), int(rows), indexes)
                for graph, predicate, rows in rows_of(folder.path)
            ]
        except BaseException:
            self._delete(folder)
            raise
        self._written.append(_Written(folder, [weakref.ref(table) for table in tables]))
        return {(table.graph, table.predicate): table for table in tables}

    def take_index_folder(self) -> str:
        """A folder for indexes of tables whose files are elsewhere; it is made when one is written."""
        return self._own.child(f"indexes/{uuid.uuid4().hex}").path

    def close(self) -> None:
        """Delete all files."""
        if self._cleanup is not None:
            self._cleanup()
        else:
            self._delete(self._own)
        for written in self._written:
            self._readers.forget(written.folder.path)
        self._written = []

    def _delete_unread(self) -> None:
        left = []
        for written in self._written:
            if self._is_read(written):
                left.append(written)
            else:
                self._delete(written.folder)
                self._readers.forget(written.folder.path)
        self._written = left

    def _is_read(self, written: _Written) -> bool:
        if any(table() is not None for table in written.tables):
            return True
        return bool(self._readers.areThere(written.folder.path))

    def _delete(self, folder: Folder) -> None:
        try:
            folder.delete()
        except Exception:  # What is left takes room, and does no other harm.
            logger.exception("%s could not be deleted", folder.name)
