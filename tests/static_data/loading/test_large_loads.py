"""Tables of more rows than one task sorts, as they grow and are edited; more flaws than come to the driver at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.graph_changes import ChangeKind, GraphEditor, read_change
from static_data.jvm import extension
from static_data.storage.row_edits import TableKey, ids_to_bytes
from static_data.storage.saved_store import SavedTable
from static_data.storage.tables import Tables
from static_data.store import StaticStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1_100_000
"""More than QuadTables.RowsPerTask."""


@pytest.fixture
def store(spark: SparkSession, tmp_path: Path) -> Iterator[StaticStore]:
    """A store with one large table; ids of its rows stand for no terms."""
    store = StaticStore(spark, driver_bytes=0)
    key: TableKey = (0, store.encode("<x:p>"))
    rows = spark.range(ROWS).selectExpr(
        "xxhash64(id) AS s", f"{key[1]}L AS p", "1L AS o", "0L AS g"
    )
    tables, folder = extension(spark).loading.QuadTables, f"file://{tmp_path}/table"
    counts = ids_to_bytes([*key, ROWS])
    tables.writeFrame(spark._jsparkSession, rows._jdf, counts, folder)
    store._tables.now = Tables({key: SavedTable(folder, *key, ROWS, f"{folder}/_indexes/i")})
    yield store
    store.close()


@contextmanager
def sending_at_most(spark: SparkSession, size: str) -> Iterator[None]:
    """A job fails whose tasks send more to the driver."""
    conf = spark.sparkContext._jsc.sc().conf()
    before = conf.get("spark.driver.maxResultSize", "1g")
    conf.set("spark.driver.maxResultSize", size)
    try:
        yield
    finally:
        conf.set("spark.driver.maxResultSize", before)


def files_of(store: StaticStore) -> int:
    """How many files the one table has: a task writes one."""
    (table,) = store.tables.whole.values()
    assert isinstance(table, SavedTable)
    return len(list(Path(table.path.removeprefix("file://")).glob("part-*")))


def test_a_load_that_adds_to_one_is_sorted_by_several_tasks(
    store: StaticStore, tmp_path: Path
) -> None:
    (tmp_path / "more.nt").write_text("<x:a> <x:p> <x:b> .")
    assert store.load(tmp_path / "more.nt").quads_added == 1
    assert store.row_count(0) == ROWS + 1
    assert files_of(store) > 1


def test_an_edited_one_is_written_by_tasks(
    spark: SparkSession, store: StaticStore, tmp_path: Path
) -> None:
    change = read_change(spark, ChangeKind.INSERT, None, "<x:a> <x:p> <x:b> .")
    assert GraphEditor(store, spark).apply(change)
    with sending_at_most(spark, "1m"):
        (table,) = store._tables.in_files()
    assert table.rows == ROWS + 1
    assert files_of(store) > 1


def test_flaws_come_to_the_driver_some_thousands_at_a_time(
    spark: SparkSession, tmp_path: Path
) -> None:
    bad, count = f'<x:s> <x:p> "{"x" * 1900}" {{}}', 10_000
    lines = [bad.format(n) if n % 100 else "<x:s> <x:p> <x:o> ." for n in range(count)]
    (tmp_path / "a.nt").write_text("\n".join(lines))
    listed = tmp_path / "skipped.jsonl"
    store = StaticStore(spark, driver_bytes=0)
    with sending_at_most(spark, "14m"):
        report = store.load(tmp_path / "a.nt", on_error="skip", skipped_file=listed)
    assert (report.skipped, report.quads_added) == (count - count // 100, 1)
    told = [json.loads(line)["line"] for line in listed.read_text("utf-8").splitlines()]
    assert told == [n + 1 for n in range(count) if n % 100]
    store.close()
