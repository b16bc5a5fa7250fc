"""Rows of a mapped stream as the columns that MappedStream.scala reads: one a reference, their elements and times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sparkext.bridge.arrow_blocks import block_of, readable
from static_data.mappings.lexical_forms import NaturalValue, NoLexicalFormError, natural_values
from static_data.mappings.row_mapping import Reference, Source
from static_data.mappings.rows import ArrowRows, JsonRows, Values, column_of
from static_data.terms import XSD_BOOLEAN, XSD_DOUBLE, XSD_INTEGER

_TYPES = {None, XSD_BOOLEAN, XSD_INTEGER, XSD_DOUBLE}
FLAW = "flaw"
ELEMENT = "element"
TIME = "time"
_MIXED = "\0"
_MOST_COMBINATIONS = 1 << 16
_READ = (
    pa.types.is_string,
    pa.types.is_int64,
    pa.types.is_float64,
    pa.types.is_float32,
    pa.types.is_boolean,
    pa.types.is_decimal128,
    pa.types.is_timestamp,
    pa.types.is_date32,
)


def columns_of(
    rows: ArrowRows | JsonRows,
    references: Sequence[Reference],
    time: Reference | None,
    first: int = 0,
) -> pa.Table:
    """The columns of some references, then the number of each row's element, from `first`, and its time, if asked for.

    A row of which a reference has several values becomes several rows of one element, one for each combination.
    Columns are called "c" and their number; one of values with several datatypes "m" and its number: each a text, a
    character 0 and the datatype. Where rows have values without a lexical form, such as JSON objects, or too many
    combinations, a column "flaw" before the element's number has what is wrong with each. Raises MappingError.
    """
    wanted = [*references] if time is None else [*references, time]
    flaws = rows.unread() if isinstance(rows, JsonRows) else {}
    columns: list[Any] = [_column(rows, reference, flaws) for reference in wanted]
    places = None
    if any(isinstance(column, list) for column in columns):
        places, columns = _exploded(columns, len(rows), flaws)
    named = {}
    for number, column in enumerate(columns[: len(references)]):
        try:
            found, mixed = _typed(column) if isinstance(column, list) else _arrow(column)
        except NoLexicalFormError as error:
            raise rows.source.place.error(f"{error}: {references[number].text}") from None
        named[f"{'m' if mixed else 'c'}{number}"] = found
    numbers = np.arange(len(rows)) if places is None else np.array(places, np.int64)
    if flaws:
        named[FLAW] = pa.array([flaws.get(number) for number in numbers.tolist()], pa.string())
    named[ELEMENT] = pa.array(numbers + first, pa.int64())
    if time is not None:
        named[TIME] = _times(columns[-1])
    return pa.table(named)


def row_block(columns: pa.Table) -> memoryview:
    """Columns as the block that MappedStream.scala reads."""
    return block_of({name: readable(name, columns.column(name)) for name in columns.column_names})


def _column(
    rows: ArrowRows | JsonRows, reference: Reference, flaws: dict[int, str]
) -> pa.ChunkedArray | list[Values]:
    """A column of one value a row, or the values of each row."""
    if isinstance(rows, ArrowRows):
        found = column_of(rows.table, reference, rows.source, rows.place)
        if found is not None:
            return _without_nulls(found, rows.source)
    return rows.values(reference, flaws)


def _without_nulls(column: pa.ChunkedArray, source: Source) -> pa.ChunkedArray:
    if not source.nulls:
        return column
    texts = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return column
    null = pc.is_in(texts, value_set=pa.array(source.nulls, texts.type))
    return pc.if_else(null, pa.scalar(None, texts.type), texts)


def _exploded(columns: list[Any], count: int, flaws: dict[int, str]) -> tuple[list[int], list[Any]]:
    """Columns in which every row has one value of each column, and which row each of them was.

    A row of several values each of several columns that are too many together has none, but a flaw.
    """
    several = [n for n, column in enumerate(columns) if isinstance(column, list)]
    places: list[int] = []
    chosen: dict[int, list[NaturalValue | None]] = {n: [] for n in several}
    for row in range(count):
        values = [columns[n][row] or (None,) for n in several]
        combinations = math.prod(map(len, values))
        if combinations > _MOST_COMBINATIONS and combinations > max(map(len, values)):
            flaws[row] = (
                f"{combinations:,} combinations of values, more than {_MOST_COMBINATIONS:,}"
            )
            values = [(None,)] * len(several)
        for choice in product(*values):
            places.append(row)
            for n, value in zip(several, choice, strict=True):
                chosen[n].append(value)
    taken = None if places == list(range(count)) else pa.array(places, pa.int64())
    return places, [
        chosen[n] if n in chosen else column if taken is None else column.take(taken)
        for n, column in enumerate(columns)
    ]


def _arrow(column: pa.ChunkedArray) -> tuple[pa.ChunkedArray | pa.Array, bool]:
    """A column of a type that the JVM reads: others as texts with their datatypes."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        values = kind.value_type
        if any(is_read(values) for is_read in _READ) or pa.types.is_large_string(values):
            return column, False
        return _arrow(column.cast(values))
    if pa.types.is_null(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string()), False
    if any(is_read(kind) for is_read in _READ):
        return column, False
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return column.cast(pa.int64()), False
    # Each distinct value is written once.
    coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
    texts, mixed = _typed(natural_values(pa.chunked_array([coded.dictionary])))
    return pa.DictionaryArray.from_arrays(coded.indices.cast(pa.int32()), texts), mixed


