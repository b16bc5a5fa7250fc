"""CONSTRUCT queries whose answers are streams that other queries read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.engine import Engine
from sparkext.errors import DuplicateNameError, RecursiveQueryError, StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.streams.numbered_batches import Entry

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

RAW = "http://e/raw"
HOT = """PREFIX : <http://e/> REGISTER RSTREAM :hot AS
CONSTRUCT { ?room :hot ?value } FROM NAMED WINDOW :w ON :raw [RANGE PT10S STEP PT10S]
{ WINDOW :w { ?room :temperature ?value FILTER(?value > 30) } }"""
ALARMS = """PREFIX : <http://e/> REGISTER RSTREAM :alarms AS
CONSTRUCT { ?room :alarm ?n } FROM NAMED WINDOW :h ON :hot [RANGE PT20S STEP PT20S]
{ { SELECT ?room (COUNT(*) AS ?n) { WINDOW :h { ?room :hot ?value } } GROUP BY ?room } }"""
BOTH = """PREFIX : <http://e/> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?room ?value ?raw ?time FROM NAMED WINDOW :h ON :hot [RANGE PT10S STEP PT10S]
FROM NAMED WINDOW :w ON :raw [RANGE PT10S STEP PT10S]
{ WINDOW :h { ?room :hot ?value . ?g prov:generatedAtTime ?time } WINDOW :w { ?room :temperature ?raw } }"""


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    made = Engine(spark)
    made.register_stream(RAW)
    yield made
    made.close()


def feed(engine: Engine) -> None:
    for second, room, value in [(1, "r1", 31), (2, "r2", 20), (12, "r1", 35), (25, "r2", 40)]:
        engine.push(RAW, (f"http://e/{room}", "http://e/temperature", value), time=second * 1000)


@pytest.mark.parametrize("at_once", [False, True])
def test_queries_over_queries_in_order_of_time(engine: Engine, at_once: bool) -> None:
    got: list[Answers] = []
    for text in (HOT, ALARMS, BOTH):
        engine.register_query(text).subscribe(got.append)
    if at_once:
        with engine.lock:
            engine.evaluations._evaluating = True  # nothing is evaluated before all is in
            feed(engine)
            engine.evaluations._evaluating = False
    else:
        feed(engine)
    engine.finish()
    kinds = [(a.query.rsplit("/", 1)[-1], a.time // 1000) for a in got]
    assert kinds == [
        ("hot", 10),
        ("query-3", 10),
        ("hot", 20),
        ("alarms", 20),
        ("query-3", 20),
        ("hot", 30),
        ("query-3", 30),
        ("alarms", 40),
    ]
    counts = {
        a.time // 1000: [t[2][1] for t in a.triples()] for a in got if a.query.endswith("alarms")
    }
    assert counts == {20: ["2"], 40: ["1"]}
    joined = [row for a in got if a.query == "query-3" for row in a.rows()]
    assert [row[1] == row[2] for row in joined] == [True, True, True]
    assert str(joined[0][3]).startswith('"1970-01-01T00:00:10')


def test_a_stream_is_waited_for_as_far_as_its_maker_may_still_answer(engine: Engine) -> None:
    got: list[Answers] = []
    engine.register_query(HOT)
    engine.register_query(BOTH).subscribe(got.append)
    feed(engine)
    engine.advance_to(29_000)
    assert [a.time for a in got] == [10_000, 20_000]
    engine.advance_to(30_000)
    assert [a.time for a in got] == [10_000, 20_000, 30_000]


COUNTS = """PREFIX : <http://e/> REGISTER RSTREAM :counts COMPUTED EVERY PT10S AS
CONSTRUCT { :all :n ?n } FROM NAMED WINDOW :w ON :raw [RANGE PT10S STEP PT10S]
{ { SELECT (COUNT(*) AS ?n) { WINDOW :w { ?room :temperature ?value } } } }"""
READ = """PREFIX : <http://e/> SELECT ?n FROM NAMED WINDOW :c ON :counts [NOW] { WINDOW :c { :all :n ?n } }"""


@pytest.mark.parametrize("promised", [False, True])
def test_answers_of_an_empty_stretch_are_read_however_the_input_is_cut(
    engine: Engine, promised: bool
) -> None:
    got: list[Answers] = []
    engine.register_query(COUNTS)
    engine.register_query(READ).subscribe(got.append)
    engine.push(RAW, ("http://e/r1", "http://e/temperature", 20), time=5_000)
    if promised:
        engine.advance_to(50_000)  # the instants up to there come with the element after it
    engine.push(RAW, ("http://e/r1", "http://e/temperature", 20), time=105_000)
    engine.finish()
    assert [a.time for a in got] == list(range(10_000, 120_000, 10_000))
    assert engine.stream("http://e/counts").late_count == 0
    assert [len(a.rows()) for a in got] == [1] * 11


def test_a_query_cannot_read_itself(engine: Engine) -> None:
    itself = HOT.replace("ON :raw", "ON :hot")
    engine.register_stream("http://e/hot")
    with pytest.raises(RecursiveQueryError, match="http://e/hot"):
        engine.register_query(itself)
    engine.register_query(HOT)
    engine.register_query(ALARMS)
    with pytest.raises(RecursiveQueryError):
        engine.derived.check("http://e/hot", engine.queries["http://e/alarms"].query)
    with pytest.raises(StreamElementError, match="come from the query"):
        engine.push("http://e/hot", "<http://e/a> <http://e/b> 1 .")


def test_nobody_else_feeds_what_a_query_makes(engine: Engine, spark: SparkSession) -> None:
    engine.register_query(HOT)
    stream = engine.register_stream("http://e/hot")
    element = StreamElement(1, None, ("<http://e/a> <http://e/b> <http://e/c> .",))
    batches = spark.readStream.format("rate").load()
    ways: dict[str, Callable[[], object]] = {
        "push_elements": lambda: stream.push_elements([element]),
        "batch": lambda: stream.batch("source", 0, lambda room: None)(Entry()),
        "advance_to": lambda: stream.advance_to(10_000),
        "read": lambda: stream.read(batches),
        "register_stream": lambda: engine.register_stream("http://e/hot", source=batches),
    }
    for name, way in ways.items():
        with pytest.raises(StreamElementError, match="come from the query"):
            way()
        assert stream.accepted_count == 0, name
    assert stream.watermark.complete_up_to < 10_000


def test_a_stream_in_use_is_not_taken_over(engine: Engine) -> None:
    engine.push(RAW, "<http://e/a> <http://e/b> <http://e/c> .", time=1)
    with pytest.raises(DuplicateNameError, match="http://e/raw"):
        engine.register_query(ALARMS.replace(":alarms", ":raw").replace("ON :hot", "ON :other"))


def test_a_stopped_query_ends_its_stream(engine: Engine) -> None:
    got: list[Answers] = []
    engine.register_query(HOT)
    engine.register_query(ALARMS).subscribe(got.append)
    feed(engine)
    engine.stop_query("http://e/hot")
    engine.advance_to(60_000)
    assert [a.time for a in got] == [20_000]
    engine.stop_query("http://e/alarms")
    engine.register_query(HOT)
    assert "http://e/hot" in engine.derived
