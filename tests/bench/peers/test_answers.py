"""The fingerprint of answers: blind to the order of rows, not to their number or content."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.peers.answers import fingerprint

Rows = list[tuple[str | None, ...]]
texts = st.one_of(st.none(), st.sampled_from(["", "a", "b", "ab"]), st.text(max_size=2))
rows_of_two = st.lists(st.tuples(texts, texts), max_size=6)


def table(rows: Rows) -> pa.Table:
    columns: list[Any] = [pa.array([row[place] for row in rows], pa.string()) for place in (0, 1)]
    return pa.table(columns, names=["x", "y"])


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rows_of_two.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_order_does_not_matter(both: tuple[Rows, Rows]) -> None:
    rows, shuffled = both
    assert fingerprint(table(rows)) == fingerprint(table(shuffled))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(rows_of_two, rows_of_two)
def test_equal_fingerprints_mean_equal_multisets(left: Rows, right: Rows) -> None:
    same = fingerprint(table(left)) == fingerprint(table(right))
    assert same == (Counter(left) == Counter(right))


@settings(derandomize=True, max_examples=100, deadline=None)
@given(rows_of_two.filter(bool), st.data())
def test_one_value_or_one_row_more_is_noticed(rows: Rows, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(rows) - 1))
    (first, second), other = rows[at], data.draw(texts)
    for changed in (
        [*rows, rows[at]],
        [*rows[:at], *rows[at + 1 :]],
        [*rows[:at], (first, other), *rows[at + 1 :]],
        [*rows[:at], (other, second), *rows[at + 1 :]],
        [*rows[:at], (second, first), *rows[at + 1 :]],
    ):
        same = fingerprint(table(rows)) == fingerprint(table(changed))
        assert same == (Counter(rows) == Counter(changed))


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([("a", "b"), ("c", "d")], [("a", "d"), ("c", "b")]),
        ([("ab", "")], [("ab", None)]),
        ([("a", "bc")], [("ab", "c")]),
        ([("a", "b")] * 2, [("a", "b")] * 3),
        ([], [(None, None)]),
    ],
)
def test_columns_multiplicity_and_nulls_matter(left: Rows, right: Rows) -> None:
    assert fingerprint(table(left)) != fingerprint(table(right))


def test_types_and_names_of_columns_do_not_matter() -> None:
    plain = pa.table({"x": ["a", "b", "a"], "n": ["1", "2", "3"]})
    typed = pa.table(
        {
            "name": pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode(),
            "number": pa.array([1, 2, 3], pa.int64()),
        }
    )
    assert fingerprint(plain) == fingerprint(typed)
    assert fingerprint(plain).startswith("3-")
