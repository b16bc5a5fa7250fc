"""Sorting the rows of tables: signed, by subject and object, repeated ones gone, however ids are distributed."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

HASHES = st.integers(1 << 58, (1 << 59) - 1)
INLINE = st.integers(8 << 58, (8 << 58) + 300)
QUOTED = st.integers(-(1 << 63), -1)
ENDS = st.sampled_from([-(1 << 63), (1 << 63) - 1, -1, 0, 1, 1 << 58])
FEW = st.sampled_from([7, (1 << 58) + 3, (1 << 58) + 4])
COLUMNS = st.sampled_from([HASHES, INLINE, FEW, QUOTED, st.one_of(ENDS, HASHES, INLINE)])
Pairs = list[tuple[int, int]]


@st.composite
def pairs(draw: st.DrawFn) -> Pairs:
    """Pairs, whose number and distribution vary."""
    some = draw(st.lists(st.tuples(draw(COLUMNS), draw(COLUMNS)), max_size=60))
    random = draw(st.randoms(use_true_random=False))
    spread = draw(st.integers(0, 1500))
    bits = draw(st.sampled_from([3, 12, 40, 58]))
    some += [((1 << 58) + random.getrandbits(bits), random.getrandbits(5)) for _ in range(spread)]
    random.shuffle(some)
    return some


@pytest.fixture(scope="module")
def loading(spark: Any) -> Any:
    return spark._jvm.org.apache.spark.sql.cqels.loading


def sorted_rows(loading: Any, rows: Pairs) -> Pairs:
    """The rows of a table that is made of these, in its order."""
    cells = b"".join(struct.pack("<2q", *row) for row in rows)
    tables = loading.MemoryTables
    made = bytes(tables.cells(tables.edited(None, 0, 1, bytearray(cells), bytearray())))
    return [(s, o) for s, o in struct.iter_unpack("<2q", made)]


@settings(max_examples=80)
@given(rows=pairs())
@example([(5, -i) for i in range(100)])
@example([(i % 3, i // 2) for i in range(5000)])
@example([(-i, i) for i in range(100)])
@example([((1 << 63) - 1, 0), (-(1 << 63), 0)] * 30)
def test_rows_are_sorted_and_distinct(loading: Any, rows: Pairs) -> None:
    assert sorted_rows(loading, rows) == sorted(set(rows))
