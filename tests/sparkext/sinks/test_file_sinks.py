"""Files that are gone on with after a restart: each instant of a query once, whatever was cut off."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import ArgumentError, SourceError
from sparkext.recorded_streams import read_recorded_stream
from sparkext.runtime.answering.revised_answers import retracted
from sparkext.sinks import JsonLinesSink, ParquetSink, RdfFileSink, answers_stream
from tests.sparkext.listening import S, query, triple
from tests.sparkext.sinks.answering import OTHER, Q, ask, construct, select

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine


def told(file: Path) -> list[tuple[str, str, int]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return [(line["query"], line["time"][-8:], line.get("revision", 0)) for line in lines]


def test_lines_that_a_file_has_are_not_added_again(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with JsonLinesSink(file, append=True) as sink:
        for answers in (select(1000, "a"), select(1000, query=OTHER), select(2000, sequence=2)):
            sink(answers)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:40])  # as if the process had died while it wrote
    with JsonLinesSink(file, append=True) as sink:
        assert file.read_bytes() == whole
        sink(select(1000, "a"))
        sink(select(2000, sequence=2))
        sink(select(1000, "b", revision=1))
        sink(select(1000, "b", revision=1))
        sink(select(3000, sequence=3))
        sink(select(2000, query=OTHER, sequence=2))
    assert told(file) == [
        (Q, ":01.000Z", 0),
        (OTHER, ":01.000Z", 0),
        (Q, ":02.000Z", 0),
        (Q, ":01.000Z", 1),
        (Q, ":03.000Z", 0),
        (OTHER, ":02.000Z", 0),
    ]
    assert [json.loads(line)["sequence"] for line in file.open()] == [1, 1, 2, 1, 3, 2]


@pytest.mark.parametrize("kind", ["lines", "elements"])
def test_all_that_a_late_element_changed_comes_once(tmp_path: Path, kind: str) -> None:
    """Hundreds of instants may be changed at once, and be answered again after a restart."""
    file = tmp_path / "a.nq"
    made = construct if kind == "elements" else select
    for _ in range(2):
        sink = RdfFileSink(file) if kind == "elements" else JsonLinesSink(file, append=True)
        with sink:
            sink(made(500_000, "a"))
            for time in range(1000, 401_000, 1000):
                sink(made(time, "b", revision=1))
    count = len(read_recorded_stream(file).elements) if kind == "elements" else len(told(file))
    assert count == 401


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as on a disk that is full; it may be written up to there."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", ["new lines", "lines", "elements"])
def test_what_a_full_disk_did_not_take_comes_once(tmp_path: Path, kind: str) -> None:
    def opened(name: str) -> RdfFileSink | JsonLinesSink:
        if kind == "elements":
            return RdfFileSink(tmp_path / name)
        return JsonLinesSink(tmp_path / name, append=kind == "lines")

    made = construct if kind == "elements" else select
    with opened("expected.nq") as sink:
        sink(made(1000, "a"))
        begun = (tmp_path / "expected.nq").read_bytes()
        sink(made(2000, "b"))
    file = tmp_path / "a.nq"
    with opened("a.nq") as sink:
        sink(made(1000, "a"))
        for _ in range(3):
            with room_for(len(begun) + 10), pytest.raises(OSError, match="File too large"):
                sink(made(2000, "b"))
            assert file.read_bytes() == begun
        sink(made(2000, "b"))
    assert file.read_bytes() == (tmp_path / "expected.nq").read_bytes()


def test_a_file_of_something_else_is_not_added_to(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    with JsonLinesSink(file) as sink:
        sink(select(1000))
    with pytest.raises(ArgumentError, match=r"a.jsonl:1: is no line of this sink"):
        JsonLinesSink(file, append=True)
    for said in ('{"query": "{ rooms }"}', '{"query": "q", "sequence": "a"', '{"time": "20', "a"):
        file.write_text(said)  # without the end of a line
        with pytest.raises(ArgumentError, match=r"a.jsonl:1: is no line of this sink"):
            JsonLinesSink(file, append=True)
        assert file.read_text() == said
    recorded = tmp_path / "a.nq"
    recorded.write_text("<http://e/s> <http://e/p> <http://e/o> .\n")
    with pytest.raises(ArgumentError, match="has no whole element of this sink"):
        RdfFileSink(recorded)
    assert recorded.read_text()


def test_a_first_line_that_was_cut_off_is_written_anew(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    answers = select(1000, "a", query='a "query" \\ \u00e4", "sequence": 1')
    with JsonLinesSink(file, append=True) as sink:
        sink(answers)
    whole = file.read_bytes()
    for size in range(1, len(whole)):
        file.write_bytes(whole[:size])
        with JsonLinesSink(file, append=True) as sink:
            sink(answers)
        assert file.read_bytes() == whole


@pytest.mark.parametrize("ending", ["nq", "trig"])
def test_triples_are_a_recorded_stream(tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"a.{ending}"
    with RdfFileSink(file) as sink:
        sink(construct(1000, "a", "b"))
        sink(construct(1500))
        sink(construct(1000, "c", query="query-1"))
    whole = file.read_bytes()
    for cut in (1, 30, len(whole) // 3):  # the second element is cut off
        file.write_bytes(whole[:-cut])
        with RdfFileSink(file) as sink:
            sink(construct(1000, "a", "b"))
            sink(construct(1000, "c", query="query-1"))
        assert file.read_bytes() == whole
    with RdfFileSink(file) as sink:
        sink(construct(1000, "d", revision=1))
        with pytest.raises(SourceError, match="SELECT answers no triples"):
            sink(select(2000, "a"))
    elements = read_recorded_stream(file).elements
    assert [(element.graph, element.time_ms, len(element.triples)) for element in elements] == [
        (f"<{Q}#1000>", 1000, 2),
        ("<urn:cqels:query-1#1000>", 1000, 1),
        (f"<{Q}#1000.1>", 1000, 1),
    ]


def test_queries_share_a_folder_and_revisions_replace(tmp_path: Path) -> None:
    from pyarrow import parquet

    sink = ParquetSink(tmp_path)
    for answers in (select(1000, "a"), select(1000, "b", query=OTHER), select(1000, "a")):
        sink(answers)
    assert sorted(parquet.read_table(tmp_path).column("v").to_pylist()) == ['"a"', '"b"']
    sink(select(1000, "c", revision=1))
    assert sorted(parquet.read_table(tmp_path).column("v").to_pylist()) == ['"b"', '"c"']
    sink(select(1000, revision=2))
    assert parquet.read_table(tmp_path).column("v").to_pylist() == ['"b"']


def test_an_instant_of_ask_that_is_none_any_more_leaves_the_folder(tmp_path: Path) -> None:
    from pyarrow import parquet

    sink = ParquetSink(tmp_path)
    for answers in (ask(1000, True), ask(2000, False), retracted(ask(1000, True), 3, 1)):
        sink(answers)
    assert parquet.read_table(tmp_path).column("boolean").to_pylist() == [False]


def test_answers_are_a_frame_that_can_be_written(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(query("WINDOW :w { ?x :p ?time }", select="?x ?time"))
    frame = answers_stream(spark, made, tmp_path / "the answers")
    stream.push(triple("a", "p", "b"), 1000)
    engine.finish()
    writing = (
        frame.writeStream.format("json")
        .option("checkpointLocation", str(tmp_path / "c"))
        .trigger(availableNow=True)
        .start(str(tmp_path / "out"))
    )
    writing.awaitTermination()
    (row,) = spark.read.json(str(tmp_path / "out")).collect()
    assert (row["x"], row["?time"], row["time"]) == (
        "<http://e/a>",
        "<http://e/b>",
        "1970-01-01T00:00:01.000Z",
    )
    with pytest.raises(ArgumentError, match="query: must be a continuous query"):
        answers_stream(spark, "q", tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.ttl", "a"])
def test_a_name_that_tells_no_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArgumentError, match=r"ends in .nq or .trig"):
        RdfFileSink(tmp_path / name)
