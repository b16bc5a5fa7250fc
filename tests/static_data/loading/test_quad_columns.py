"""Encoded quads on their way between tasks: columns of few different ids are written in little, and all come back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

Quads = list[tuple[int, int, int, int]]

_IDS = st.integers(-(1 << 63), (1 << 63) - 1)
_COLUMN = st.sampled_from([0, 1, 2, 255, 256, 257, 900])


@st.composite
def quads(draw: st.DrawFn) -> Quads:
    """Quads whose columns have no more than so many different ids, each column of its own number."""
    random = draw(st.randoms(use_true_random=False))
    count = draw(st.sampled_from([0, 1, 15, 16, 17, 300, 1200]))
    columns = []
    for _ in range(4):
        known = [draw(_IDS), *(random.getrandbits(63) for _ in range(draw(_COLUMN)))]
        columns.append([known[i] if i < len(known) else random.choice(known) for i in range(count)])
    return list(zip(*columns, strict=True))


@pytest.fixture(scope="module")
def jvm(spark: Any) -> Any:
    return spark._jvm


def block_of(jvm: Any, rows: Quads) -> Any:
    block = jvm.org.apache.spark.sql.cqels.loading.QuadBlock()
    for s, p, o, g in rows:
        block.add(s, p, o, g)
    return block


def written(jvm: Any, block: Any) -> Any:
    """The bytes of a block, as the JVM has them."""
    out = jvm.java.io.ByteArrayOutputStream()
    stream = jvm.java.io.ObjectOutputStream(out)
    stream.writeObject(block)
    stream.close()
    return out.toByteArray()


def rows_of(block: Any) -> Quads:
    size = range(block.size())
    return [(block.subject(i), block.predicate(i), block.obj(i), block.graph(i)) for i in size]


@settings(max_examples=15)
@given(rows=quads())
@example([(i, i % 256, i % 257, 0) for i in range(600)])
def test_quads_come_back_and_can_be_added_to(jvm: Any, rows: Quads) -> None:
    data = jvm.java.io.ByteArrayInputStream(written(jvm, block_of(jvm, rows)))
    again = jvm.java.io.ObjectInputStream(data).readObject()
    again.add(1, 2, 3, 4)
    assert rows_of(again) == [*rows, (1, 2, 3, 4)]


def test_a_column_of_few_ids_is_short(jvm: Any) -> None:
    count, block_bytes = 4096, {}
    for kinds in (1, 256, 257):
        rows = [(i, (1 << 58) + i % kinds, -i, 0) for i in range(count)]
        block_bytes[kinds] = len(written(jvm, block_of(jvm, rows)))
    few = block_bytes[256] - block_bytes[1]
    many = block_bytes[257] - block_bytes[1]
    # A byte a quad and 256 ids against an id a quad, and what an object stream adds to both.
    assert 0 <= few - (count + 8 * 255) < 200
    assert 0 <= many - 8 * count + 8 < 200
