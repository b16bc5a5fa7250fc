"""Messages in a streaming DataFrame made ready for a stream: decoded by tasks into elements, or rows of a mapping."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, StringType, StructField, StructType, TimestampType

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.sources.rdf_messages import RdfMessages
from sparkext.sources.row_messages import RowMessages
from static_data.files.rdf_version import RdfVersion
from static_data.loading.python_workers import driver_python

if TYPE_CHECKING:
    from pyspark.sql import Column

_ELEMENTS = "time BIGINT, graph STRING, triples ARRAY<STRING>, about ARRAY<STRING>, flaw STRING"
_TEXTS = pa.list_(pa.string())
_ELEMENT_TYPES = pa.schema(
    [
        ("time", pa.int64()),
        ("graph", pa.string()),
        ("triples", _TEXTS),
        ("about", _TEXTS),
        ("flaw", pa.string()),
    ]
)
_CORRUPT = "_what_could_not_be_read"
_PLACE = ("topic", "partition", "offset")
# Two objects on lines of their own: no string of JSON holds the end of a line. And two lines of CSV, its quoted values
# left out.
_LINES_OF_OBJECTS = r"\}[^\S\r\n]*[\r\n]\s*\{"
_QUOTED = r'"[^"]*"'
_LINES = r"[^\r\n][\r\n]+[^\r\n]"


def elements(
    frame: DataFrame,
    format: str = "auto",
    time: str = "payload",
    *,
    time_properties: Collection[str] = TIME_PROPERTIES,
    contexts: Mapping[str, str | Path] | None = None,
    accept_iris: bool = False,
) -> DataFrame:
    """Messages in a column `value` as elements, for `register_stream(iri, source=...)`; tasks decode them in Python.

    A message is one element, or a document of several. `format` is "ntriples", "nquads", "turtle", "trig", "jsonld" or
    "auto". `time` is "payload" (a time triple in the message), "broker" (the column `timestamp`) or "now".
    `contexts` are JSON-LD contexts, files by IRI; none is fetched. What is malformed is set aside and counted by
    the stream, with the message's topic, partition and offset where it has them. Raises ArgumentError.
    """
    _check(frame)
    check.flag("accept_iris", accept_iris)
    version = RdfVersion(frame.sparkSession.conf.get("spark.cqels.rdf", RdfVersion.STAR.value))
    decoder = RdfMessages.checked(format, time, time_properties, contexts, version, accept_iris)
    if time == "broker" and not _has_timestamp(frame):
        raise ArgumentError("time", "the frame has no column timestamp of the type TIMESTAMP")
    columns, place = _message_columns(frame)
    with driver_python(frame.sparkSession):
        return frame.select(columns).mapInArrow(_decoding(decoder, place), _ELEMENTS)


def rows(
    frame: DataFrame,
    format: str,
    schema: str | StructType,
    *,
    avro_schema: str | Path | dict[str, Any] | None = None,
    wire: bool = False,
) -> DataFrame:
    """Messages in a column `value` as rows of columns, for a stream with a mapping.

    `format` is "json", "csv" or "avro"; `schema` names the columns and their types, as Spark writes them. A column
    `timestamp` of the frame stays, unless the schema has one. Avro is decoded in Python, by `avro_schema`, also behind
    Confluent's prefix of five bytes (`wire`). A message of JSON or CSV is one row. One that cannot be read, or holds
    several, is a row of nulls, which the stream sets aside: it has no time. Raises ArgumentError.
    """
    _check(frame)
    check.flag("wire", wire)
    wanted = _struct(frame, schema)
    kept = [F.col("timestamp")] if _has_timestamp(frame) and "timestamp" not in wanted.names else []
    if format not in ("json", "csv"):
        reader = RowMessages.checked(format, (), avro_schema, wire)
        return _avro_rows(frame, kept, reader, wanted)
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    noting = StructType(list(wanted.fields)).add(_CORRUPT, StringType())
    text = F.col("value").cast("string")
    if format == "json":
        parsed = F.from_json(text, noting, options)
        in_array = F.coalesce(F.json_array_length(text) > 1, F.lit(False))
        several = in_array | text.rlike(_LINES_OF_OBJECTS)
    else:
        options["escape"] = '"'  # a quote inside quotes is doubled (RFC 4180)
        parsed = F.from_csv(text, ", ".join(map(_declared, noting.fields)), options)
        several = F.regexp_replace(text, _QUOTED, "q").rlike(_LINES)
    # A message that is not sound has no time either, also where the broker has given it one.
    sound = F.col("row").isNotNull() & F.col(f"row.{_CORRUPT}").isNull() & ~F.col("several")
    whole = frame.select(parsed.alias("row"), several.alias("several"), *kept)
    return whole.select(
        *(F.when(sound, F.col("row").getField(name)).alias(name) for name in wanted.names),
        *(F.when(sound, column).alias("timestamp") for column in kept),
    )


def _struct(frame: DataFrame, schema: str | StructType) -> StructType:
    if isinstance(schema, StructType):
        return schema
    text = check.text("schema", schema, "columns and their types, such as 'a STRING, b DOUBLE'")
    try:
        found = StructType.fromDDL(text)
    except Exception as error:
        raise ArgumentError("schema", f"{schema!r}: {str(error).splitlines()[0]}") from error
    if not isinstance(found, StructType) or not found.fields:
        raise ArgumentError("schema", f"{schema!r} names no columns")
    return found


def _avro_rows(
    frame: DataFrame, kept: Sequence[Column], reader: RowMessages, wanted: StructType
) -> DataFrame:
    result = StructType(list(wanted.fields))
    if kept:
        result = result.add("timestamp", TimestampType())
    types = frame.sparkSession.createDataFrame([], result).toArrow().schema
    width, stamped = len(wanted.fields), bool(kept)

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read, stamps = [], []
            # As numbers: Python has no datetimes after the year 9999.
            given = batch.column(1).cast(pa.int64()) if stamped else pa.nulls(batch.num_rows)
            stamps_given = given.to_pylist()
            for payload, stamp in zip(batch.column(0).to_pylist(), stamps_given, strict=True):
                found = reader.read(payload)
                read += found.rows
                stamps += [stamp] * len(found.rows)
                # Without a time, the stream sets it aside.
                read += [{}] * len(found.flaws)
                stamps += [None] * len(found.flaws)
            columns = [_column(read, types.field(n)) for n in range(width)]
            if stamped:
                columns.append(pa.array(stamps, types.field(width).type))
            yield pa.RecordBatch.from_arrays(columns, schema=types)

    chosen = [F.col("value").cast("binary").alias("value"), *kept]
    with driver_python(frame.sparkSession):
        return frame.select(*chosen).mapInArrow(decode, result)


def _declared(field: StructField) -> str:
    name = field.name.replace("`", "``")
    return f"`{name}` {field.dataType.simpleString()}"


def _column(read: Sequence[dict[str, Any]], field: pa.Field) -> pa.Array:
    """The values of a column; one that is of another type is null."""
    values = [row.get(field.name) for row in read]
    try:
        return pa.array(values, field.type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return pa.array([_fitting(value, field.type) for value in values], field.type)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.scalar(value, kind)
        return value
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None


def _decoding(
    decoder: RdfMessages, place: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            columns = batch.column(0).flatten()
            payloads, stamps = columns[0].to_pylist(), columns[1].to_pylist()
            where = [_place(columns[2:], n) for n in range(len(payloads))] if place else None
            made: list[dict[str, Any]] = []
            for n, payload in enumerate(payloads):
                found = decoder.read(payload, stamps[n])
                for one in found.elements:
                    about = [*(() if one.time_triple is None else (one.time_triple,)), *one.about]
                    made.append(
                        {
                            "time": one.time_ms,
                            "graph": one.graph,
                            "triples": one.triples,
                            "about": about,
                        }
                    )
                said = f"message {where[n]}: " if where else "message: "
                made += ({"flaw": said + flaw} for flaw in found.flaws)
            yield pa.RecordBatch.from_pylist(made, schema=_ELEMENT_TYPES)

    return decode


def _place(columns: Sequence[pa.Array], number: int) -> str:
    topic, partition, offset = (column[number].as_py() for column in columns)
    return f"{topic}/{partition}@{offset}"


def _message_columns(frame: DataFrame) -> tuple[Column, bool]:
    """What is decoded of each row, as one column: the payload, its time, and where it stands."""
    stamped = F.unix_millis("timestamp") if _has_timestamp(frame) else F.lit(None).cast("bigint")
    place = all(name in frame.columns for name in _PLACE)
    chosen = [F.col("value").cast("binary").alias("value"), stamped.alias("stamped")]
    return F.struct(*chosen, *(F.col(name) for name in _PLACE if place)).alias("message"), place


def _check(frame: DataFrame) -> None:
    if not isinstance(frame, DataFrame):
        raise check.wrong("frame", "a DataFrame with a column value", frame)
    found = frame.schema["value"].dataType if "value" in frame.columns else None
    if not isinstance(found, BinaryType | StringType):
        raise ArgumentError("frame", "has no column value of text or bytes")


def _has_timestamp(frame: DataFrame) -> bool:
    return "timestamp" in frame.columns and isinstance(
        frame.schema["timestamp"].dataType, TimestampType
    )
