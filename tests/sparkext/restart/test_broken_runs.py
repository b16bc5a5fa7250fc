"""A program that is ended and begun again answers as if it had run on."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.errors import CheckpointError, DuplicateNameError
from tests.sparkext.listening import E, S, query, triple
from tests.sparkext.restart.broken_runs import Program, leave

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BESIDE = S + "-beside"


def push(stream: str, *facts: tuple[int, str, str, str]):
    def step(engine: Engine) -> None:
        for time, subject, predicate, value in facts:
            engine.stream(stream).push(triple(subject, predicate, value), time)

    return step


STEPS = [
    push(S, (3, "x1", "at", "r1"), (4, "x2", "at", "r1")),
    push(BESIDE, (4, "r1", "has", "o1")),
    push(S, (9, "x1", "at", "r2"), (9, "x3", "at", "r1")),
    push(S, (10, "x1", "at", "r1")),
    lambda engine: engine.advance_to(12),
    push(BESIDE, (13, "r2", "has", "o2"), (15, "r1", "has", "o1")),
    push(S, (16, "x2", "at", "r2"), (17, "x2", "at", "r1"), (25, "x1", "at", "r1")),
    push(BESIDE, (27, "r1", "has", "o3")),
    push(S, (31, "x4", "at", "r1"), (33, "x1", "at", "r2")),
]


def beside(select: str, operator: str, window: str = "[RANGE 12]") -> str:
    return f"""
    PREFIX : <{E}>
    REGISTER {operator} :q AS SELECT {select}
    FROM NAMED WINDOW :w ON <{S}> {window}
    FROM NAMED WINDOW :v ON <{BESIDE}> [RANGE 15]
    WHERE {{ WINDOW :w {{ ?x :at ?y }} WINDOW :v {{ ?y :has ?o }} ?x :is ?z }}
    """


FACTS = "\n".join(triple(f"x{n}", "is", f"k{n % 2}") for n in range(5))
QUERIES = {
    "sliding": query("WINDOW :w { ?x :at ?y }", "[RANGE 8 STEP 3]"),
    "range": query("WINDOW :w { ?x :at ?y } ?x :is ?z", "[RANGE 9]"),
    "new": query("WINDOW :w { ?x :at ?y } ?x :is ?z", "[RANGE 9]", "*", "ISTREAM"),
    "new-count": query(
        "WINDOW :w { ?x :at ?y }", "[RANGE 9 STEP 2]", "?y (COUNT(*) AS ?n)", "ISTREAM"
    )
    .rstrip()
    .removesuffix("}")
    + "} GROUP BY ?y",
    "gone": query("WINDOW :w { ?x :at ?y }", "[RANGE 6 STEP 2]", "*", "DSTREAM"),
    "last": query("WINDOW :w { ?x :at ?y }", "[ELEMENTS 3]", "*", "ISTREAM"),
    "landmark": query("WINDOW :w { ?x :at ?y }", "[LANDMARK 4]", "(COUNT(*) AS ?n)", "RSTREAM"),
    "past": query("WINDOW :w { ?x :at ?y }", "[NOW-9 TO NOW-2]"),
    "both": beside("*", "RSTREAM"),
    "both-new": beside("?x ?o", "ISTREAM"),
    "both-gone": beside("?x ?o", "DSTREAM", "[RANGE 10 STEP 5]"),
    "every": beside("(COUNT(*) AS ?n)", "ISTREAM COMPUTED EVERY 4").replace(
        "ISTREAM COMPUTED EVERY 4 :q", "ISTREAM :q COMPUTED EVERY 4"
    ),
    "like-1": query("WINDOW :w { ?x :at :r1 }", "[RANGE 9]", "*", "ISTREAM"),
    "like-2": query("WINDOW :w { ?x :at :r2 }", "[RANGE 9]", "*", "ISTREAM"),
}


def begin(engine: Engine) -> None:
    engine.insert(FACTS)


def program() -> Program:
    return Program([S, BESIDE], QUERIES, STEPS, begin)


@pytest.mark.parametrize("end", range(len(STEPS) + 1))
def test_each_step_may_be_the_last(spark: SparkSession, tmp_path: Path, end: int) -> None:
    made = program()
    assert made.broken(spark, tmp_path, end, end) == made.whole(spark)


def test_a_sink_that_fails_loses_no_elements(spark: SparkSession, tmp_path: Path) -> None:
    """What was to be in a commit that a sink's `flush` fails is in the next one."""
    engine = Engine(spark, checkpoint=tmp_path / "lived")
    with closing(engine):
        stream = engine.register_stream(S)
        sink = Flushing()
        engine.register_query(query("WINDOW :w { ?x :at ?y }", "[RANGE 90]")).subscribe(sink)
        stream.push(triple("x1", "at", "r"), 1)
        sink.fails = True
        with pytest.raises(CheckpointError, match="no room"):
            engine.commit()
        sink.fails = False
        stream.push(triple("x2", "at", "r"), 2)
        engine.commit()
        leave(tmp_path / "lived", tmp_path / "left")
    with closing(Engine(spark, checkpoint=tmp_path / "left")) as again:
        again.restore()
        (restored,) = again.queries.values()
        again.stream(S).push(triple("x3", "at", "r"), 3)
        again.advance_to(3)
        assert restored.last_answers is not None and len(restored.last_answers) == 3


