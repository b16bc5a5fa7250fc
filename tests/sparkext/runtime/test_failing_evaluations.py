"""Evaluations that fail: what whoever pushed hears of them, and that everything else goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import EvaluationError

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
