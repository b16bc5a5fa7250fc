"""Saved stores whose terms are read where they lie, those of the format before, and those that are damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from static_data.errors import StoreFormatError
from static_data.store import StaticStore
from tests.static_data.rdf_samples import EX, store_quads, write_as

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EARLIER = Path(__file__).parent / "earlier_stores"

# What the folder of format version 1 was made of.
DATA = f"""
<{EX}a> <{EX}p> <{EX}b> .
<{EX}a> <{EX}p> "1" .
<{EX}b> <{EX}q> << <{EX}a> <{EX}p> _:x >> <{EX}g> .
_:x <{EX}q> "chat"@fr <{EX}g> .
"""


def unpacked(name: str, to: Path) -> Path:
    shutil.unpack_archive(EARLIER / f"{name}.zip", to / name)
    return to / name


def version(folder: Path) -> int:
    return int(json.loads((folder / "manifest.json").read_text())["version"])


def test_a_store_of_version_1_is_read_and_saved_anew(spark: SparkSession, tmp_path: Path) -> None:
    folder = unpacked("format_1", tmp_path)
    old = StaticStore(spark)
    old.open(folder)
    loaded = StaticStore(spark)
    loaded.load(write_as(tmp_path, "a.nq", DATA.encode()))
    assert store_quads(old) == store_quads(loaded)
    assert old.catalogue() == loaded.catalogue()
    assert old.dictionary.staticSize() == loaded.dictionary.staticSize()
    assert version(folder) == 1
    old.save(folder, overwrite=True)
    assert version(folder) == 2
    new = StaticStore(spark)
    new.open(folder)
    assert store_quads(new) == store_quads(loaded)
    assert new.catalogue() == loaded.catalogue()
    # Saved from where it lies, over itself.
    new.save(folder, overwrite=True)
    assert store_quads(new) == store_quads(loaded)
    again = StaticStore(spark)
    again.open(folder)
    assert store_quads(again) == store_quads(loaded)


def test_ids_that_are_not_plain_hashes_come_from_version_1(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = unpacked("format_1_narrow", tmp_path)
    noted = json.loads((folder / "manifest.json").read_text())["exceptions"]
    assert len(noted) > 20
    for _ in range(2):
        store = StaticStore(spark)
        store.dictionary.setHashBits(8)
        store.open(folder)
        assert {text: store.lookup(text) for text in noted} == noted
        assert store.dictionary.exceptionCount() == len(noted)
        quads = {(s, o) for s, _, o, _ in store_quads(store)}
        assert quads == {(f"<{EX}s{i}>", f"<{EX}o{i}>") for i in range(60)}
        store.save(folder, overwrite=True)
    assert version(folder) == 2


TERMS = st.one_of(
    st.integers(0, 9).map(lambda n: f"<{EX}{n}>"),
    st.text(st.characters(codec="utf-8", exclude_characters='\\"\n\r'), max_size=20).map(
        lambda text: f'"{text}"'
    ),
    st.integers(-5, 5).map(lambda n: f'"{n}"^^<http://www.w3.org/2001/XMLSchema#integer>'),
)


@settings(
    derandomize=True,
    database=None,
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    first=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), TERMS), max_size=15),
    second=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), TERMS), max_size=15),
)
def test_what_is_opened_is_what_was_saved(
    spark: SparkSession,
    tmp_path: Path,
    first: list[tuple[int, int, str]],
    second: list[tuple[int, int, str]],
) -> None:
    """Also after a load into what was opened, which then is saved again."""
    folder = tmp_path / "saved"
    whole = StaticStore(spark)
    opened = StaticStore(spark)
    for rows in (first, second):
        content = "".join(f"<{EX}{s}> <{EX}p{p}> {o} .\n" for s, p, o in rows)
        file = write_as(tmp_path, "a.nt", content.encode())
        whole.load(file)
        opened.load(file)
        opened.save(folder, overwrite=True)
        opened = StaticStore(spark)
        opened.open(folder)
        assert store_quads(opened) == store_quads(whole)
        for s, p, o in rows:
            for text in (f"<{EX}{s}>", f"<{EX}p{p}>", o):
                assert opened.lookup(text) == whole.lookup(text) != 0
                assert opened.text(opened.lookup(text)) == text
    assert opened.dictionary.memoryBytes() < 20_000


def _changed(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)


def _of_another_version(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8] = 9
    file.write_bytes(content)


def _foreign(file: Path) -> None:
    file.write_bytes(b"\0" * file.stat().st_size)


def _renamed(file: Path) -> None:
    file.rename(file.with_suffix(".old"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (_changed, r"dictionary/terms\.bin does not match its checksum"),
        (_of_another_version, r"dictionary/terms\.bin has format version 9; this program reads 1"),
        (_foreign, r"dictionary/terms\.bin is no file of terms"),
        (_renamed, r"dictionary/terms\.bin is missing"),
    ],
)
def test_damaged_terms_are_refused(
    spark: SparkSession, tmp_path: Path, damage: Callable[[Path], None], words: str
) -> None:
    folder = tmp_path / "saved"
    store = StaticStore(spark)
    store.load(write_as(tmp_path, "a.nq", DATA.encode()))
    store.save(folder)
    damage(folder / "dictionary" / "terms.bin")
    opened = StaticStore(spark)
    with pytest.raises(StoreFormatError, match=words) as caught:
        opened.open(folder)
    assert str(folder) in str(caught.value)
    assert (opened.version, opened.dictionary.staticSize()) == (0, 0)


def test_a_store_on_a_file_system_that_cannot_be_mapped(
    spark: SparkSession, tmp_path: Path
) -> None:
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    link = f"fs.viewfs.mounttable.{tmp_path.name}.link./data"
    configuration.set(link, f"file://{tmp_path}")
    try:
        place = f"viewfs://{tmp_path.name}/data/saved"
        store = StaticStore(spark)
        store.load(write_as(tmp_path, "a.nq", DATA.encode()))
        store.save(place)
        assert (tmp_path / "saved" / "dictionary" / "terms.bin").exists()
        opened = StaticStore(spark)
        opened.open(place)
        assert store_quads(opened) == store_quads(store)
    finally:
        configuration.unset(link)
