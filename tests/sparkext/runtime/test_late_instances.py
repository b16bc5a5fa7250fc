"""Queries registered while their stream runs, in the order of time, answer the same, be they instances or alone."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.listening import S, query, settings, triple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

Told = dict[str, list[tuple[int, int, list[tuple[str | None, ...]]]]]

WINDOWS = (
    "[RANGE 10]",
    "[RANGE 3]",
    "[RANGE 10 STEP 5]",
    "[ELEMENTS 3]",
    "[LANDMARK 4]",
    "[NOW]",
)
EVERY = " COMPUTED EVERY PT0.004S"
REGISTERED = ("RSTREAM", "ISTREAM", "DSTREAM")
ROOMS = ("r0", "r1", "r2")


def note(told: Told, name: str, answers: Answers) -> None:
    told[name].append((answers.time, answers.revision, sorted(answers.rows())))


def register(engine: Engine, told: Told, text: str, room: str) -> None:
    name = f"{room}-{len(told)}"
    told[name] = []
    engine.register_query(text.replace("ROOM", room), name=name).subscribe(
        partial(note, told, name)
    )


def run(engine: Engine, text: str, seed: int, late: int = 0) -> Told:
    """Pushes and registers by chance; what each query was told."""
    chance = Random(seed)
    told: Told = {}
    for room in ROOMS[:2]:
        register(engine, told, text, room)
    now = 0
    for number in range(24):
        now += chance.choice((0, 1, 1, 2, 5))
        time = now + 1 - chance.choice((0, 0, late))
        engine.push(S, triple(f"p{number}", "at", chance.choice(ROOMS)), time)
        if chance.random() < 0.3:
            register(engine, told, text, chance.choice(ROOMS))
            if late and chance.random() < 0.5:
                register(engine, told, text, chance.choice(ROOMS))
        if chance.random() < 0.2 and not late:
            engine.advance_to(now + 1)
        if chance.random() < 0.1:
            engine.stop_query(chance.choice(list(engine.queries)))
    engine.finish()
    return told


@pytest.mark.parametrize(
    ("window", "every"),
    [(window, "") for window in WINDOWS]
    + [
        (WINDOWS[0], EVERY),
        *(pytest.param(window, EVERY, marks=pytest.mark.slow) for window in WINDOWS[1:]),
    ],
)
def test_late_instances_answer_as_late_queries_do(
    spark: SparkSession, window: str, every: str
) -> None:
    from sparkext import Engine

    answered = False
    for seed, operator in enumerate(REGISTERED * 2):
        text = query("WINDOW :w { ?p :at :ROOM }", window, "?p", operator)
        text = text.replace(":q AS", f":q{every} AS")
        found = []
        for sharing in ("true", "false"):
            with settings(spark, **{"sharing.enabled": sharing}):
                engine = Engine(spark)
            engine.register_stream(S)
            found.append(run(engine, text, seed))
            evaluated = len(engine._registered.evaluated)
            assert evaluated <= 2 if sharing == "true" else evaluated == len(engine.queries)
            engine.close()
        assert found[0] == found[1]
        answered |= any(rows for told in found[0].values() for *_, rows in told)
    assert answered


@pytest.mark.parametrize(
    ("window", "late"),
    [(window, "correct") for window in WINDOWS[::2]]
    + [(window, "hold") for window in WINDOWS[1::2]]
    + [pytest.param(window, "hold", marks=pytest.mark.slow) for window in WINDOWS[::2]]
    + [pytest.param(window, "correct", marks=pytest.mark.slow) for window in WINDOWS[1::2]],
)
def test_late_instances_answer_as_late_queries_do_where_elements_come_late(
    spark: SparkSession, window: str, late: str
) -> None:
    """Those that came between the same arrivals are evaluated together."""
    from sparkext import Engine

    revised = together = False
    for seed, operator in enumerate(REGISTERED):
        text = query("WINDOW :w { ?p :at :ROOM }", window, "?p", operator)
        found = []
        for sharing in ("true", "false"):
            with settings(spark, **{"sharing.enabled": sharing}):
                engine = Engine(spark)
            engine.register_stream(S, allowed_lateness=3, late=late)
            found.append(run(engine, text, seed, late=3))
            together |= len(engine._registered.evaluated) < len(engine.queries)
            engine.close()
        assert found[0] == found[1]
        revised |= any(revision for told in found[0].values() for _, revision, _ in told)
    assert not (revised and late == "hold")
    assert revised or late == "hold" or window == "[LANDMARK 4]"
    assert together
