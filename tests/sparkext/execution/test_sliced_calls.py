"""Build sides and rows with expensive calls are made on the threads of the driver, with the answers of one thread."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.uncertainty.readings import PREFIXES, E, engine_with
from tests.sparkext.uncertainty.test_call_costs import readings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WINDOW = "FROM NAMED WINDOW :w ON :readings [RANGE PT10S STEP PT10S]"
LEVELS = "WINDOW :w { ?o :level ?x }"
CALLED = {
    "optional filter": f"{LEVELS} OPTIONAL {{ WINDOW :w {{ ?o :level ?y FILTER(:slow(?y) > 5) }} }}",
    "optional bind": f"{LEVELS} OPTIONAL {{ WINDOW :w {{ ?o :level ?z }} BIND(:slow(?z) AS ?y) }}",
    "optional join": f"{LEVELS} OPTIONAL {{ WINDOW :w {{ ?o :level ?z ; :value ?v }}"
    " BIND(:slow(?z) AS ?y) }",
    "minus": f"{LEVELS} MINUS {{ WINDOW :w {{ ?o :level ?y FILTER(:slow(?y) > 5) }} }}",
    "not exists": f"{LEVELS} FILTER NOT EXISTS {{ WINDOW :w {{ ?o :level ?y FILTER(:slow(?y) > 5) }} }}",
    "union": f"{LEVELS} {{ WINDOW :w {{ ?o :level ?y FILTER(:slow(?y) > 5) }} }}"
    " UNION { WINDOW :w { ?o :value ?v } }",
    "no join": f"{LEVELS} BIND(:slow(?x) AS ?y)",
}
STEPS = 6
# Joins take rows in vectors: a thread may have taken all of a few before the others are awake.
ROWS = dict.fromkeys(CALLED, 40) | {"optional join": 1500}


def answered(
    spark: SparkSession, shape: str, threads: int
) -> tuple[list[list[tuple[str | None, ...]]], list[set[int]], int]:
    """The answers of each evaluation, the threads that called in it, and how many calls there were."""
    calling: list[int] = []

    def slow(level: float) -> float:
        calling.append(threading.get_ident())
        time.sleep(0.1 / ROWS[shape])
        return level % 10

    settings = {"driverExecution__threads": str(threads), "functionCache__enabled": "false"}
    told, took_part, calls = [], [], 0
    with engine_with(spark, **settings) as engine:
        engine.register_function(E + "slow", slow, returns="double", cost_us=1000.0)
        stream = engine.register_stream(E + "readings")
        query = engine.register_query(
            f"{PREFIXES} SELECT ?o ?x ?y {WINDOW} WHERE {{ {CALLED[shape]} }}"
        )
        for step in range(STEPS):
            stream.push_elements(readings(step * 10, [f"N({n}, 1)" for n in range(ROWS[shape])]))
            engine.advance_to((step + 1) * 10_000)
            assert query.last_answers is not None
            told.append(sorted(query.last_answers.rows(), key=str))
            took_part.append(set(calling))
            calls += len(calling)
            calling.clear()
        assert query.progress.failures == 0
    return told, took_part, calls


@pytest.mark.parametrize("shape", CALLED)
def test_calls_are_shared_by_the_threads_of_an_evaluation(spark: SparkSession, shape: str) -> None:
    """The first evaluation says what there is to do, as in all that is sliced."""
    alone, by_one, calls = answered(spark, shape, 1)
    shared, by_two, as_many = answered(spark, shape, 2)
    assert all(rows for rows in alone)
    assert shared == alone
    assert as_many == calls >= ROWS[shape] * STEPS
    assert all(len(found) == 1 for found in by_one)
    assert any(len(found) == 2 for found in by_two), (
        "a waking thread may come too late, but not always"
    )
