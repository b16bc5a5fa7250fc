"""A night on the stream in short: millions of ever-new terms pass through, and memory stays where it was."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

import sparkext
from sparkext.recorded_streams import StreamElement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "http://example.org/s"
QUERY = """
REGISTER RSTREAM <http://example.org/new> COMPUTED EVERY PT20S AS
SELECT ?badge ?room
FROM NAMED WINDOW <http://example.org/w> ON <http://example.org/s> [RANGE PT1S]
WHERE { WINDOW <http://example.org/w> { ?badge <http://example.org/at> ?room } }
"""
STAR_QUERY = QUERY.replace(
    "?badge <http://example.org/at> ?room",
    "<< ?badge <http://example.org/at> ?room >> <http://example.org/by> ?room",
)
PER_SECOND = 10_000


def _sighting(number: int, quoted: bool) -> str:
    room = f"<http://example.org/room/{number % 97}>"
    seen = f"<http://example.org/badge/{number:09}> <http://example.org/at> {room}"
    return f"<< {seen} >> <http://example.org/by> {room} ." if quoted else f"{seen} ."


def _pass_through(spark: SparkSession, sightings: int, quoted: bool = False) -> None:
    """One element a second with `PER_SECOND` badges that nobody has seen before or will see again.

    With `quoted`, each sighting is a quoted triple, so there are twice as many terms.
    """
    engine = sparkext.Engine(spark)
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    try:
        stream = engine.register_stream(STREAM)
        query = engine.register_query(STAR_QUERY if quoted else QUERY)
        answers: list[int] = []
        query.subscribe(lambda answered: answers.append(len(answered)))
        terms, memory, heap = [], [], []
        seconds = sightings // PER_SECOND
        for second in range(seconds):
            first = second * PER_SECOND
            triples = tuple(_sighting(n, quoted) for n in range(first, first + PER_SECOND))
            stream.push_elements([StreamElement(second * 1000, None, triples)])
            if second in (seconds // 4, seconds // 2, seconds - 1):
                spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]
                assert stream.log.paneCount() <= 3  # and what may go is gone
                terms.append(engine.store.dictionary.streamSize())
                memory.append(engine.store.dictionary.memoryBytes())
                heap.append(runtime.totalMemory() - runtime.freeMemory())
        # Between two seconds, (t - 1 s, t] holds one element: its badges, the rooms and the query's terms.
        assert max(terms) <= (5 if quoted else 3) * PER_SECOND
        assert memory[2] <= memory[0] * 1.01
        # What Python's proxies held goes when a thread has seen to them.
        end = time.monotonic() + 60
        while heap[2] > heap[0] + 32_000_000 and time.monotonic() < end:
            time.sleep(0.2)
            spark._jvm.java.lang.System.gc()  # type: ignore[union-attr]
            heap[2] = runtime.totalMemory() - runtime.freeMemory()
        assert heap[2] <= heap[0] + 32_000_000
        assert stream.log.paneCount() <= 3
        assert len(answers) == (seconds - 1) // 20 + 1
        assert set(answers) == {PER_SECOND}
    finally:
        engine.close()


def test_terms_of_a_stream_leave_with_its_windows(spark: SparkSession) -> None:
    _pass_through(spark, 600_000)


def test_quoted_triples_of_a_stream_leave_with_its_windows(spark: SparkSession) -> None:
    _pass_through(spark, 250_000, quoted=True)


@pytest.mark.soak
def test_ten_million_sightings_of_new_terms_leave_memory_flat(spark: SparkSession) -> None:
    _pass_through(spark, 10_000_000)
