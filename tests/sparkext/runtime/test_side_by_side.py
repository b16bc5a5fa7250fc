"""Queries that are due at one instant are evaluated side by side, and nobody can tell but by the time that it takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import EvaluationError
from tests.sparkext.listening import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://e/"
WINDOWS = "FROM NAMED WINDOW :w ON :s [RANGE PT3S STEP PT1S]"
PATTERNS: dict[str, tuple[str, ...]] = {
    "one": ("?a ?b", "WINDOW :w { ?a :p ?b }"),
    "two": ("?a ?c", "WINDOW :w { ?a :p ?b . ?b :p ?c }"),
    "static": ("?a ?n", "WINDOW :w { ?a :p ?b } ?b :name ?n"),
    "optional": ("?a ?n", "WINDOW :w { ?a :p ?b } OPTIONAL { ?a :name ?n }"),
    "counted": ("?b (COUNT(*) AS ?n)", "WINDOW :w { ?a :p ?b }", "GROUP BY ?b ORDER BY ?b LIMIT 3"),
    "arrives": ("?a", "WINDOW :w { ?a :p ?b }", "", "ISTREAM"),
    "made": ("?t", "WINDOW :w { ?a :p ?b } BIND(CONCAT(STR(?a), 'x') AS ?t)"),
}


def text(name: str) -> str:
    select, pattern, tail, operator = (*PATTERNS[name], *("", "RSTREAM")[len(PATTERNS[name]) - 2 :])
    return (
        f"PREFIX : <{E}> REGISTER {operator} :{name} AS SELECT {select} {WINDOWS}"
        f" WHERE {{ {pattern} }} {tail}"
    )


def triples(second: int) -> str:
    return "\n".join(f"<{E}n{(second * k) % 7}> <{E}p> <{E}n{k}> ." for k in range(6))


@pytest.fixture(params=["1", "2"])
def engine(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One that evaluates queries one after the other, and one that does so side by side."""
    from sparkext import Engine

    with (
        settings(spark, **{"driverExecution.threads": request.param}),
        closing(Engine(spark)) as made,
    ):
        made.insert("\n".join(f'<{E}n{n}> <{E}name> "n{n}" .' for n in range(4)))
        made.register_stream(f"{E}s")
        yield made


def asked(engine: Engine) -> list[Sequence[str]]:
    """What the JVM is asked from now on to evaluate together."""
    loop = engine._registered.evaluations
    seen: list[Sequence[str]] = []
    real = loop._together
    if real is not None:

        def noted(lines: Sequence[str]) -> Sequence[str]:
            seen.append(lines)
            return real(lines)

        loop._together = noted
    return seen


def answered(engine: Engine, names: Sequence[str]) -> list[tuple[str, int, list[str]]]:
    """All answers in the order in which they were told."""
    told: list[tuple[str, int, list[str]]] = []
    for name in names:
        engine.register_query(text(name)).subscribe(
            lambda answers, name=name: told.append(  # type: ignore[misc]
                (name, answers.time, sorted(map(str, answers.rows())))
            )
        )
    for second in range(1, 6):
        engine.push(f"{E}s", triples(second), second * 1000)
    engine.finish()
    return told


EXPECTED: dict[str, list[tuple[str, int, list[str]]]] = {}


def test_answers_and_their_order_are_those_of_one_after_the_other(engine: Engine) -> None:
    seen = asked(engine)
    told = answered(engine, list(PATTERNS))
    assert EXPECTED.setdefault("all", told) == told
    assert len(told) > 30 and [time for _, time, _ in told] == sorted(time for _, time, _ in told)
    assert sum(bool(rows) for _, _, rows in told) > 25
    if engine.parts.threads > 1:
        assert seen and max(map(len, seen)) == 5, "all but those that remember or make terms"
    else:
        assert not seen


def test_what_a_subscriber_changes_is_seen_by_those_behind(engine: Engine) -> None:
    for name in ("one", "static"):
        engine.register_query(text(name))
    names: list[list[str]] = []

    def insert(answers: object) -> None:
        engine.insert(f'<{E}n5> <{E}name> "late{len(names)}" .')

    queries = {query.name: query for query in engine._registered.evaluated.values()}
    queries[f"{E}one"].subscribe(insert)
    queries[f"{E}static"].subscribe(
        lambda answers: names.append(sorted(str(row[1]) for row in answers.rows()))
    )
    for second in range(1, 5):
        engine.push(f"{E}s", triples(second), second * 1000)
    engine.finish()
    assert EXPECTED.setdefault("changed", names) == names  # type: ignore[arg-type, comparison-overlap]
    assert any("late0" in name for row in names for name in row)


def test_nothing_is_left_of_one_that_ends_before_its_turn(engine: Engine) -> None:
    seen = asked(engine)
    first = engine.register_query(text("one"))
    second = engine.register_query(text("two"))
    told: list[int] = []
    first.subscribe(lambda answers: second.stop())
    second.subscribe(lambda answers: told.append(answers.time))
    for time in (1, 2):
        engine.push(f"{E}s", triples(time), time * 1000)
    engine.finish()
    assert not second.active and not told
    assert bool(seen) == (engine.parts.threads > 1)
    assert not list(Path(engine.room.scratch).glob("answers-*"))


def test_one_that_fails_fails_alone(engine: Engine) -> None:
    def fail(value: str) -> str:
        raise ValueError("no such thing")

    engine.register_function(f"{E}fail", fail)
    told: list[int] = []
    for name in ("one", "two"):
        engine.register_query(text(name)).subscribe(lambda answers: told.append(len(answers)))
    engine.register_query(
        f"PREFIX : <{E}> REGISTER RSTREAM :bad AS SELECT ?a {WINDOWS}"
        " WHERE { WINDOW :w { ?a :p ?b } FILTER(:fail(STR(?b)) = 'x') }"
    )
    with pytest.raises(EvaluationError, match="bad at"):
        for second in range(1, 4):
            engine.push(f"{E}s", triples(second), second * 1000)
            engine.advance_to(second * 1000)
    assert told
