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
