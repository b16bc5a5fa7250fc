"""Structured Streaming as a source: a streaming DataFrame of RDF feeds a stream, batch by batch.

The tasks of a micro-batch read its terms, of columns and of documents, and the driver takes their elements in at once.
The evaluations that become due run before the batch counts as done. What is malformed is set
aside and counted on the stream. An evaluation that fails is logged, and counted on its query: others read the same
stream. Any other error ends the StreamingQuery, which then holds it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from sparkext.errors import CqelsError
from sparkext.runtime.streams.numbered_batches import Batched, BatchFeed, Read, Taking
from sparkext.runtime.streams.source_documents import SourceDocuments
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.bridge.engine_room import EngineRoom

DOCUMENT_FORMATS = ("nquads", "trig")
ELEMENT_COLUMNS = ("time", "graph", "triples", "about", "flaw")
FORMATS = ("auto", "columns", "elements", *DOCUMENT_FORMATS)
TERM_COLUMNS = ("subject", "predicate", "object", "graph")
_TIME_TYPES = (TimestampType, TimestampNTZType, LongType, IntegerType)


class StreamSourceError(CqelsError):
    """A DataFrame that cannot feed a stream, or an unknown format."""


class FedStream(Batched, Protocol):
    """A stream that takes batches with a number, each once."""

    rdf: RdfVersion
    accepts: bool

    def batch(self, source: Hashable, number: int, read: Callable[[EngineRoom], Any]) -> Taking: ...

    def batch_of_elements(self, source: Hashable, number: int, batch: DataFrame) -> Taking: ...


class FedRows(Batched, Protocol):
    """A stream that takes batches of rows with a number, each once."""

    def batch_of_rows(self, source: Hashable, number: int, batch: DataFrame) -> Taking: ...


def read_stream(
    stream: FedStream, frame: DataFrame, checkpoint: str | None = None, format: str = "auto"
) -> StreamingQuery:
    """Feed `stream` from a streaming DataFrame; the result starts at once and is the user's to stop.

    The DataFrame has either the columns subject, predicate, object, time and, if wanted, graph
    (format ``columns``), or a column `value` (``nquads``, ``trig``). ``auto`` goes by the columns,
    and by the content of each document.

    Columns: terms are text in N-Triples syntax, as subject, predicate and graph also bare absolute
    IRIs; `time` is a timestamp or a number of milliseconds since the epoch. Rows of a batch with
    the same graph and time are one element, a row without a graph is an element of one triple.

    Elements (format ``elements``): columns time, graph, triples (an array of N-Triples texts), about (those of the
    default graph) and flaw, as `sparkext.sources.elements` makes them: each row is an element, or has the reason why
    something is none.

    `value`: each row is a whole document of N-Quads(-star) or TriG(-star), its elements named
    graphs with a time triple, as in recorded files. A graph name must be new within its document.

    `checkpoint` is the folder in which Spark keeps how far it has read. A batch that Spark replays
    under the same id after a restart with the same checkpoint changes nothing, as long as the
    stream lives, or the engine has a checkpoint of its own: what windows show is in that.

    Raises StreamSourceError.
    """
    kind = checked_format(frame, format)
    if kind == "elements":
        return fed_by_batches(
            stream, frame.select(*ELEMENT_COLUMNS), checkpoint, stream.batch_of_elements
        )
    read: Callable[[EngineRoom, DataFrame], Any]
    if kind == "columns":
        frame = frame.select(*(n for n in (*TERM_COLUMNS, "time") if n in frame.columns))
        read = partial(_read_columns, stream)
    else:
        on_error = OnError.ACCEPT if stream.accepts else OnError.SKIP
        documents = SourceDocuments(kind, Reading(stream.rdf, on_error))
        frame = documents.prepared(frame)
        read = documents.read

    return fed_by_batches(
        stream,
        frame,
        checkpoint,
        lambda source, number, batch: stream.batch(source, number, lambda room: read(room, batch)),
    )


def read_rows(stream: FedRows, frame: DataFrame, checkpoint: str | None = None) -> StreamingQuery:
    """Feed `stream` from a streaming DataFrame whose columns a mapping reads, otherwise as `read_stream`.

    Raises StreamSourceError.
    """
    if not isinstance(frame, DataFrame) or not frame.isStreaming:
        said = "one that is not streaming" if isinstance(frame, DataFrame) else type(frame).__name__
        raise StreamSourceError(
            f"a source is a streaming DataFrame, not {said}: push_table takes tables"
        )
    return fed_by_batches(stream, frame, checkpoint, stream.batch_of_rows)


def _read_columns(stream: FedStream, room: EngineRoom, batch: DataFrame) -> Any:
    return room.read_batch(batch, stream.rdf is RdfVersion.RDF_1_2, stream.accepts)


def fed_by_batches(
    stream: Batched, frame: DataFrame, checkpoint: str | None, read: Read
) -> StreamingQuery:
    """Have `stream` take in each micro-batch of `frame` that it does not know, as `read` reads it."""
    options = {} if checkpoint is None else {"checkpointLocation": checkpoint}
    feed = BatchFeed(stream, read)
    drop_unfinished(frame.sparkSession, checkpoint)
    _forget_ended(stream)
    query = frame.writeStream.foreachBatch(feed).options(**options).start()
    stream.feeds.append(feed)
    stream.sources.append(query)
    feed.begin(query)
    return query


def _forget_ended(stream: Batched) -> None:
    """Let go of feeds that have ended, with their queries: sources may come and go as long as the stream lives."""
    for ended in [feed for feed in stream.feeds if feed.has_ended]:
        ended.let_go()
        stream.feeds[:] = [feed for feed in stream.feeds if feed is not ended]
        stream.sources[:] = [query for query in stream.sources if query is not ended.query]


def drop_unfinished(spark: SparkSession, checkpoint: str | None) -> None:
    """Take away what a process left that was killed while it wrote the offsets of the first batch of all.

    It is an unfinished file that nobody reads, but Spark refuses such a checkpoint ever after.
    """
    if checkpoint is None:
        return
    jvm: Any = spark._jvm
    folder = jvm.org.apache.hadoop.fs.Path(checkpoint, "offsets")
    files = folder.getFileSystem(spark._jsc.hadoopConfiguration())
    if not files.exists(folder):
        return
    found = [status.getPath() for status in files.listStatus(folder)]
    if all(path.getName().startswith(".") for path in found):
        for path in found:
            files.delete(path, False)


def unfinished_batch(spark: SparkSession, checkpoint: str) -> tuple[str, int] | None:
    """The id of the source whose folder this is, and its batch that has not ended for Spark, if there is one."""
    jvm: Any = spark._jvm
    folder = jvm.org.apache.hadoop.fs.Path(checkpoint)
    files = folder.getFileSystem(spark._jsc.hadoopConfiguration())
    newest = []
    for name in ("offsets", "commits"):
        inner = jvm.org.apache.hadoop.fs.Path(folder, name)
        found = files.listStatus(inner) if files.exists(inner) else ()
        numbers = [status.getPath().getName() for status in found]
        newest.append(max((int(n) for n in numbers if n.isdigit()), default=-1))
    told = jvm.org.apache.hadoop.fs.Path(folder, "metadata")
    if newest[0] <= newest[1] or not files.exists(told):
        return None
    with closing(files.open(told)) as stream:
        text = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
    return str(json.loads(text)["id"]), newest[0]


def checked_format(frame: DataFrame, format: str) -> str:
    """``columns``, ``nquads``, ``trig``, or ``auto`` for documents of either kind."""
    if not isinstance(frame, DataFrame):
        raise StreamSourceError(f"a source is a streaming DataFrame, not {type(frame).__name__}")
    if not frame.isStreaming:
        raise StreamSourceError(
            "the DataFrame is not streaming: read it with spark.readStream, or push its rows"
        )
    if format not in FORMATS:
        raise StreamSourceError(f"unknown format {format!r}; known: {', '.join(FORMATS)}")
    schema = frame.schema
    names = set(schema.names)
    if format == "elements" or (format == "auto" and "triples" in names and "value" not in names):
        return _checked_elements(schema)
    wants_columns = format == "columns" or (format == "auto" and "value" not in names)
    if wants_columns:
        missing = [n for n in (*TERM_COLUMNS[:3], "time") if n not in names]
        if missing:
            raise StreamSourceError(
                f"no column {', '.join(missing)}; a source has the columns subject, predicate,"
                f" object, time and perhaps graph, or a column value; found:"
                f" {', '.join(schema.names)}"
            )
        for name in TERM_COLUMNS:
            if name in names:
                _check_type(schema, name, (StringType,), "text")
        _check_type(schema, "time", _TIME_TYPES, "a timestamp or milliseconds as bigint")
        return "columns"
    if "value" not in names:
        raise StreamSourceError(f"format {format} needs a column value")
    _check_type(schema, "value", (StringType, BinaryType), "text or binary")
    return format


def _checked_elements(schema: StructType) -> str:
    missing = [n for n in ELEMENT_COLUMNS if n not in schema.names]
    if missing:
        raise StreamSourceError(f"no column {', '.join(missing)}; found: {', '.join(schema.names)}")
    _check_type(schema, "time", (LongType,), "milliseconds as bigint")
    for name in ("graph", "flaw"):
        _check_type(schema, name, (StringType,), "text")
    for name in ("triples", "about"):
        found = schema[name].dataType
        if not isinstance(found, ArrayType) or not isinstance(found.elementType, StringType):
            raise StreamSourceError(
                f"column {name} must be array<string>, not {found.simpleString()}"
            )
    return "elements"


def _check_type(schema: StructType, name: str, types: tuple[type, ...], wanted: str) -> None:
    found = schema[name].dataType
    if not isinstance(found, types):
        raise StreamSourceError(f"column {name} must be {wanted}, not {found.simpleString()}")
