"""Data of any form as rows of a live view: checked against its columns, converted without a loop over rows."""

from __future__ import annotations

import datetime
import inspect
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StructField,
    StructType,
)

from sparkext.errors import LiveViewError

if TYPE_CHECKING:
    from collections.abc import Callable

Batch: TypeAlias = "DataFrame | pa.Table | pa.RecordBatch | pd.DataFrame | Sequence[Any]"

_FAMILIES: tuple[tuple[str, Callable[[pa.DataType], bool]], ...] = (
    ("boolean", pa.types.is_boolean),
    ("whole number", pa.types.is_integer),
    ("floating point", pa.types.is_floating),
    ("decimal", pa.types.is_decimal),
    ("string", lambda t: pa.types.is_string(t) or pa.types.is_large_string(t)),
    ("binary", lambda t: pa.types.is_binary(t) or pa.types.is_large_binary(t)),
    ("date", pa.types.is_date),
    ("timestamp", pa.types.is_timestamp),
)
_SCHEMA_OPTIONS = inspect.signature(to_arrow_schema).parameters
# What else a column of a family takes: nothing is lost by it.
_WIDER = {"floating point": {"whole number"}, "decimal": {"whole number"}}
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?")
_IN_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


class BatchReader:
    """Turns batches into what a view of this name and schema takes.

    `time_zone` gives the zone that times without one are in; it may be another one for each batch.
    """

    def __init__(self, view: str, schema: StructType, time_zone: Callable[[], str]) -> None:
        self._view = view
        self._schema = schema
        self._time_zone = time_zone
        self._shown_in = time_zone()
        self._names = schema.fieldNames()
        self._arrow = _arrow_schema(schema, self._shown_in)

    def frame(self, data: DataFrame) -> DataFrame:
        """The view's columns of a DataFrame."""
        if data.isStreaming:
            raise LiveViewError(
                f"{self._view} cannot be filled from a streaming DataFrame; use writeStream.foreachBatch"
            )
        self._check_names(data.columns)
        given = _arrow_schema(data.schema, self._shown_in)
        columns = []
        for field in self._schema.fields:
            place = data.columns.index(field.name)
            self._check_type(field.name, given.field(place).type)
            quoted = F.col("`" + field.name.replace("`", "``") + "`")
            kind = data.schema.fields[place].dataType
            same = kind == field.dataType
            columns.append(quoted if same else self._cast(quoted, kind, field).alias(field.name))
        return data.select(*columns)

    def _cast(self, column: Column, given: DataType, field: StructField) -> Column:
        """A column as a view's; what does not fit is an error also where Spark's own casts would change it."""
        cast = column.try_cast(field.dataType)
        said = f"column {field.name} of {self._view}: a value does not fit into {field.dataType.simpleString()}"
        if isinstance(given, IntegralType | DecimalType):  # Spark would round them
            unfit = ~cast.try_cast(given).eqNullSafe(column)
            if isinstance(field.dataType, DoubleType | FloatType):
                unfit = unfit | (cast >= F.lit(2.0**63))  # of which Spark makes the largest BIGINT
        else:
            unfit = column.isNotNull() & cast.isNull()
        return F.when(unfit, F.raise_error(F.lit(said))).otherwise(cast)

    def table(self, data: Any) -> pa.Table:
        """The view's columns of Arrow or pandas data, or of rows (tuples by position, mappings by name)."""
        if isinstance(data, pa.RecordBatch):
            data = pa.Table.from_batches([data])
        elif isinstance(data, pd.DataFrame):
            data = self._converted(lambda: pa.Table.from_pandas(data, preserve_index=False))
        elif not isinstance(data, pa.Table):
            data = self._of_rows(data)
        self._check_names(data.column_names)
        return pa.Table.from_arrays(
            [self._column(field, data.column(field.name)) for field in self._arrow],
            schema=self._arrow,
        )

    def _column(self, field: pa.Field, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        self._check_type(field.name, column.type)
        if pa.types.is_timestamp(column.type):
            wanted, given = field.type.tz, column.type.tz
            if wanted and not given:
                column = self._converted(partial(self._instants, column), field.name)
            elif given and not wanted:
                raise LiveViewError(
                    f"column {field.name} of {self._view} holds times without a zone, not {column.type}"
                )
        return self._converted(lambda: column.cast(field.type), field.name)

    def _instants(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Times without a zone as those of the session's: of two the earlier, and what clocks skipped by the offset
        before, as Java and Python have it."""
        zone, unit = self._zone(), column.type.unit
        if isinstance(zone, ZoneInfo):
            # Arrow has the last instant before the gap for what lies in it.
            near = pc.assume_timezone(
                column, zone.key, ambiguous="earliest", nonexistent="earliest"
            )
            local = pc.local_timestamp(near).cast(pa.int64())
            offset = pc.subtract(local, near.cast(pa.int64()))
        else:
            offset = zone.utcoffset(None) // datetime.timedelta(seconds=1) * _IN_SECOND[unit]
        return pc.subtract(column.cast(pa.int64()), offset).cast(pa.timestamp(unit, tz="UTC"))

    def _of_rows(self, data: Any) -> pa.Table:
        if isinstance(data, str | bytes | Mapping) or not isinstance(data, Sequence):
            raise LiveViewError(
                f"{self._view} takes a DataFrame, Arrow or pandas data, or a list of rows,"
                f" not {type(data).__name__}"
            )
        columns: list[list[Any]] = [[] for _ in self._names]
        for place, row in enumerate(data):
            if isinstance(row, Row) and hasattr(row, "__fields__"):
                row = row.asDict()
            if isinstance(row, Mapping):
                unknown = sorted(set(row) - set(self._names))
                if unknown:
                    raise LiveViewError(
                        f"row {place} for {self._view} has no place for {', '.join(unknown)};"
                        f" columns: {', '.join(self._names)}"
                    )
                values: Sequence[Any] = [row.get(name) for name in self._names]
            elif isinstance(row, Sequence) and not isinstance(row, str | bytes):
                values = row
            else:
                raise LiveViewError(
                    f"row {place} for {self._view} is a {type(row).__name__}, no row"
                )
            if len(values) != len(self._names):
                raise LiveViewError(
                    f"row {place} for {self._view} has {len(values)} values,"
                    f" not {len(self._names)} ({', '.join(self._names)})"
                )
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        arrays = [
            self._converted(lambda f=field, v=values: self._array(f, v), field.name)  # type: ignore[misc]
            for field, values in zip(self._arrow, columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=self._names)

    def _array(self, field: pa.Field, values: list[Any]) -> pa.Array:
        if pa.types.is_timestamp(field.type) and field.type.tz and any(map(_is_local, values)):
            zone = self._zone()
            values = [v.replace(tzinfo=zone) if _is_local(v) else v for v in values]
        return pa.array(values, field.type)

    def _zone(self) -> ZoneInfo | datetime.timezone:
        return _zone_named(self._time_zone())

    def _converted(self, convert: Callable[[], Any], column: str = "") -> Any:
        try:
            return convert()
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            where = f"column {column} of {self._view}" if column else self._view
            raise LiveViewError(f"{where}: {error}") from error

    def _check_names(self, given: Sequence[str]) -> None:
        missing = [name for name in self._names if name not in given]
        unknown = [name for name in given if name not in self._names]
        twice = sorted({name for name in given if list(given).count(name) > 1})
        problems = [
            f"{what} {', '.join(names)}"
            for what, names in (("lacks", missing), ("has unknown", unknown), ("repeats", twice))
            if names
        ]
        if problems:
            raise LiveViewError(
                f"data for {self._view} {' and '.join(problems)}; its columns are"
                f" {', '.join(self._names)}"
            )

    def _check_type(self, column: str, given: pa.DataType) -> None:
        wanted = self._arrow.field(column).type
        if given == wanted or pa.types.is_null(given):
            return
        family, other = _family(wanted), _family(given)
        if other != family and other not in _WIDER.get(family, ()):
            raise LiveViewError(
                f"column {column} of {self._view} holds {self._schema[column].dataType.simpleString()},"
                f" not {given}"
            )


def _arrow_schema(schema: StructType, time_zone: str) -> pa.Schema:
    # Until Spark 4.1, its instants are in UTC, which is all the same: the zone is only a way to show them.
    zone: dict[str, Any] = {"timezone": time_zone} if "timezone" in _SCHEMA_OPTIONS else {}
    return to_arrow_schema(schema, **zone)


def _is_local(value: Any) -> bool:
    return isinstance(value, datetime.datetime) and value.tzinfo is None


def _zone_named(name: str) -> ZoneInfo | datetime.timezone:
    """A zone as Spark names it, by its region or by an offset.

    >>> print(_zone_named("GMT+2"), _zone_named("-05:30"), _zone_named("Z"), _zone_named("Asia/Tokyo"))
    UTC+02:00 UTC-05:30 UTC Asia/Tokyo
    """
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        sign, *parts = offset.groups("0")
        hours, minutes, seconds = map(int, parts)
        length = datetime.timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return datetime.timezone(-length if sign == "-" else length)
    try:
        return ZoneInfo("UTC" if name == "Z" else name)
    except ZoneInfoNotFoundError:
        raise ValueError(f"the session's time zone {name} is not known to Python") from None


def _family(kind: pa.DataType) -> str:
    return next((name for name, holds in _FAMILIES if holds(kind)), str(kind))
