"""Saves that others come between, and saves that are broken off."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from static_data.errors import StoreFormatError
from static_data.storage.folders import Folder
from static_data.storage.saved_store import SavedTable
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX
from tests.static_data.test_small_files import content

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def store_of(spark: SparkSession, folder: Path, name: str) -> StaticStore:
    file = folder / f"{name}.nt"
    file.write_text(f"<{EX}{name}> <{EX}p> <{EX}o> .")
    store = StaticStore(spark)
    store.load(file)
    return store


def test_a_store_that_another_has_saved_meanwhile_stays(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, other = store_of(spark, tmp_path, "a"), store_of(spark, tmp_path, "b")
    own = store.indexes.save

    def save(tables: Sequence[SavedTable], folder: Folder) -> Any:
        other.save(tmp_path / "saved")
        return own(tables, folder)

    monkeypatch.setattr(store.indexes, "save", save)
    with pytest.raises(StoreFormatError, match="saved: has been written to meanwhile"):
        store.save(tmp_path / "saved")
    opened = StaticStore(spark)
    opened.open(tmp_path / "saved")
    assert content(opened) == content(other)
    assert sorted(path.name for path in tmp_path.glob("saved*")) == ["saved"]


def test_an_empty_folder_is_filled(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    store = store_of(spark, tmp_path, "a")
    store.save(tmp_path / "saved")
    opened = StaticStore(spark)
    opened.open(tmp_path / "saved")
    assert content(opened) == content(store)


def test_what_a_broken_off_save_has_left_is_named(spark: SparkSession, tmp_path: Path) -> None:
    store_of(spark, tmp_path, "a").save(tmp_path / "saved")
    (tmp_path / "saved").rename(tmp_path / "saved.old-0123abcd")
    (tmp_path / "saved.partial-0123abcd").mkdir()
    opened = StaticStore(spark)
    with pytest.raises(StoreFormatError, match=r"has left [^ ]*saved\.old-0123abcd: rename it"):
        opened.open(tmp_path / "saved")
    with pytest.raises(StoreFormatError, match=r"no such folder$"):
        opened.open(tmp_path / "none" / "saved")
