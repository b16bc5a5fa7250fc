"""Saved stores whose large tables have index files, those that have none, and those that lost some."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from static_data.errors import IndexSizeError, StoreFormatError
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NONE = 1_000_000
LINES = "".join(f"<{EX}s{n}> <{EX}p> <{EX}o{n % 7}> .\n" for n in range(50))
OTHERS = "".join(f"<{EX}s{n}> <{EX}p> <{EX}o{n % 5}> .\n" for n in range(50))


class Stores:
    """Stores of one test, closed with it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.open_ones = ExitStack()

    def new(self, mapped_rows: int) -> StaticStore:
        """A store without data."""
        made = StaticStore(self._spark, driver_bytes=0, mapped_rows=mapped_rows)
        self.open_ones.callback(made.close)
        return made

    def saved(self, mapped_rows: int) -> Path:
        """The folder of one that was saved."""
        (self._folder / "data.nt").write_text(LINES)
        store = self.new(mapped_rows)
        store.load(self._folder / "data.nt", progress=False)
        store.save(self._folder / "saved")
        return self._folder / "saved"


@pytest.fixture
def stores(spark: SparkSession, tmp_path: Path) -> Iterator[Stores]:
    made = Stores(spark, tmp_path)
    with made.open_ones:
        yield made


def beside(store: StaticStore, number: int) -> tuple[int, Any]:
    """How many subjects an object has by the index, and the table."""
    (table,) = store.tables.whole.values()
    index = store.indexes.of(table)
    assert index is not None
    return int(index.beside(1, store.lookup(f"<{EX}o{number}>")).rowCount()), table


def test_indexes_are_saved_and_found(stores: Stores) -> None:
    folder = stores.saved(0)
    opened = stores.new(0)
    opened.open(folder, progress=False)
    count, table = beside(opened, 0)
    assert count == 8
    assert table.index_path.startswith(f"file://{folder}/indexes/")


def test_indexes_that_a_store_lacks_are_made_elsewhere(stores: Stores) -> None:
    folder = stores.saved(NONE)
    before = sorted(folder.rglob("*"))
    opened = stores.new(0)
    opened.open(folder, progress=False)
    count, table = beside(opened, 1)
    assert count == 7
    assert not table.index_path.startswith(f"file://{folder}")
    assert sorted(folder.rglob("*")) == before
    small = stores.new(NONE)
    small.open(folder, progress=False)
    assert small.indexes.of(*small.tables.whole.values()) is None


@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_stores_without_their_indexes_are_refused(stores: Stores, damage: str) -> None:
    folder = stores.saved(0)
    if damage == "gone":
        shutil.rmtree(folder / "indexes")
    else:
        block = next(folder.rglob("block-*.bin"))
        block.write_bytes(block.read_bytes()[:-8])
    with pytest.raises(StoreFormatError, match="indexes are missing or cut off"):
        stores.new(0).open(folder, progress=False)


def test_a_store_in_the_place_of_another_has_its_own_indexes(
    stores: Stores, tmp_path: Path
) -> None:
    folder = stores.saved(0)
    first = stores.new(0)
    first.open(folder, progress=False)
    kept = first.indexes.of(*first.tables.whole.values())
    assert beside(first, 0)[0] == 8
    (tmp_path / "others.nt").write_text(OTHERS)
    other = stores.new(0)
    other.load(tmp_path / "others.nt", progress=False)
    other.save(folder, overwrite=True)
    opened = stores.new(0)
    opened.open(folder, progress=False)
    assert beside(opened, 0)[0] == 10
    assert kept is not None  # until here: a process forgets indexes that nothing holds


def test_who_saves_over_what_it_has_opened_goes_on_with_its_indexes(
    stores: Stores, tmp_path: Path
) -> None:
    folder = stores.saved(0)
    opened = stores.new(0)
    opened.open(folder, progress=False)
    (tmp_path / "more.nt").write_text(LINES.replace(f"<{EX}p>", f"<{EX}q>"))
    opened.load(tmp_path / "more.nt", progress=False)
    opened.save(folder, overwrite=True)
    before = sorted(folder.rglob("*"))
    for table in opened.tables.whole.values():
        assert opened.indexes.of(table) is not None
    assert sorted(folder.rglob("*")) == before
    again = stores.new(0)
    again.open(folder, progress=False)
    assert again.row_count(0) == 100


class Narrow:
    """An IndexedTable whose blocks have few words."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)

    def make(self) -> None:
        """Make the indexes."""
        self._made.make(40)


def test_a_table_that_no_index_holds_is_named(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = stores.saved(NONE)
    opened = stores.new(0)
    opened.open(folder, progress=False)
    whole = opened.indexes._at
    monkeypatch.setattr(opened.indexes, "_at", lambda table, path: Narrow(whole(table, path)))
    for ask in (lambda: beside(opened, 0), lambda: opened.save(tmp_path / "again")):
        with pytest.raises(IndexSizeError, match=rf"<{EX}p> of the default graph: .* 50 rows"):
            ask()
    monkeypatch.undo()
    assert beside(opened, 0)[0] == 8
