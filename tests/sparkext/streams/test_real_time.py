"""Spark's real-time mode as a source: rows go to a stream as tasks read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import DataFrame

from sparkext.errors import StreamElementError
from sparkext.runtime.streams.structured_source import StreamSourceError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext import Engine
    from sparkext.runtime.streams.stream import Stream

E = "http://example.org/"
QUERY = f"""SELECT ?s ?n FROM NAMED WINDOW <{E}w> ON <{E}s> [RANGE PT1S]
    WHERE {{ WINDOW <{E}w> {{ ?s <{E}p> ?o }} ?o <{E}name> ?n }}"""


class Source:
    """A source in memory that real-time mode reads: lines of terms and a time."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm: Any = spark._jvm
        sources = self._jvm.org.apache.spark.sql.execution.streaming.sources
        module = getattr(getattr(sources, "LowLatencyMemoryStream$"), "MODULE$")
        strings = self._jvm.org.apache.spark.sql.Encoders.STRING()
        self._stream = module.apply(spark._jsparkSession, 1, strings)
        cells = [
            f"split(value, ' ')[{n}] AS {name}"
            for n, name in enumerate(("subject", "predicate", "object"))
        ]
        self.frame = DataFrame(self._stream.toDF(), spark).selectExpr(
            *cells, "CAST(split(value, ' ')[3] AS BIGINT) AS time"
        )

    def add(self, *lines: str) -> None:
        self._stream.addData(self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(lines)))


def line(number: int, moment: int, object_: str = f"<{E}o>") -> str:
    return f"{E}a{number} {E}p {object_} {moment}"


def awaited(condition: Callable[[], object], query: StreamingQuery) -> None:
    """Wait for something, or for the end of the query."""
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        if not query.isActive:
            query.awaitTermination(1)
            raise AssertionError("the query has ended")
        time.sleep(0.02)
    assert condition()


@pytest.fixture
def source(spark: SparkSession) -> Source:
    return Source(spark)


@pytest.fixture
def started(engine: Engine, source: Source, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    engine.insert(f'<{E}o> <{E}name> "x" .')

    def start(**options: str) -> tuple[Stream, StreamingQuery]:
        stream = engine.register_stream(f"{E}s", **options)
        folder = str(tmp_path / "checkpoint")
        return stream, stream.read(source.frame, folder, real_time="5 minutes")

    yield start
    engine.stream(f"{E}s").stop_sources()


def test_rows_are_answered_while_their_batch_goes_on(
    engine: Engine, source: Source, started: Callable[..., Any]
) -> None:
    stream, query = started()
    heard: dict[int, list[str | None]] = {}
    engine.register_query(QUERY).subscribe(
        lambda answers: heard.__setitem__(answers.time, sorted(row[0] for row in answers.rows()))
    )
    for number in range(20):
        source.add(line(number, 1000 * number))
        awaited(lambda: stream.accepted_count == number + 1, query)  # noqa: B023
    # An element is accepted before what it makes due is answered.
    awaited(lambda: len(heard) == 19, query)
    assert query.lastProgress is None  # the long batch has not ended
    assert heard == {1000 * n: [f"<{E}a{n}>"] for n in range(19)}


def test_what_is_malformed_or_late_is_set_aside(
    source: Source, started: Callable[..., Any]
) -> None:
    stream, query = started()
    source.add(line(1, 5000), line(2, 6000, "oops"), line(3, 7000))
    awaited(lambda: stream.accepted_count == 2, query)
    assert (stream.malformed_count, stream.late_count) == (1, 0)
    assert "object 'oops' is not an RDF term in N-Triples syntax" in stream.set_aside[-1]
    source.add(line(4, 1000), line(5, 8000))
    awaited(lambda: stream.late_count == 1, query)


def test_an_error_ends_the_query(source: Source, started: Callable[..., Any]) -> None:
    stream, query = started(on_error="fail")
    source.add(line(1, 5000, "oops"))
    until = time.monotonic() + 60
    while query.isActive and time.monotonic() < until:
        source.add(line(2, 6000))  # its task finds out with the next row
        time.sleep(0.1)
    assert "object 'oops' is not an RDF term" in str(query.exception())
    assert stream.accepted_count == 0


def test_what_cannot_be_read_so_is_refused(
    engine: Engine, spark: SparkSession, source: Source
) -> None:
    stream = engine.register_stream(f"{E}s")
    documents = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    with pytest.raises(StreamSourceError, match="no column subject"):
        stream.read(documents, real_time="1 minute")
    with pytest.raises(Exception, match="real_time"):
        stream.read(source.frame, real_time=5)  # type: ignore[arg-type]
    assert not stream.sources
    with pytest.raises(StreamElementError):
        stream.push("no triple", time=1, graph="no iri")
