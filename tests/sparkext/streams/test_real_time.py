"""Spark's real-time mode as a source: rows go to a stream as tasks read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import __version__

from sparkext.errors import StreamElementError
from sparkext.runtime.streams.structured_source import StreamSourceError
from tests.sparkext.restart.live_source import E, Source, awaited, line

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext import Engine
    from sparkext.runtime.streams.stream import Stream

QUERY = f"""SELECT ?s ?n FROM NAMED WINDOW <{E}w> ON <{E}s> [RANGE PT1S]
    WHERE {{ WINDOW <{E}w> {{ ?s <{E}p> ?o }} ?o <{E}name> ?n }}"""


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


@pytest.fixture
def begun(source: Source, started: Callable[..., Any]) -> tuple[Stream, StreamingQuery]:
    """A stream that has one row, and its source."""
    stream, query = started()
    source.add(line(0, 1000))
    awaited(lambda: stream.accepted_count == 1, query)
    return stream, query


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


@pytest.fixture
def live_rows(spark: SparkSession) -> Any:
    """What is known of rows that are handed over."""
    jvm: Any = spark._jvm
    columns = jvm.org.apache.spark.sql.cqels.columns
    return getattr(getattr(columns, "LiveRows$"), "MODULE$")


@pytest.mark.parametrize("stopped", [False, True])
def test_rows_wait_for_whoever_has_the_engine(
    engine: Engine,
    source: Source,
    begun: tuple[Stream, StreamingQuery],
    live_rows: Any,
    stopped: bool,
) -> None:
    stream, query = begun
    added = live_rows.addedInAll()
    with engine.parts.in_use():
        source.add(*(line(number, 2000) for number in range(1, 5)))
        awaited(lambda: live_rows.addedInAll() >= added + 4, query)
        assert stream.accepted_count == 1
        if stopped:  # as a subscriber may
            stream.stop_sources()
    until = time.monotonic() + 60
    while stream.accepted_count < 5 and time.monotonic() < until:
        time.sleep(0.02)
    assert stream.accepted_count == 5  # handed over is handed over
    assert query.isActive is not stopped


def test_more_rows_than_may_wait(
    engine: Engine, source: Source, begun: tuple[Stream, StreamingQuery], live_rows: Any
) -> None:
    stream, query = begun
    most = live_rows.mostWaiting()
    getattr(live_rows, "mostWaiting_$eq")(3)
    try:
        with engine.parts.in_use():
            added = live_rows.addedInAll()
            source.add(*(line(number, 2000) for number in range(1, 20)))
            awaited(lambda: live_rows.addedInAll() >= added + 3, query)
        awaited(lambda: stream.accepted_count == 20, query)
    finally:
        getattr(live_rows, "mostWaiting_$eq")(most)


def test_a_source_that_goes_on_waits_for_the_rows_of_before(
    engine: Engine,
    source: Source,
    begun: tuple[Stream, StreamingQuery],
    live_rows: Any,
    tmp_path: Path,
) -> None:
    stream, query = begun
    added = live_rows.addedInAll()
    with engine.parts.in_use():
        source.add(*(line(number, 2000) for number in range(1, 5)))
        awaited(lambda: live_rows.addedInAll() >= added + 4, query)
        stream.stop_sources()
        query = stream.read(source.frame, str(tmp_path / "checkpoint"), real_time="5 minutes")
    awaited(lambda: stream.accepted_count >= 5, query)
    source.add(line(5, 3000))
    awaited(lambda: stream.accepted_count >= 6, query)
    assert stream.accepted_count == 6


def test_rows_that_join_static_ones_are_read_where_there_is_no_checkpoint(
    engine: Engine, spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    wanted = spark.createDataFrame([(f"{E}a1",), (f"{E}a3",)], ["subject"])
    joined = source.frame.join(wanted.hint("broadcast"), "subject")
    stream = engine.register_stream(f"{E}s")
    with pytest.raises(StreamSourceError, match="with a checkpoint: Join mixes the rows"):
        stream.read(joined, str(tmp_path / "checkpoint"), real_time="1 minute")
    query = stream.read(joined, real_time="1 minute")
    source.add(*(line(number, 1000 * number) for number in range(4)))
    awaited(lambda: stream.accepted_count == 2, query)


@pytest.mark.skipif(__version__ < "4.3", reason="Spark shuffles in this mode from 4.3 on")
def test_rows_that_are_shuffled_are_read_where_there_is_no_checkpoint(
    engine: Engine, spark: SparkSession
) -> None:
    source = Source(spark)
    stream = engine.register_stream(f"{E}s")
    query = stream.read(source.frame.repartition(1), real_time="1 minute")
    for count in (5, 10):
        source.add(*(line(count + number, 1000) for number in range(5)))
        awaited(lambda: stream.accepted_count == count, query)  # noqa: B023


def test_what_cannot_be_read_so_is_refused(
    engine: Engine, spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    stream = engine.register_stream(f"{E}s")
    documents = spark.readStream.format("rate").load().selectExpr("CAST(value AS STRING) AS value")
    with pytest.raises(StreamSourceError, match="no column subject"):
        stream.read(documents, real_time="1 minute")
    with pytest.raises(StreamSourceError, match="Repartition mixes the rows"):
        stream.read(source.frame.repartition(2), str(tmp_path / "c"), real_time="1 minute")
    with pytest.raises(Exception, match="real_time"):
        stream.read(source.frame, real_time=5)  # type: ignore[arg-type]
    assert not stream.sources
    with pytest.raises(StreamElementError):
        stream.push("no triple", time=1, graph="no iri")
