"""MATCH in an engine that runs: late elements, later queries, static graphs that change, streams of matches."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import QuerySyntaxError, UnsupportedFeatureError
from sparkext.language import parse_query
from sparkext.oracle import ContinuousEvaluation
from tests.oracle.evaluation import stream_element
from tests.sparkext.event_cases import Contents, E, stream, told, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

PAIRS = f"""PREFIX : <{E}> REGISTER RSTREAM :pairs AS SELECT ?x ?i ?k
FROM NAMED WINDOW :w ON :S [RANGE 10]
EVENT ON :w {{ ?x :a ?i }} AS A EVENT ON :w {{ ?x :c ?k }} AS C
WHERE {{ MATCH {{ A SEQ C }} }}"""
COUNTED = PAIRS.replace("?x ?i ?k", "?x ?k ?n").replace(
    "A SEQ C", "(A+ BY ?x (COUNT(*) AS ?n)) SEQ C"
)
RECENT = PAIRS.replace("MATCH", "MATCH RECENT")
KEPT = PAIRS.replace("MATCH", "MATCH CHRONOLOGICAL WITHOUT CONSUMPTION")
STATIC = PAIRS.replace("WHERE { ", "WHERE { ?x :is :known . ")
IN_EVENT = PAIRS.replace("?x :a ?i", "?x :a ?i GRAPH :people { ?x :is :known }")
CONTENTS: Contents = {
    1: ["x a 1"],
    2: ["x c 2", "y a 2"],
    4: ["x a 4"],
    5: ["x c 5"],
    6: ["y c 6"],
    13: ["x c 13"],
    14: ["y c 14"],
}


def listen(engine: Engine, text: str, name: str | None = None) -> dict[int, list[str]]:
    """The answers of a query as they come, by instant."""
    heard: dict[int, list[str]] = {}

    def note(answers: Answers) -> None:
        heard[answers.time] = told(answers.rows())

    engine.register_query(text, name=name).subscribe(note)
    return heard


def right(text: str, contents: Contents = CONTENTS) -> dict[int, list[str]]:
    """What the oracle answers."""
    streams = {f"{E}S": [stream_element(e) for e in stream(contents)]}
    answers = ContinuousEvaluation(parse_query(text), streams).answers()
    return {t: told(answer.rows) for t, answer in answers.items()}


def push(engine: Engine, contents: Contents) -> None:
    engine.stream(f"{E}S").push_elements([stream_element(e) for e in stream(contents)])


@pytest.mark.parametrize("text", [PAIRS, COUNTED, RECENT, KEPT], ids=["u", "run", "r", "c"])
def test_elements_out_of_order(spark: SparkSession, text: str) -> None:
    """As if they had come in order, as far as they may be late."""
    from sparkext import Engine

    key = "spark.cqels.allowedLateness"
    spark.conf.set(key, "PT0.004S")
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset(key)
    with closing(engine):
        engine.register_stream(f"{E}S")
        heard = listen(engine, text)
        for time in (2, 1, 5, 4, 6, 14, 13):
            push(engine, {time: CONTENTS[time]})
        engine.finish()
        assert heard == right(text)
        assert heard[5]


def test_an_element_that_is_too_late_takes_no_part(engine: Engine) -> None:
    engine.register_stream(f"{E}S")
    heard = listen(engine, PAIRS)
    for time in (2, 1, 4, 5, 6, 13, 14):
        push(engine, {time: CONTENTS[time]})
    engine.finish()
    without = {t: triples for t, triples in CONTENTS.items() if t != 1}
    assert heard == right(PAIRS, without)
    assert engine.stream(f"{E}S").late_count == 1


def test_a_late_element_of_an_instant_that_is_over(engine: Engine) -> None:
    """An element of a time that windows have shown already, where other elements hold the instant open."""
    engine.register_stream(f"{E}S")
    engine.register_stream(f"{E}T")
    text = PAIRS.replace("EVENT ON :w { ?x :c", "EVENT ON :t { ?x :c").replace(
        "[RANGE 10]", "[RANGE 10] FROM NAMED WINDOW :t ON :T [RANGE 10]"
    )
    heard = listen(engine, text)
    engine.push(f"{E}S", triple("x a 1"), time=1)
    engine.push(f"{E}T", triple("x c 2"), time=3)
    engine.push(f"{E}S", triple("x a 2"), time=2)
    engine.finish()
    assert heard[3] == ["x 1 2", "x 2 2"]


def test_a_query_that_comes_later(engine: Engine) -> None:
    """Where a stream is followed already, what a window shows takes part; ten instants later that is all there is."""
    engine.register_stream(f"{E}S")
    listen(engine, PAIRS, "first")
    push(engine, {t: CONTENTS[t] for t in (1, 2, 4)})
    second = listen(engine, PAIRS.replace(":pairs", ":later"), "second")
    third = listen(engine, RECENT.replace(":pairs", ":recent"), "third")
    push(engine, {t: CONTENTS[t] for t in (5, 6, 13, 14)})
    engine.finish()
    assert {t: second[t] for t in (13, 14)} == {t: right(PAIRS)[t] for t in (13, 14)}
    assert "x 4 5" in second[5]
    assert third[5] == ["x 4 5"]


def test_static_data_outside_that_change(engine: Engine) -> None:
    engine.register_stream(f"{E}S")
    engine.insert(triple("x is known"))
    heard = listen(engine, STATIC)
    push(engine, {t: CONTENTS[t] for t in (1, 2)})
    engine.insert(triple("y is known"), at=6)
    engine.remove(triple("x is known"), at=13)
    push(engine, {t: CONTENTS[t] for t in (4, 5, 6, 13, 14)})
    engine.finish()
    everything = right(PAIRS)
    assert heard[2] == ["x 1 2"]
    assert heard[5] == [line for line in everything[5] if line.startswith("x")]
    assert heard[6] == everything[6]
    assert heard[14] == [line for line in everything[14] if line.startswith("y")]


def test_static_data_in_an_event_that_change(engine: Engine) -> None:
    """What an event finds in a static graph is what the graph says at the evaluation, not when the element came."""
    engine.register_stream(f"{E}S")
    engine.insert(triple("x is known"), f"{E}people")
    heard = listen(engine, IN_EVENT)
    push(engine, {t: CONTENTS[t] for t in (1, 2)})
    engine.insert(triple("y is known"), f"{E}people", at=6)
    push(engine, {t: CONTENTS[t] for t in (4, 5, 6)})
    engine.remove(triple("x is known"), f"{E}people", at=13)
    push(engine, {t: CONTENTS[t] for t in (13, 14)})
    engine.finish()
    everything = right(PAIRS)
    assert heard[5] == [line for line in everything[5] if line.startswith("x")]
    assert heard[6] == everything[6]
    assert heard[13] == []
    assert "y 2 6" in everything[6]


def test_a_graph_of_an_event_that_comes_later(engine: Engine) -> None:
    """GRAPH in an event may name an element's graph, so that a graph of that name need not be there."""
    engine.register_stream(f"{E}S")
    heard = listen(engine, IN_EVENT)
    push(engine, {t: CONTENTS[t] for t in (1, 2)})
    engine.insert(triple("x is known"), f"{E}people", at=4)
    push(engine, {t: CONTENTS[t] for t in (4, 5)})
    engine.finish()
    assert heard == {1: [], 2: [], 4: right(PAIRS)[4], 5: right(PAIRS)[5]}


