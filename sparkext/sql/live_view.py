"""A live view: a table in Spark SQL whose rows move under the plans that read it."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructType, TimestampNTZType, TimestampType

from sparkext.argument_checks import check, described
from sparkext.errors import LiveViewError, first_line
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.setting_types import read_duration
from sparkext.sql.batches import Batch, BatchReader

if TYPE_CHECKING:
    from sparkext.sql.sql_room import SqlRoom

_EPOCH = datetime.datetime(1970, 1, 1)


class LiveView:
    """Rows of a fixed schema: replaced as a whole, or appended and, with a time column, expired.

    It is a temporary view of the session under its name. Queries that were prepared see what it holds when they run;
    an ordinary DataFrame over it should be run once, as Spark may keep what it read.
    """

    def __init__(
        self,
        room: SqlRoom,
        name: str,
        schema: str | StructType,
        time_column: str | None,
        width: str | int | None,
    ) -> None:
        self.name = name
        self.schema = _schema(name, schema)
        self.time_column = time_column
        self._room = room
        unit = self._check_time(width)
        self._milliseconds = unit
        try:
            self._reader = BatchReader(name, self.schema, room.time_zone)
        except PySparkException as error:
            raise LiveViewError(f"the columns of {name}: {error}") from error
        self._jvm = room.jvm.liveView(
            name, self.schema.json(), time_column or "", self._in_units(self.width or 0)
        )
        try:
            self._jvm.createView()
        except (Py4JJavaError, PySparkException) as error:
            raise LiveViewError(
                f"name: {name!r} is no name of a view: {first_line(error)}"
            ) from None
        room.views[name.lower()] = self

    def _check_time(self, width: str | int | None) -> int:
        """Sets the width in milliseconds; returns how many units of the time column a millisecond has."""
        if (self.time_column is None) != (width is None):
            raise LiveViewError(
                f"{self.name}: time_column and width are given together, or neither"
            )
        self.width = None
        if self.time_column is None or width is None:
            return 1
        check.text("time_column", self.time_column)
        if self.time_column not in self.schema.fieldNames():
            raise LiveViewError(
                f"{self.name} has no column {self.time_column};"
                f" its columns are {', '.join(self.schema.fieldNames())}"
            )
        if isinstance(width, bool) or not isinstance(width, int | str):
            raise LiveViewError(
                f"{self.name}: width: must be a duration or milliseconds, not {described(width)}"
            )
        try:
            self.width = width if isinstance(width, int) else read_duration(width)
        except ValueError as error:
            raise LiveViewError(f"{self.name}: width {width!r} {error}") from None
        if not 0 < self.width <= GREATEST_TIME:
            raise LiveViewError(
                f"{self.name}: width {width!r} must be above 0 and less than 2^53 milliseconds"
            )
        kind = self.schema[self.time_column].dataType
        if isinstance(kind, LongType):
            return 1
        if isinstance(kind, TimestampType | TimestampNTZType):
            return 1_000
        raise LiveViewError(
            f"column {self.time_column} of {self.name} must be a TIMESTAMP, or a BIGINT of"
            f" milliseconds since the epoch, not {kind.simpleString()}"
        )

    def _in_units(self, milliseconds: int) -> int:
        return milliseconds * self._milliseconds

    def replace(self, data: Batch) -> None:
        """Make `data` the content: a DataFrame, Arrow or pandas data, or a list of rows.

        Columns go by name, those of tuples by position; types must be those of the view, or narrower. Raises
        LiveViewError, and the content stays as it was.
        """
        self._put(data, "replace")

    def append(self, data: Batch) -> None:
        """Add rows to the content, see `replace`; rows that `advance_to` has passed are left out."""
        self._put(data, "append")

    def _put(self, data: Batch, how: str) -> None:
        self._room.check_open()
        try:
            if isinstance(data, DataFrame):
                frame = self._reader.frame(data)
                with self._room.lock:
                    getattr(self._jvm, f"{how}Frame")(frame._jdf)
                return
            table = self._reader.table(data)
            path = self._room.file()
            try:
                with (
                    pa.OSFile(str(path), "wb") as file,
                    pa.ipc.new_stream(file, table.schema) as out,
                ):
                    out.write_table(table)
                with self._room.lock:
                    getattr(self._jvm, f"{how}Arrow")(str(path))
            finally:
                path.unlink(missing_ok=True)
        except Py4JJavaError as error:
            raise LiveViewError(_cause(error, self.name)) from error
        except PySparkException as error:
            raise LiveViewError(f"{self.name}: {error}") from error

    def clear(self) -> None:
        """Leave no rows."""
        self._room.check_open()
        with self._room.lock:
            self._jvm.clear()

    def advance_to(self, time: int | datetime.datetime) -> None:
        """Let rows leave whose time is `time` - width or earlier; time only goes forwards.

        `time` in milliseconds since the epoch, or a datetime: with a zone for TIMESTAMP, without one for TIMESTAMP_NTZ.
        """
        self._room.check_open()
        if self.time_column is None:
            raise LiveViewError(f"{self.name} has no time column: its rows do not expire")
        units = self._units_of(time)
        with self._room.lock:
            self._jvm.advanceTo(units)

    def _units_of(self, time: int | datetime.datetime) -> int:
        if isinstance(time, int) and not isinstance(time, bool):
            # Rows that a promise has passed are left out: one in microseconds would shut the view for good.
            if abs(time) > GREATEST_TIME or not self._room.horizon.passes(time):
                raise LiveViewError(
                    f"{self.name}: time {time} ms lies too far ahead (spark.cqels.maxAhead): not milliseconds?"
                )
            return self._in_units(time)
        if not isinstance(time, datetime.datetime) or time != time:  # NaT is none
            raise LiveViewError(
                f"{self.name}: a time is a whole number of milliseconds or a datetime, not {described(time)}"
            )
        assert self.time_column is not None
        zoned = not isinstance(self.schema[self.time_column].dataType, TimestampNTZType)
        if (time.tzinfo is not None) != zoned:
            needed = "needs a time zone" if zoned else "must have no time zone"
            raise LiveViewError(f"{self.name}: the time {time} {needed}")
        if time.tzinfo is not None:
            time = time.astimezone(datetime.UTC).replace(tzinfo=None)
        return (time - _EPOCH) // datetime.timedelta(microseconds=1_000 // self._milliseconds)

    @property
    def row_count(self) -> int:
        """Rows now."""
        return int(self._jvm.rowCount())

    def to_dataframe(self) -> DataFrame:
        """The view as a DataFrame: what `spark.table(name)` gives."""
        return self._room.spark.table(f"`{self.name}`")

    def drop(self) -> None:
        """Empty the view and take it out of the session; queries prepared over it go on, over no rows."""
        self.clear()
        self._jvm.dropView()
        if self._room.views.get(self.name.lower()) is self:
            del self._room.views[self.name.lower()]


def _schema(name: str, given: str | StructType) -> StructType:
    if not isinstance(given, StructType):
        check.text("schema", given, "a StructType, or its text")
    try:
        schema = StructType.fromDDL(given) if isinstance(given, str) else given
    except PySparkException as error:
        raise LiveViewError(f"the columns of {name}, {given!r}: {error}") from error
    if not isinstance(schema, StructType):
        raise LiveViewError(f"the columns of {name}, {given!r}, are not named columns")
    if "char(" in schema.simpleString():
        raise LiveViewError(f"the columns of {name}: use STRING for CHAR and VARCHAR")
    names = [field.lower() for field in schema.fieldNames()]
    if not names:
        raise LiveViewError(f"schema: {name} needs a column")
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise LiveViewError(f"{name} declares {', '.join(twice)} twice")
    return schema


def _cause(error: Py4JJavaError, view: str) -> str:
    cause: Any = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return f"{view}: {cause.getMessage() or cause.toString()}"
