"""Streams fed from streaming DataFrames: columns of terms, documents of RDF, replayed batches."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sparkext.engine import Engine

STREAM = "http://example.org/s"
QUERY = f"""
PREFIX : <http://example.org/>
REGISTER RSTREAM :q AS SELECT ?who ?where
FROM NAMED WINDOW :w ON <{STREAM}> [RANGE PT30S] WHERE {{ WINDOW :w {{ ?who :at ?where }} }}
"""
AT = "http://example.org/at"
PROV = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    from sparkext.engine import Engine

    made = Engine(spark)
    yield made
    made.close()


def rows_source(spark: SparkSession, folder: Path, schema: str) -> DataFrame:
    """A streaming DataFrame over JSON files; each file dropped into the folder is read once."""
    folder.mkdir(exist_ok=True)
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))


def drop(folder: Path, name: str, rows: list[dict[str, object]]) -> None:
    """Put a file into a watched folder, whole at once."""
    beside = folder.parent / f"{name}.part"
    beside.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    beside.replace(folder / name)


def row(who: str, where: str, time: object, **more: object) -> dict[str, object]:
    return {"subject": who, "predicate": AT, "object": where, "time": time, **more}


def collected(engine: Engine) -> list[tuple[int, list[tuple[str | None, ...]]]]:
    answers: list[tuple[int, list[tuple[str | None, ...]]]] = []
    query = engine.register_query(QUERY)
    query.subscribe(lambda found: answers.append((found.time, sorted(found.rows()))))
    return answers


def test_columns_answer_as_pushed_elements_do(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(STREAM)
    answers = collected(engine)
    folder = tmp_path / "rows"
    source = rows_source(
        spark, folder, "subject STRING, predicate STRING, object STRING, time LONG"
    )
    drop(
        folder,
        "1.json",
        [
            row("http://example.org/ann", '"Room \\"1\\" Ä"@DE', 1000),
            row("<http://example.org/bob>", "<http://example.org/r2>", 2000),
            row("http://example.org/bad", "no term", 2000),
        ],
    )
    query = stream.read(source, str(tmp_path / "checkpoint"))
    query.processAllAvailable()
    drop(folder, "2.json", [row("_:x", '"5"^^' + INTEGER, 40_000)])
    query.processAllAvailable()
    engine.finish()
    query.stop()
    ann = ("<http://example.org/ann>", '"Room \\"1\\" Ä"@de')
    bob = ("<http://example.org/bob>", "<http://example.org/r2>")
    assert answers[:2] == [(1000, [ann]), (2000, [ann, bob])]
    assert [time for time, _ in answers] == [1000, 2000, 40_000]
    (late,) = answers[2][1]
    assert late[0] is not None and late[0].startswith("_:")
    assert late[1] == '"5"^^' + INTEGER
    assert (stream.accepted_count, stream.malformed_count) == (3, 1)
    assert list(stream.set_aside) == ["object 'no term' is not an RDF term in N-Triples syntax"]


def test_a_new_checkpoint_in_the_same_folder_begins_anew(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(STREAM)
    checkpoint = tmp_path / "checkpoint"
    schema = "subject STRING, predicate STRING, object STRING, time TIMESTAMP"
    for number in (1, 2):
        folder = tmp_path / f"rows{number}"
        source = rows_source(spark, folder, schema)
        drop(folder, "1.json", [row("http://e/a", "<http://e/r>", f"1970-01-01T00:00:0{number}Z")])
        query = stream.read(source, str(checkpoint))
        query.processAllAvailable()
        query.stop()
        assert stream.accepted_count == number
        assert len(stream.sources) == len(stream.feeds) == 1  # what has ended is forgotten
        shutil.rmtree(checkpoint)


def test_an_unfinished_first_batch_is_begun_anew(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    """A process was killed while it wrote the batch's offsets."""
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.8a7f.tmp").write_text("v1\n{")
    (offsets / "..0.8a7f.tmp.crc").write_text("crc")
    stream = engine.register_stream(STREAM)
    source = rows_source(
        spark, tmp_path / "rows", "subject STRING, predicate STRING, object STRING, time TIMESTAMP"
    )
    drop(tmp_path / "rows", "1.json", [row("http://e/a", "<http://e/r>", "1970-01-01T00:00:01Z")])
    query = stream.read(source, str(offsets.parent))
    query.processAllAvailable()
    query.stop()
    assert stream.accepted_count == 1
    assert (offsets / "0").exists()


def three_instants(spark: SparkSession, folder: Path) -> DataFrame:
    """A source of one batch, after which instants of three times are due but the last."""
    source = rows_source(
        spark, folder, "subject STRING, predicate STRING, object STRING, time LONG"
    )
    moments = (1000, 2000, 3000, 40_000)
    drop(folder, "1.json", [row(f"http://e/{time}", "<http://e/r>", time) for time in moments])
    return source


def held_up(engine: Engine, name: str) -> tuple[Event, Event]:
    """Has a query's evaluation wait once its answers are told: the events that it is, and that it may go on."""
    told, go_on = Event(), Event()

    def wait(found: object) -> None:
        told.set()
        assert go_on.wait(60)

    engine.queries[f"http://example.org/{name}"].subscribe(wait)
    return told, go_on


def test_stopping_a_source_ends_no_evaluation(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(STREAM)
    answers = collected(engine)
    told, go_on = held_up(engine, "q")
    source, checkpoint = three_instants(spark, tmp_path / "rows"), str(tmp_path / "checkpoint")
    query = stream.read(source, checkpoint)
    assert told.wait(60)
    query.stop()
    assert query.exception() is None
    go_on.set()
    engine.finish()
    assert [time for time, _ in answers] == [1000, 2000, 3000, 40_000]
    assert stream.accepted_count == 4
    # Spark does not know that the batch is in.
    again = stream.read(source, checkpoint)
    again.processAllAvailable()
    again.stop()
    assert stream.accepted_count == 4


def test_a_subscriber_stops_the_source_of_its_batch(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(STREAM)
    answers = collected(engine)
    engine.queries["http://example.org/q"].subscribe(lambda found: stream.sources[0].stop())
    query = stream.read(three_instants(spark, tmp_path / "rows"))
    query.awaitTermination(60)
    assert not query.isActive
    engine.finish()
    assert [time for time, _ in answers] == [1000, 2000, 3000, 40_000]


def test_a_batch_that_waits_while_its_source_is_stopped_is_not_taken_in(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    """It is read again by the source that goes on."""
    stream = engine.register_stream(STREAM)
    other = engine.register_stream("http://example.org/other")
    engine.register_query(QUERY.replace("s>", "other>").replace(":q", ":other"))
    told, go_on = held_up(engine, "other")
    other.push((f"<{AT}>", f"<{AT}>", f"<{AT}>"), 1000)
    holder = Thread(target=other.advance_to, args=(1000,))
    holder.start()
    assert told.wait(60)
    source, checkpoint = three_instants(spark, tmp_path / "rows"), str(tmp_path / "checkpoint")
    query = stream.read(source, checkpoint)
    while not query.status["isTriggerActive"]:
        assert query.exception() is None
    query.stop()
    go_on.set()
    holder.join()
    assert stream.accepted_count == 0
    again = stream.read(source, checkpoint)
    again.processAllAvailable()
    again.stop()
    assert stream.accepted_count == 4


def test_a_batch_replayed_with_its_id_changes_nothing(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(STREAM)
    answers = collected(engine)
    folder, checkpoint = tmp_path / "rows", tmp_path / "checkpoint"
    schema = "subject STRING, predicate STRING, object STRING, time TIMESTAMP"
    source = rows_source(spark, folder, schema)
    drop(folder, "1.json", [row("http://e/a", "<http://e/r>", "1970-01-01T00:00:01Z")])
    query = stream.read(source, str(checkpoint))
    query.processAllAvailable()
    drop(folder, "2.json", [row("http://e/b", "nothing", "1970-01-01T00:00:02Z")])
    query.processAllAvailable()
    query.stop()
    before = (stream.accepted_count, stream.malformed_count, stream.late_count)
    assert before == (1, 1, 0)
    # Spark forgets that it has finished batch 1, as if the process had died just before it noted it.
    for commit in (checkpoint / "commits").glob("*1*"):
        commit.unlink()
    again = stream.read(source, str(checkpoint))
    again.processAllAvailable()
    assert (stream.accepted_count, stream.malformed_count, stream.late_count) == before
    drop(folder, "3.json", [row("http://e/c", "<http://e/r>", "1970-01-01T00:00:03Z")])
    again.processAllAvailable()
    again.stop()
    engine.finish()
    assert [(time, len(rows)) for time, rows in answers] == [(1000, 1), (3000, 2)]


def test_documents_of_both_formats(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    answers_of: list[tuple[int, list[tuple[str | None, ...]]]]
    frame = spark.readStream.text(str(folder), wholetext=True)
    stream = engine.register_stream(STREAM, source=frame, checkpoint=str(tmp_path / "c"))
    answers_of = collected(engine)
    trig = f"""
    @prefix : <http://example.org/> .
    :g1 {PROV} 1000 . :g1 {{ :ann :at "{{" . << :ann :at "{{" >> :certainty 0.9 }}
    :g2 {{ :bob :at :r2 }}
    """
    nquads = (
        f'<http://example.org/g1> {PROV} "2000"^^{INTEGER} .\n'
        f'<http://example.org/cat> <{AT}> "a{{b\\nc" <http://example.org/g1> .\nrubbish\n'
    )
    (folder / "1.txt").write_text(trig, encoding="utf-8")
    (folder / "2.txt").write_text(nquads, encoding="utf-8")
    (query,) = stream.sources
    query.processAllAvailable()
    engine.finish()
    ann, cat = ("<http://example.org/ann>", '"{"'), ("<http://example.org/cat>", '"a{b\\nc"')
    assert answers_of == [(1000, [ann]), (2000, [ann, cat])]
    assert stream.malformed_count == 2
    assert any("no time" in reason for reason in stream.set_aside)
    engine.close()
    assert not query.isActive


@pytest.mark.parametrize("format", ["nquads", "trig"])
def test_documents_of_a_format_that_is_told(
    spark: SparkSession, engine: Engine, tmp_path: Path, format: str
) -> None:
    stream = engine.register_stream(STREAM)
    answers = collected(engine)
    folder, checkpoint = tmp_path / "documents", tmp_path / "checkpoint"
    source = rows_source(spark, folder, "value STRING, other INT")
    dated = f'<http://e/g> {PROV} "%d"^^{INTEGER} .\n'
    quad = "<http://e/%s> <" + AT + "> <http://e/r> <http://e/g> ."
    if format == "trig":
        quad = "<http://e/g> { <http://e/%s> <" + AT + "> <http://e/r> }"
    drop(folder, "1.json", [{"value": dated % 1000 + quad % "a"}, {"value": None}])
    query = stream.read(source, str(checkpoint), format)
    query.processAllAvailable()
    query.stop()
    drop(folder, "2.json", [{"value": dated % 2000 + quad % "b"}, {"value": dated % 2000}])
    query = stream.read(source, str(checkpoint), format)
    query.processAllAvailable()
    query.stop()
    engine.finish()
    assert [(time, len(rows)) for time, rows in answers] == [(1000, 1), (2000, 2)]
    assert list(stream.set_aside) == [
        "no document (null)",
        "document:1: <http://e/g>: a time, but no triple in a graph of that name"
        if format == "nquads"
        else "document: <http://e/g>: a time, but no triple in a graph of that name",
    ]


def test_an_error_in_the_source_ends_the_streaming_query(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    from pyspark.errors import StreamingQueryException
    from pyspark.sql import functions as F

    folder = tmp_path / "rows"
    source = rows_source(
        spark, folder, "subject STRING, predicate STRING, object STRING, time LONG"
    )
    drop(folder, "1.json", [row("http://e/a", "<http://e/r>", 1)])
    failing = source.withColumn("object", F.raise_error(F.lit("the source broke")).cast("string"))
    stream = engine.register_stream(STREAM)
    query = stream.read(failing)
    with pytest.raises(StreamingQueryException, match="the source broke"):
        query.processAllAvailable()
    assert stream.accepted_count == 0
    stream.push((f"<{AT}>", f"<{AT}>", 1), 5)
    assert stream.accepted_count == 1


def test_an_evaluation_that_fails_does_not_end_the_source(
    spark: SparkSession, engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(value: object) -> object:
        raise ValueError(f"no sensor reads {value}")

    folder = tmp_path / "rows"
    source = rows_source(
        spark, folder, "subject STRING, predicate STRING, object STRING, time LONG"
    )
    stream = engine.register_stream(STREAM)
    engine.register_function("http://example.org/broken", broken)
    failing = QUERY.replace(":q AS", ":failing AS").replace(
        "{ WINDOW", "{ FILTER(:broken(?where)) WINDOW"
    )
    failed = engine.register_query(failing)
    answers = collected(engine)
    query = stream.read(source)
    for batch in range(1, 4):
        drop(folder, f"{batch}.json", [row("http://e/a", f'"{batch}"', batch * 1000)])
        query.processAllAvailable()
    assert query.isActive
    query.stop()
    # The last time is not complete: the first two have been evaluated.
    assert [(time, len(rows)) for time, rows in answers] == [(1000, 1), (2000, 2)]
    assert failed.progress.failures == 2
    told = [
        entry.getMessage() for entry in caplog.records if entry.name.endswith(".numbered_batches")
    ]
    assert [text.split(" at ")[0] for text in told] == [
        f"stream <{STREAM}>, batch {batch}: http://example.org/failing" for batch in (1, 2)
    ]


@pytest.mark.parametrize(
    ("schema", "format", "message"),
    [
        ("subject STRING, object STRING, time LONG", "auto", "no column predicate; "),
        ("subject STRING, predicate STRING, object INT, time LONG", "auto", "column object must"),
        (
            "subject STRING, predicate STRING, object STRING, time STRING",
            "auto",
            "column time must",
        ),
        ("value INT", "auto", "column value must be text or binary, not int"),
        ("subject STRING", "trig", "format trig needs a column value"),
        (
            "value STRING",
            "turtle",
            "unknown format 'turtle'; known: auto, columns, elements, nquads, trig",
        ),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(
    spark: SparkSession, engine: Engine, tmp_path: Path, schema: str, format: str, message: str
) -> None:
    from sparkext.runtime.streams.structured_source import StreamSourceError

    stream = engine.register_stream(STREAM)
    with pytest.raises(StreamSourceError) as refused:
        stream.read(rows_source(spark, tmp_path / "rows", schema), format=format)
    assert message in str(refused.value)
    assert stream.sources == []


def test_a_frame_that_does_not_stream_is_refused(spark: SparkSession, engine: Engine) -> None:
    from sparkext.runtime.streams.structured_source import StreamSourceError

    with pytest.raises(StreamSourceError, match="not streaming"):
        engine.register_stream(STREAM).read(spark.range(1))
