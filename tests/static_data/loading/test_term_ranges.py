"""Loads of so many terms that tasks compare them before the driver does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from static_data.store import StaticStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = 60_000
_PADDING = "x" * 100


@pytest.mark.parametrize("hash_bits", [58, 30])
def test_many_terms_are_told_apart(spark: SparkSession, tmp_path: Path, hash_bits: int) -> None:
    """Each text comes in both files; at 30 bits some of them have one hash."""
    files = [tmp_path / "0.nt", tmp_path / "1.nt"]
    for number, file in enumerate(files):
        lines = (f'<a:{i}> <a:p{number}> "{_PADDING}{i}" .\n' for i in range(_LINES))
        file.write_text("".join(lines))
    store = StaticStore(spark)
    try:
        store.dictionary.setHashBits(hash_bits)
        report = store.load([*files])
        assert (report.quads_added, report.terms) == (2 * _LINES, 2 * _LINES + 2)
        assert (store.dictionary.exceptionCount() > 0) == (hash_bits == 30)
        for i in range(0, _LINES, 997):
            subject, obj = store.lookup(f"<a:{i}>"), store.lookup(f'"{_PADDING}{i}"')
            assert (store.text(subject), store.text(obj)) == (f"<a:{i}>", f'"{_PADDING}{i}"')
        rows = store.quads().select("s", "o").distinct().count()
        assert rows == _LINES
    finally:
        store.close()


def test_ranges_say_how_many_terms_there_are(spark: SparkSession) -> None:
    """What some ranges have is much like what the others have; a little more is said, never less for hashes."""
    ranges = getattr(
        getattr(spark._jvm.org.apache.spark.sql.cqels.loading, "TermRanges$"), "MODULE$"
    )
    assert ranges.whole(0, 1, 50) < 50 * 20
    assert 5_000_000 < ranges.whole(500_000, 5, 50) < 5_050_000
    assert 10_000 < ranges.whole(100, 1, 100) < 16_000


def test_a_layer_grows_when_terms_in_its_order_are_more_than_expected(
    spark: SparkSession, tmp_path: Path
) -> None:
    file = tmp_path / "terms.nt"
    file.write_text("".join(f"<a:{i}> <a:p> <b:{i}> .\n" for i in range(_LINES)))
    store = StaticStore(spark)
    try:
        terms = store.load(file).terms
        layer = store.dictionary.staticLayers()[0]
        builder = spark._jvm.org.apache.spark.sql.cqels.dictionary.CompactDictionary.Builder
        crowded = {}
        for expected in (terms // 4, terms):
            made = builder(expected).addAll(layer)
            crowded[expected] = made.timesCrowded()
            again = made.build()
            assert again.size() == terms
            assert abs(again.memoryBytes() - layer.memoryBytes()) < layer.memoryBytes() / 8
            for i in range(0, _LINES, 2999):
                term_id = store.lookup(f"<b:{i}>")
                assert again.textAt(again.find(term_id)) == f"<b:{i}>"
        # At a quarter of the room, a term would pass thousands of others on its way to a slot.
        assert crowded[terms // 4] > 0
        assert crowded[terms] == 0
    finally:
        store.close()
