"""Columns of Spark DataFrames as tasks read them for a mapping (FrameRows.scala)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from static_data.mappings.row_mapping import Reference, RowForm, Source

_READ = (
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
    TimestampType,
)


def frame_columns(
    frame: DataFrame, source: Source, references: Sequence[Reference]
) -> DataFrame | None:
    """The columns of some references, called "c" and their number; None where tasks cannot read one of them.

    They cannot where a reference leads to several values or to none, and values of a type that has to be written
    first, or is none that mappings read: the rows are collected then, and errors are those of other tables.
    """
    if source.iterator or len({name.lower() for name in frame.columns}) < len(frame.columns):
        return None
    columns: list[Column] = []
    for number, reference in enumerate(references):
        column = _column(frame, source, reference)
        if column is None:
            return None
        columns.append(column.alias(f"c{number}"))
    return frame.select(*columns)


def _column(frame: DataFrame, source: Source, reference: Reference) -> Column | None:
    if not reference.is_column:
        return None
    first, *rest = map(str, reference.steps)
    any_case = source.is_table
    name = next((c for c in frame.columns if c == first), None) or next(
        (c for c in frame.columns if any_case and c.lower() == first.lower()), None
    )
    if name is None:
        return F.lit(None).cast("string") if source.form is RowForm.JSON else None
    column = frame[_quoted(name)]
    kind: DataType = frame.schema[name].dataType
    for step in rest:
        if not isinstance(kind, StructType) or step not in kind.names:
            return F.lit(None).cast("string")
        kind = kind[step].dataType
        column = column.getField(step)
    if isinstance(kind, NullType):
        return column.cast("string")
    return column if kind == StringType() or isinstance(kind, _READ) else None


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
