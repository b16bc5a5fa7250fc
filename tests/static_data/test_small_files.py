"""Small files read on the driver: the same data as through Spark jobs, and the same errors."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from static_data.errors import MalformedRdfError
from static_data.storage.row_edits import RowEdits
from static_data.storage.saved_store import SavedTable
from static_data.storage.tables import MemoryTable
from static_data.store import DRIVER_BYTES, StaticStore
from tests.sparkext.sql.tables import jobs_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TURTLE = """
@prefix : <http://e/> .
:a :p :b , "x"@en-GB , 1 ; :q << :a :p :b >> . :b :p [ :p :a ] . :a :p :b .
"""
MORE = '<http://e/a> <http://e/p> <http://e/b> .\r\n<http://e/a> <http://e/p> "y" . # new\r\n'
QUADS = "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    texts = {"a.ttl": TURTLE, "b.nt": MORE, "c.nq": QUADS}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    return [tmp_path / name for name in texts]


def content(store: StaticStore) -> set[tuple[str, ...]]:
    rows = [tuple(row) for row in store.quads().collect()]
    assert len(rows) == len(set(rows))
    return {tuple("" if i == 0 else store.text(i) for i in row) for row in rows}


def loaded(spark: SparkSession, files: list[Path], driver_bytes: int) -> StaticStore:
    store = StaticStore(spark, driver_bytes=driver_bytes)
    store.load(files[:1])
    store.load(files[1:], graph=None)
    return store


def summary(store: StaticStore) -> Any:
    relations = store.catalogue().relations
    text = store.text
    return {
        (g and text(g), p and text(p)): (
            r.rows,
            r.subject.distinct,
            r.object.literal_rows,
            [n for _, n in r.object.top],
        )
        for (g, p), r in relations.items()
    }


def test_the_same_data_either_way(spark: SparkSession, files: list[Path]) -> None:
    here = loaded(spark, files, DRIVER_BYTES)
    there = loaded(spark, files, 0)
    assert content(here) == content(there)
    assert summary(here) == summary(there)
    assert [(g.text) for g in here.graphs()] == [(g.text) for g in there.graphs()]
    assert all(isinstance(table, MemoryTable) for table in here._tables.now.whole.values())
    assert not any(isinstance(table, MemoryTable) for table in there._tables.now.whole.values())


def test_small_data_meet_large_data(spark: SparkSession, files: list[Path], tmp_path: Path) -> None:
    store = StaticStore(spark, driver_bytes=100_000)
    store.load(files[1])
    large = tmp_path / "large.nt"
    lines = [f"<http://e/a> <http://e/p> <http://e/n{i}> .\n" for i in range(8000)]
    large.write_text("".join(lines) + MORE, encoding="utf-8", newline="")
    assert large.stat().st_size > 100_000
    report = store.load(large)
    assert (report.quads_added, report.duplicates) == (8000, 2)
    again = store.load(files[1])
    assert (again.quads_added, again.duplicates) == (0, 2)
    assert store.row_count(0) == 8002 == store.quads(0).count()


def test_packed_files_are_as_large_as_what_they_hold(spark: SparkSession, tmp_path: Path) -> None:
    lines = "".join(f"<http://e/a{i}> <http://e/p> <http://e/b> .\n" for i in range(1000))
    (tmp_path / "packed.nt.gz").write_bytes(gzip.compress(lines.encode()))
    assert (tmp_path / "packed.nt.gz").stat().st_size < 10_000 < len(lines)
    for most, kind in ((10_000, SavedTable), (1 << 20, MemoryTable)):
        store = loaded(spark, [tmp_path / "packed.nt.gz"], most)
        assert store.row_count(0) == 1000
        assert all(isinstance(table, kind) for table in store.tables.whole.values())


def test_saved_and_opened_again(spark: SparkSession, files: list[Path], tmp_path: Path) -> None:
    store = loaded(spark, files, DRIVER_BYTES)
    key = (0, store.lookup("<http://e/q>"))
    all_rows = store.tables.rows_of(spark, [key])[key]
    assert all_rows
    store.edit(0, {key: RowEdits(removed=frozenset(all_rows))})
    before = content(store)
    assert not any("<http://e/q>" in row for row in before)
    assert jobs_of(spark, lambda: store.save(tmp_path / "saved")) == 0
    again = StaticStore(spark)
    again.open(tmp_path / "saved")
    assert content(again) == content(store) == before
    assert summary(again) == summary(store)
    store.load(files[1])
    assert content(again) == content(store)


def test_saved_as_spark_is_told_to(spark: SparkSession, files: list[Path], tmp_path: Path) -> None:
    key = "spark.sql.parquet.compression.codec"
    before = spark.conf.get(key)
    spark.conf.set(key, "zstd")
    try:
        loaded(spark, files, DRIVER_BYTES).save(tmp_path / "saved")
    finally:
        spark.conf.set(key, str(before))
    written = [path.name for path in (tmp_path / "saved" / "quads").rglob("*.parquet")]
    assert written
    assert all(name.endswith(".zstd.parquet") for name in written), written


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("bad.nt", MORE + "<http://e/a> <p> 1 .\n", (3, 15)),
        ("bad.ttl", TURTLE + ":a :b", (4, None)),
    ],
)
def test_errors_name_the_same_place(
    spark: SparkSession,
    files: list[Path],
    tmp_path: Path,
    name: str,
    text: str,
    place: tuple[int, int | None],
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    places = []
    for size in (DRIVER_BYTES, 0):
        store = StaticStore(spark, driver_bytes=size)
        with pytest.raises(MalformedRdfError) as caught:
            store.load([*files, tmp_path / name])
        places.append((caught.value.file, caught.value.line, caught.value.column))
        assert store.quads().count() == 0
    assert places[0] == places[1]
    assert places[0][1] == place[0] or place[1] is None


def test_colliding_terms_are_told_apart(spark: SparkSession, tmp_path: Path) -> None:
    store = StaticStore(spark)
    store.dictionary.setHashBits(6)
    file = tmp_path / "many.nt"
    file.write_text(
        "".join(f"<http://e/{i}> <http://e/p> <http://e/{i + 1}> .\n" for i in range(300))
    )
    assert store.load(file).quads_added == 300
    assert {row[0] for row in content(store)} == {f"<http://e/{i}>" for i in range(300)}
