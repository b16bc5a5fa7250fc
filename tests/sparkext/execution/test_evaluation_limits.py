"""What takes more than `spark.cqels.limits.*` let it is given up, its query stopped, and others go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.errors import EvaluationError, LimitError, UnknownQueryError
from tests.sparkext.listening import E, S, query, settings, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LARGE = "WINDOW :w { ?a :p ?b . ?c :p ?d . ?e :p ?f . ?g :p ?h }"
SMALL = "WINDOW :w { ?a :p :o1 }"


def push_many(engine: Engine, number: int) -> None:
    lines = "\n".join(triple(f"s{n}", "p", f"o{n}") for n in range(number))
    engine.push(S, lines, time=5)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"limits.evaluationTime": "300ms"}, "more than 300 ms"),
        ({"limits.evaluationMemory": "64m"}, "more than 67108864 bytes"),
    ],
)
def test_an_evaluation_that_takes_too_much_is_given_up(
    spark: SparkSession, limits: dict[str, str], said: str
) -> None:
    with settings(spark, **limits):
        engine = Engine(spark)
    try:
        engine.register_stream(S)
        large = engine.register_query(query(LARGE), name="large")
        heard: list[int] = []
        engine.register_query(query(SMALL), name="small").subscribe(lambda a: heard.append(len(a)))
        told: list[Exception] = []
        large.on_failure = lambda _, error: told.append(error)
        push_many(engine, 600)  # 600^4 solutions would take for ever
        with pytest.raises(EvaluationError, match=said):
            engine.advance_to(100)
        assert [type(error) for error in told] == [LimitError]
        assert not large.active and set(engine.queries) == {"small"}
        assert 1 in heard
        with pytest.raises(UnknownQueryError):
            engine.stop_query("large")
        engine.push(S, triple("s1", "p", "o1"), time=200)
        engine.advance_to(300)
        assert heard.count(1) >= 2
    finally:
        engine.close()


def test_too_many_rows_of_answers_are_refused_and_all_of_a_template_are_stopped(
    spark: SparkSession,
) -> None:
    with settings(spark, **{"limits.answerRows": "10"}):
        engine = Engine(spark)
    try:
        engine.register_stream(S)
        text = query("WINDOW :w { ?a :p ?b } FILTER(?b != ?x)")
        made = [engine.register_query(text, f"q{n}", parameters={"x": f"{E}{n}"}) for n in (1, 2)]
        failures: list[str] = []
        for one in made:
            one.on_failure = lambda _, error: failures.append(str(error))
        push_many(engine, 11)
        with pytest.raises(EvaluationError, match="rows of answers are more than 10"):
            engine.advance_to(100)
        assert len(failures) == 2 and not engine.queries
        again = engine.register_query(text, "again", parameters={"x": f"{E}1"})
        engine.push(S, triple("s1", "p", "o1"), time=200)
        engine.advance_to(300)
        assert again.progress.answers == 1
    finally:
        engine.close()


def test_an_ordinary_query_is_limited_too(spark: SparkSession) -> None:
    with settings(spark, **{"limits.evaluationTime": "300ms"}):
        engine = Engine(spark)
    try:
        engine.insert("\n".join(triple(f"s{n}", "p", f"o{n}") for n in range(600)))
        large = engine.select(
            f"SELECT * {{ ?a <{E}p> ?b . ?c <{E}p> ?d . ?e <{E}p> ?f . ?g <{E}p> ?h }}"
        )
        with pytest.raises(LimitError, match="300 ms"):
            large.answer()
        # So few rows that no busy machine takes as long for them.
        assert len(engine.select(f"SELECT * {{ ?a <{E}p> <{E}o1> }}").answer()) == 1
    finally:
        engine.close()