def test_matches_as_a_stream(engine: Engine) -> None:
    """CONSTRUCT makes a stream of matches with their times, which events of a second query are about."""
    engine.register_stream(f"{E}S")
    made = f"""PREFIX : <{E}> REGISTER ISTREAM :made AS
        CONSTRUCT {{ ?x :from ?s ; :to ?e }} FROM NAMED WINDOW :w ON :S [RANGE 10]
        EVENT ON :w {{ ?x :a ?i }} AS A EVENT ON :w {{ ?x :c ?k }} AS C
        WHERE {{ MATCH {{ A SEQ C FROM ?s TO ?e }} }}"""
    read = f"""PREFIX : <{E}> REGISTER RSTREAM :read AS SELECT DISTINCT ?x ?s ?e ?y
        FROM NAMED WINDOW :m ON :made [RANGE 20] FROM NAMED WINDOW :w ON :S [RANGE 20]
        EVENT ON :m {{ ?x :from ?s ; :to ?e }} AS Made EVENT ON :w {{ ?y :c ?k }} AS C
        WHERE {{ MATCH {{ Made SEQ C }} FILTER(?x != ?y) }}"""
    listen(engine, made)
    heard = listen(engine, read)
    push(engine, CONTENTS)
    engine.finish()
    # Each match is told when its last event comes: x 1 2, x 1 5, x 4 5, y 2 6.
    assert heard[6] == ["x 1 2 y", "x 1 5 y", "x 4 5 y"]
    # x 4 13 is told at 13, before the last of y.
    assert heard[14] == ["x 1 2 y", "x 1 5 y", "x 4 13 y", "x 4 5 y", "y 2 6 x"]


@pytest.mark.parametrize("off", ["enabled", "adaptive.enabled", "deltaEvaluation.enabled"])
@pytest.mark.parametrize("text", [PAIRS, COUNTED, RECENT, KEPT], ids=["u", "run", "r", "c"])
def test_answers_do_not_depend_on_settings(spark: SparkSession, off: str, text: str) -> None:
    from sparkext import Engine

    spark.conf.set(f"spark.cqels.{off}", "false")
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset(f"spark.cqels.{off}")
    with closing(engine):
        engine.register_stream(f"{E}S")
        heard = listen(engine, text)
        push(engine, CONTENTS)
        engine.finish()
        assert heard == right(text)


REFUSED = {
    "A SEQ Nobody": "line 4, column 23: no event is declared as Nobody; declared: A, C",
    "A SEQ NOT C": "line 4, column 23: what is absent stands between two events: A SEQ NOT B SEQ C",
    "A FROM ?i TO ?e": "line 4, column 24: ?i is already used",
    "C+ SEQ A+": "line 4, column",
    "A+ BY ?z": "line 4, column 23: ?z is not bound by what is repeated",
}


@pytest.mark.parametrize("match", REFUSED)
def test_one_message_with_its_place(engine: Engine, match: str) -> None:
    engine.register_stream(f"{E}S")
    with pytest.raises((QuerySyntaxError, UnsupportedFeatureError)) as refused:
        engine.register_query(PAIRS.replace("A SEQ C", match))
    message = str(refused.value)
    assert message.startswith(REFUSED[match])
    assert "\n" not in message


def test_a_run_in_a_sequence_that_the_profile_selects_from(spark: SparkSession) -> None:
    from sparkext import Engine

    spark.conf.set("spark.cqels.semantics", "epsparql-recent")
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.semantics")
    with closing(engine):
        engine.register_stream(f"{E}S")
        text = COUNTED.replace("RSTREAM", "ISTREAM")
        with pytest.raises(UnsupportedFeatureError, match="line 4, column"):
            engine.register_query(text)
