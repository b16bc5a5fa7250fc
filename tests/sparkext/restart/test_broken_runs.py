"""A program that is ended and begun again answers as if it had run on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.listening import E, S, query, triple
from tests.sparkext.restart.broken_runs import Program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

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
