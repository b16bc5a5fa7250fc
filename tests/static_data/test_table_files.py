"""Files of tables that were written anew: deleted once nobody reads them."""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.graph_changes import ChangeKind, GraphEditor, read_change
from static_data.storage.folders import Folder
from static_data.storage.table_files import TableFiles
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX, write_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class GrowingTable:
    """A store with one table, which is written anew for every row."""

    spark: SparkSession
    store: StaticStore

    def insert(self, number: int) -> None:
        line = f"<{EX}a> <{EX}p> <{EX}{number}> ."
        change = read_change(self.spark, ChangeKind.INSERT, None, line)
        GraphEditor(self.store, self.spark).apply(change)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GrowingTable:
    monkeypatch.setattr("static_data.storage.stored_tables.MOST_EDITS", 0)
    return GrowingTable(spark, StaticStore(spark, work_dir=tmp_path / "work", driver_bytes=0))


def folders(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "work").glob("cqels-*/*"))


def collect(spark: SparkSession) -> None:
    """Has both sides let go of what is not reachable."""
    gc.collect()
    time.sleep(0.2)
    spark.sparkContext._jvm.System.gc()


def test_files_that_nobody_reads_are_deleted(
    spark: SparkSession, tmp_path: Path, table: GrowingTable
) -> None:
    store = table.store
    for number in range(20):
        collect(spark)
        table.insert(number)
        if number > 3 and len(folders(tmp_path)) <= 3:
            break
    assert len(folders(tmp_path)) <= 3
    assert store.quads().count() == number + 1
    # Saved and opened, what is left is whole.
    store.save(tmp_path / "saved")
    opened = StaticStore(spark)
    opened.open(tmp_path / "saved")
    assert opened.quads().count() == number + 1


def test_a_data_frame_goes_on_reading_what_there_was(
    spark: SparkSession, tmp_path: Path, table: GrowingTable
) -> None:
    store = table.store
    table.insert(0)
    table.insert(1)
    p = store.lookup(f"<{EX}p>")
    made = store.quads().selectExpr("o + 0 AS o")
    other = store.table(0, p)
    for number in range(2, 6):
        collect(spark)
        table.insert(number)
    assert made.count() == other.count() == 2
    assert "load-1" in folders(tmp_path)
    del made, other
    for number in range(6, 20):
        collect(spark)
        table.insert(number)
        if "load-1" not in folders(tmp_path):
            break
    assert "load-1" not in folders(tmp_path)
    assert store.table(0, p).count() == number + 1


def test_a_write_that_fails_leaves_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    files = TableFiles(spark, tmp_path / "work")

    def half(folder: str) -> list[tuple[int, int, int]]:
        Folder(spark, folder).make()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        files.write(half)
    assert folders(tmp_path) == []


def test_a_load_beside_other_tables_keeps_their_files(spark: SparkSession, tmp_path: Path) -> None:
    store = StaticStore(spark, work_dir=tmp_path / "work", driver_bytes=0)
    store.load(write_as(tmp_path, "a.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n".encode()))
    for number in range(20):
        collect(spark)
        line = f"<{EX}a> <{EX}q> <{EX}{number}> .\n"
        store.load(write_as(tmp_path, f"{number}.nt", line.encode()))
        if number > 1 and "load-1" not in folders(tmp_path):
            break
    assert "load-0" in folders(tmp_path)
    assert "load-1" not in folders(tmp_path)
    assert store.quads().count() == number + 2


def test_stores_may_share_a_folder_and_delete_their_own_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write_as(tmp_path, "a.nt", f"<{EX}a> <{EX}p> <{EX}b> .\n".encode())
    stores = [StaticStore(spark, work_dir=tmp_path / "work", driver_bytes=0) for _ in range(2)]
    for store in stores:
        store.load(path)
    assert folders(tmp_path) == ["load-0", "load-0"]
    stores[0].close()
    assert folders(tmp_path) == ["load-0"]
    assert stores[1].quads().count() == 1
    stores[1].close()
    assert list((tmp_path / "work").iterdir()) == []
