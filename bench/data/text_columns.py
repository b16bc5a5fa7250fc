"""Text made column by column: strings and Arrow arrays joined to rows, without a Python loop over rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def joined(*columns: str | pa.Array) -> pa.Array:
    """The columns' texts put together row by row; at least one column must be an array.

    >>> joined("<http://e/", numbers(np.array([3, 10])), ">").to_pylist()
    ['<http://e/3>', '<http://e/10>']
    """
    return pc.binary_join_element_wise(*columns, "")


def content(*columns: str | pa.Array) -> memoryview:
    """All rows of the joined columns one after the other, as the bytes that follow each other in Arrow's buffer."""
    rows = joined(*columns)
    start, end = np.frombuffer(rows.buffers()[1], np.int32)[[rows.offset, -1]]
    return memoryview(rows.buffers()[2])[int(start) : int(end)]


def numbers(values: np.ndarray) -> pa.Array:
    """Integers as text."""
    return pa.array(values).cast(pa.string())


def decimals(values: np.ndarray, digits: int) -> pa.Array:
    """Not negative integers as decimal numbers with that many digits after the point.

    >>> decimals(np.array([174_305, 31_000_007]), 6).to_pylist()
    ['0.174305', '31.000007']
    """
    whole, fraction = np.divmod(values, 10**digits)
    return joined(numbers(whole), ".", pc.utf8_lpad(numbers(fraction), digits, "0"))
