"""The digest of answers: blind to the order of rows, not to their number or content."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.digest import digest_rows, digest_table

rows_of_two = st.lists(st.tuples(st.text(max_size=3), st.sampled_from(["", "a", "b", None])))


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rows_of_two, st.randoms(use_true_random=False))
def test_order_does_not_matter(rows: list[tuple[str, str | None]], random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert digest_rows(shuffled) == digest_rows(rows)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(rows_of_two, rows_of_two)
def test_equal_digests_mean_equal_multisets(
    left: list[tuple[str, str | None]], right: list[tuple[str, str | None]]
) -> None:
    def counted(rows: list[tuple[str, str | None]]) -> list[str]:
        return sorted(map(repr, rows))

    assert (digest_rows(left) == digest_rows(right)) == (counted(left) == counted(right))


def test_columns_multiplicity_and_nulls_matter() -> None:
    digests = {
        digest_rows(rows)
        for rows in (
            [],
            [("a", "b")],
            [("b", "a")],
            [("a", "b"), ("a", "b")],
            [("a", "b"), ("a", "b"), ("a", "b")],
            [("ab", "")],
            [("ab", None)],
            [("a", "b"), ("c", "d")],
            [("a", "d"), ("c", "b")],
        )
    }
    assert len(digests) == 9


def test_types_of_columns_do_not_matter() -> None:
    plain = pa.table({"x": ["a", "b", "a"], "n": ["1", "2", "3"]})
    typed = pa.table(
        {
            "name": pa.chunked_array([["a"], ["b", "a"]]).dictionary_encode(),
            "number": pa.array([1, 2, 3], pa.int64()),
        }
    )
    assert digest_table(plain) == digest_table(typed)
    assert digest_table(plain).startswith("3-")