def _typed(values: Sequence[NaturalValue | None]) -> tuple[pa.Array, bool]:
    """Values as a column of their type, or as texts with their datatypes where they have several."""
    datatypes = {value.datatype for value in values if value is not None}
    if len(datatypes) <= 1 and datatypes <= _TYPES:
        datatype = next(iter(datatypes), None)
        texts = [None if value is None else value.lexical for value in values]
        if datatype is None:
            return pa.array(texts, pa.string()), False
        if datatype == XSD_BOOLEAN:
            return pa.array([None if t is None else t == "true" for t in texts], pa.bool_()), False
        if datatype == XSD_INTEGER and all(
            t is None or -(1 << 63) <= int(t) < 1 << 63 for t in texts
        ):
            return pa.array([None if t is None else int(t) for t in texts], pa.int64()), False
        if datatype == XSD_DOUBLE:
            numbers = [None if t is None else float(t) for t in texts]
            return pa.array(numbers, pa.float64()), False
    return pa.array([None if value is None else _mixed(value) for value in values]), True


def _mixed(value: NaturalValue) -> str:
    return f"{value.lexical}{_MIXED}{'' if value.datatype is None else value.datatype.value}"


def _times(column: Any) -> pa.Array | pa.ChunkedArray:
    """Milliseconds since the epoch, or texts."""
    if isinstance(column, list):
        column = pa.chunked_array([pa.array(list(map(_time_text, column)), pa.string())])
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _times(column.cast(kind.value_type))
    if pa.types.is_timestamp(kind):
        per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[kind.unit]
        ticks = column.cast(pa.int64())
        return _scaled(ticks, per_second)
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("ms")).cast(pa.int64())
    if pa.types.is_floating(kind):
        some = pc.if_else(pc.is_finite(column), pc.floor(column), pa.scalar(None, kind))
        return some.cast(pa.int64(), safe=False)
    if pa.types.is_integer(kind):
        return column.cast(pa.int64())
    return column.cast(pa.string())


def _time_text(value: NaturalValue | None) -> str | None:
    if value is None or value.datatype != XSD_DOUBLE:
        return None if value is None else value.lexical
    number = float(value.lexical)
    return str(math.floor(number)) if math.isfinite(number) else None


def _scaled(ticks: pa.ChunkedArray, per_second: int) -> pa.ChunkedArray:
    if per_second < 1000:
        return pc.multiply(ticks, 1000)
    unit = per_second // 1000
    # Integer division of Arrow cuts towards zero; before 1970 that would be one too late.
    down = pc.subtract(ticks, pc.if_else(pc.less(ticks, 0), unit - 1, 0))
    return pc.divide(down, unit)
