"""Tables as blocks of Arrow's streaming format, of the types of columns that the JVM reads (ArrowColumns.scala)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

TABLES = "a pyarrow Table or RecordBatch, a pandas, Polars or Spark DataFrame"
_MOST_DIGITS = 38
_GREATEST = (1 << 63) - 1


class ColumnError(ValueError):
    """A column that the JVM cannot read; the message names it."""


def as_table(given: object) -> pa.Table | None:
    """Rows as an Arrow table, None if `given` is nothing of the kind; a Spark DataFrame is collected.

    >>> as_table(pa.record_batch({"a": [1]})).column_names
    ['a']
    >>> as_table([1])
    """
    if isinstance(given, pa.Table):
        return given
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if isinstance(given, pd.DataFrame):
        return pa.Table.from_pandas(given, preserve_index=False)
    if isinstance(given, DataFrame):
        return None if given.isStreaming else given.toArrow()
    if hasattr(given, "__arrow_c_stream__"):
        return pa.table(given)
    return None


def block_of(columns: dict[str, pa.Array]) -> memoryview:
    """Columns of one length, as `readable` leaves them, as a block with one batch of rows."""
    batch = pa.record_batch(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(sink.getvalue())


def readable(name: str, column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """A column as one array of a type that the JVM reads; raises ColumnError, which calls it `name`.

    >>> readable("a", pa.array(["x"], pa.large_string())).type
    DataType(string)
    >>> readable("a", pa.array([[1]]))
    Traceback (most recent call last):
    sparkext.bridge.arrow_blocks.ColumnError: column a: values of type list<item: int64> cannot be read
    """
    try:
        if isinstance(column, pa.ChunkedArray):
            column = _joined(column)
        return _readable(column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ColumnError(f"column {name}: {error}") from None
    except _UnreadableTypeError as error:
        raise ColumnError(f"column {name}: values of type {error} cannot be read") from None


class _UnreadableTypeError(Exception):
    pass


def _joined(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
    return column.combine_chunks()


def _readable(column: pa.Array) -> pa.Array:
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _readable(column.storage)
    if pa.types.is_dictionary(kind):
        # A part of a table comes with the distinct values of all of it.
        if len(column.dictionary) > len(column):
            return _readable(column.dictionary_decode())
        values = _readable(column.dictionary)
        return pa.DictionaryArray.from_arrays(column.indices, values)
    if pa.types.is_run_end_encoded(kind):
        return _readable(pc.run_end_decode(column))
    wanted = _readable_type(kind)
    if pa.types.is_uint64(kind) and (pc.max(column).as_py() or 0) > _GREATEST:
        wanted = pa.decimal128(20, 0)
    return column if wanted == kind else column.cast(wanted)


def _readable_type(kind: pa.DataType) -> pa.DataType:
    types = pa.types
    for matches, wanted in _READ_AS:
        if matches(kind):
            return wanted
    if types.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        return pa.decimal128(kind.precision, kind.scale)
    if any(is_kept(kind) for is_kept in _KEPT):
        return kind
    raise _UnreadableTypeError(str(kind))


_Test = Callable[[Any], bool]
_KEPT: tuple[_Test, ...] = (
    pa.types.is_boolean,
    pa.types.is_floating,
    pa.types.is_timestamp,
    pa.types.is_date32,
)
_READ_AS: tuple[tuple[_Test, pa.DataType], ...] = (
    (pa.types.is_string, pa.string()),
    (pa.types.is_large_string, pa.string()),
    (pa.types.is_string_view, pa.string()),
    (pa.types.is_binary, pa.string()),
    (pa.types.is_large_binary, pa.string()),
    (pa.types.is_fixed_size_binary, pa.string()),
    (pa.types.is_binary_view, pa.string()),
    (pa.types.is_null, pa.string()),
    (pa.types.is_integer, pa.int64()),
    (pa.types.is_float16, pa.float32()),
    (pa.types.is_date64, pa.date32()),
)
