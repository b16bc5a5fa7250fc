"""Evaluations that fail: what whoever pushed hears of them, and that everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import EvaluationError
from tests.sparkext.listening import listen, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

E = "http://e/"
S = f"{E}s"


def query(name: str, value: str) -> str:
    return f"""
    PREFIX : <{E}>
    REGISTER RSTREAM :{name} AS SELECT ?x ?y FROM NAMED WINDOW :w ON :s [NOW]
    WHERE {{ WINDOW :w {{ ?x :reads ?o }} BIND({value} AS ?y) }}
    """


FAILING, SOUND = query("failing", ":broken(?o)"), query("sound", "?o")


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine with a function that fails in every call, inside Spark."""
    from sparkext import Engine

    def broken(value: object) -> object:
        raise ValueError(f"no sensor\nreads {value}")

    made = Engine(spark)
    made.register_stream(S)
    made.register_function(f"{E}broken", broken)
    yield made
    made.close()


def push(engine: Engine, times: range) -> None:
    for time in times:
        engine.push(S, (f"{E}a", f"{E}reads", time), time=time)


def failures_at(*times: int) -> str:
    return "; ".join(f"{E}failing at {time} ms: ValueError: no sensor" for time in times)


def test_an_error_from_java_is_told_in_one_line(engine: Engine) -> None:
    made = engine.register_query(FAILING)
    sound: list[Answers] = []
    engine.register_query(SOUND).subscribe(sound.append)
    push(engine, range(1, 2))
    with pytest.raises(EvaluationError) as told:
        engine.finish()
    assert str(told.value) == failures_at(1)
    assert made.progress.failures == 1
    assert [answers.time for answers in sound] == [1]


def test_the_first_failures_are_told_and_the_others_counted(engine: Engine) -> None:
    made = engine.register_query(FAILING)
    with engine.lock:
        engine.evaluations._evaluating = True  # nothing is evaluated before all is in
        push(engine, range(1, 9))
        engine.evaluations._evaluating = False
    with pytest.raises(EvaluationError) as told:
        engine.finish()
    assert str(told.value) == f"{failures_at(1, 2, 3)}; and 5 other failures"
    assert made.progress.failures == 8
    engine.evaluate_due()  # what has been told is not told again


def test_a_java_error_without_python_is_told_by_its_class_and_message(spark: SparkSession) -> None:
    from py4j.protocol import Py4JJavaError

    from sparkext.errors import first_line

    with pytest.raises(Py4JJavaError) as raised:
        spark._jvm.java.lang.Class.forName("no.such.Name")  # type: ignore[union-attr]
    assert first_line(raised.value) == "java.lang.ClassNotFoundException: no.such.Name"


@pytest.mark.parametrize(
    ("operator", "event", "match", "told"),
    [
        ("RSTREAM", "FILTER(:moody(STR(?y)) > 0)", "MATCH { A SEQ B }", {2: 1, 3: 1}),
        ("ISTREAM", "", "MATCH { A SEQ B } FILTER(:moody(?pair) > 0)", {1: 0, 3: 1}),
        ("RSTREAM", "", "MATCH CHRONOLOGICAL { A SEQ B } FILTER(:moody(?pair) > 0)", {1: 0, 3: 1}),
    ],
    ids=["in an event", "in a delta evaluation", "after consumption"],
)
def test_what_was_matched_when_an_evaluation_failed_is_told_by_the_next(
    engine: Engine, operator: str, event: str, match: str, told: dict[int, int]
) -> None:
    calls: list[object] = []

    def moody(value: object) -> int:
        calls.append(value)
        if len(calls) == 1:
            raise ValueError("not yet")
        return 1

    engine.register_function(f"{E}moody", moody)
    body = match.replace("?pair", "CONCAT(STR(?x), STR(?z))")
    heard = listen(
        engine,
        f"PREFIX : <{E}> REGISTER {operator} :matched AS SELECT ?x ?z FROM NAMED WINDOW :w ON :s [RANGE PT1H]"
        f" EVENT ON :w {{ ?x :p ?y {event} }} AS A EVENT ON :w {{ ?y :q ?z }} AS B {{ {body} }}",
    )
    (made,) = engine.queries.values()
    assert (made.evaluation == "delta evaluation") == (operator == "ISTREAM")
    failures = 0
    for time, words in enumerate(["x p y", "y q z", "no r no", "no r no"], 1):
        try:
            engine.push(S, tuple(f"<{E}{word}>" for word in words.split()), time=time)
        except EvaluationError:
            failures += 1
    assert failures == 1
    assert {answers.time: len(answers) for answers in heard} == told


@pytest.mark.parametrize("delta", ["true", "false"])
def test_what_could_not_be_written_is_told_by_the_next(spark: SparkSession, delta: str) -> None:
    from sparkext import Engine

    with settings(spark, **{"deltaEvaluation.enabled": delta}), closing(Engine(spark)) as engine:
        engine.register_stream(S)
        heard = listen(
            engine,
            f"PREFIX : <{E}> REGISTER ISTREAM :new AS SELECT ?o FROM NAMED WINDOW :w ON :s [RANGE 100]"
            " WHERE { WINDOW :w { ?x :reads ?o } }",
        )
        push(engine, range(1, 3))
        folder = Path(engine.room.scratch)
        away = folder.rename(folder.with_name(f"{folder.name}-away"))
        with pytest.raises(EvaluationError, match="NoSuchFile"):
            push(engine, range(3, 4))
        away.rename(folder)
        push(engine, range(4, 5))
        assert [(answers.time, len(answers)) for answers in heard] == [(1, 1), (3, 2)]
