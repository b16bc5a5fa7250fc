"""Order-independent digest of answers, so that engines can be compared without moving rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_UNBOUND = b"\x00unbound"


def _hash_text(text: str | None) -> int:
    data = _UNBOUND if text is None else text.encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def _mix(values: Hashes) -> Hashes:
    """A bijection of 64-bit words in which every input bit reaches every output bit."""
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    values = (values ^ (values >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
    return values ^ (values >> np.uint64(32))


def _column_hashes(column: pa.ChunkedArray) -> Hashes:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode("encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    distinct = np.array([_hash_text(t) for t in encoded.dictionary.to_pylist()], dtype=np.uint64)
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    return np.asarray(np.take(distinct, codes), dtype=np.uint64)


def digest_table(table: pa.Table) -> str:
    """The digest of a table's rows as a multiset: their number and a 64-bit sum of row hashes.

    Columns count by position, not by name; values count by their text (an integer 3 equals the
    string "3"), null is a value of its own.

    >>> digest_table(pa.table({"x": ["a", "b"], "n": [1, 2]})) == digest_rows([("b", 2), ("a", 1)])
    True
    """
    if table.num_rows == 0:
        return "0-0000000000000000"
    rows = np.zeros(table.num_rows, dtype=np.uint64)
    for column in table.columns:
        rows = _mix(rows * _ODD + _column_hashes(column) + np.uint64(1))
    return f"{table.num_rows}-{int(rows.sum(dtype=np.uint64)):016x}"


def digest_rows(rows: Iterable[Sequence[object]]) -> str:
    """The digest that `digest_table` gives for the same rows, which must be of equal length.

    Values are taken by `str`, None as null.
    """
    texts = [[None if v is None else str(v) for v in row] for row in rows]
    columns = [pa.array(column, pa.string()) for column in zip(*texts, strict=True)]
    return digest_table(pa.table(columns, names=[str(i) for i in range(len(columns))]))