def test_changes_are_in_order_after_two_restarts(spark: SparkSession, tmp_path: Path) -> None:
    """A change before the first restart comes before what was answered after it."""
    text = query("WINDOW :w { ?x :at ?y } ?x :is ?z", "[RANGE 90]", "?x", "ISTREAM")
    told: list[tuple[int, int]] = []
    folder = tmp_path / "0"
    for round_, time in enumerate((10, 20, 30)):
        engine = Engine(spark, checkpoint=folder)
        with closing(engine):
            stream = engine.register_stream(S)
            engine.register_query(text).subscribe(lambda a: told.append((a.time, len(a))))
            if round_ == 0:
                for early in range(1, 6):  # many evaluations before the change
                    stream.push(triple("y", "at", "r"), early)
                engine.advance_to(5)
                engine.insert(triple("x1", "is", "k"))
            stream.push(triple("x1", "at", "r"), time)
            engine.advance_to(time)
            engine.commit()
            leave(folder, tmp_path / str(round_ + 1))
        folder = tmp_path / str(round_ + 1)
    assert told[-3:] == [(10, 1), (20, 0), (30, 0)]


def test_a_change_before_the_first_element_is_new(spark: SparkSession, tmp_path: Path) -> None:
    """It comes after what ISTREAM answered last, and is there after another restart."""
    text = query("WINDOW :w { ?x :at ?y } ?x :is ?z", "[RANGE 90]", "?x", "ISTREAM")
    told: list[tuple[int, int]] = []

    def begun(folder: Path) -> Engine:
        engine = Engine(spark, checkpoint=folder)
        engine.insert(FACTS)
        engine.register_stream(S)
        return engine

    with closing(begun(tmp_path / "0")) as engine:
        engine.register_query(text, "q")
        engine.stream(S).push(triple("x1", "at", "r"), 10)
        engine.advance_to(10)
        engine.commit()
        leave(tmp_path / "0", tmp_path / "1")
    with closing(begun(tmp_path / "1")) as engine:
        again = engine.register_query(text, "q")
        again.subscribe(lambda a: told.append((a.time, len(a))))
        engine.insert(triple("x1", "is", "k"))
        assert engine.register_query(text, "other") is not again
        engine.stream(S).push(triple("x2", "at", "r"), 20)
        engine.advance_to(20)
        assert told[-1] == (20, 1)
        engine.commit()
        leave(tmp_path / "1", tmp_path / "2")
    with closing(begun(tmp_path / "2")) as engine:
        engine.register_query(text, "q").subscribe(lambda a: told.append((a.time, len(a))))
        engine.insert(triple("x9", "is", "k"))
        assert set(engine.queries) == {"q", "other"}
        other = engine.register_query(text, "other")
        assert other is engine.queries["other"]
        with pytest.raises(DuplicateNameError):
            engine.register_query(text, "other")
        engine.stream(S).push(triple("x1", "at", "r2"), 30)
        engine.advance_to(30)
    assert told[-1] == (30, 0)


class Flushing:
    """A sink with something to let out."""

    fails = False

    def __call__(self, answers: object) -> None:
        pass

    def flush(self) -> None:
        if self.fails:
            raise OSError("no room")
