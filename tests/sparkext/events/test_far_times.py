"""Times as values that no id holds itself: before 1413 or after 2526, and of years with five digits."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from tests.sparkext.listening import E, S, listen, settings, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"
EVENTS = "EVENT ON :w { ?x :p ?y } AS A EVENT ON :w { ?y :q ?z } AS B"
IN_1336 = -20_000_000_000_000
IN_10000 = 253_402_300_800_000


def matched(select: str, body: str) -> str:
    return (
        f"PREFIX : <{E}> REGISTER RSTREAM :q AS SELECT {select} FROM NAMED WINDOW :w ON :s [RANGE PT5S]"
        f" {EVENTS} {{ {body} }}"
    )


def test_they_live_in_the_dictionary_as_long_as_their_event_may_be_matched(engine: Engine) -> None:
    stream = engine.register_stream(S)
    heard = listen(engine, matched("?t", "MATCH { (A AT ?t) SEQ B }"))
    before = int(engine.room.dictionary.streamSize())
    for second, words in enumerate(["x p y", "no r no", "y q z", "y q z"]):
        stream.push(triple(*words.split()), IN_1336 + 1000 * second)
    stream.push(triple("no", "r", "no"), IN_1336 + 60_000)
    told = {(answers.time - IN_1336) // 1000: answers.rows() for answers in heard}
    rows = [(f'"1336-03-23T12:26:40.000Z"^^<{DATE_TIME}>',)]
    assert told == {0: [], 1: [], 2: rows, 3: rows}
    stream.push(triple("no", "r", "no"), IN_1336 + 60_001)
    assert heard[-1].rows() == []
    engine.finish()
    assert int(engine.room.dictionary.streamSize()) == before + 2  # the window shows no and r


def test_a_year_of_five_digits_is_written_without_a_sign(spark: SparkSession) -> None:
    from sparkext import Engine

    with settings(spark, maxAhead="0"), closing(Engine(spark)) as engine:
        stream = engine.register_stream(S)
        body = "MATCH { A SEQ B FROM ?b TO ?e } BIND(NOW() AS ?now)"
        heard = listen(engine, matched("?b ?e ?now", body))
        for time, words in ((0, "x p y"), (500, "y q z"), (501, "no r no")):
            stream.push(triple(*words.split()), IN_10000 + time)
        (row,) = heard[-1].rows()
    said = ["10000-01-01T00:00:00.000Z", "10000-01-01T00:00:00.500Z", "10000-01-01T00:00:00.500Z"]
    assert row == tuple(f'"{text}"^^<{DATE_TIME}>' for text in said)
