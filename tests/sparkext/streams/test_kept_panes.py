"""What a stream keeps follows what windows may still show, and that is enough for every answer."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import Streams, evaluations, static_store
from tests.oracle.recorded import Element, element
from tests.sparkext.listening import S, T, listen, query, settings, triple
from tests.sparkext.queries.test_window_kinds import WINDOWS, check_at_once, random_elements
from tests.sparkext.replay import by_instant, check, stream_element

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.streams.stream import Stream

PATTERN = "WINDOW :w { ?x :at ?y }"


def sightings(*times: int) -> list[Element]:
    """Elements of terms that no other has."""
    return [element(t, triple(f"x{t}", "at", f"r{t}")) for t in times]


def push(stream: Stream, elements: list[Element]) -> int:
    """Push them one by one; how many panes the stream has kept at most."""
    most = 0
    for e in elements:
        assert stream.push_elements([stream_element(e)]).accepted == 1
        most = max(most, stream.log.paneCount())
    return most


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ("[INTERVAL 20 29]", 10),
        ("[INTERVAL 20 29] . [LANDMARK 25]", 5),
        ("[RANGE 6 STEP 2] . [INTERVAL 20 29]", 10),
        ("[INTERVAL 5000 6000]", 0),
        ("[LANDMARK 5000]", 0),
        ("[RANGE 9 STARTING AT 5000]", 0),
        ("[RANGE 9 STEP 3 STARTING AT 5000]", 0),
        ("[RANGE 9 STEP 3 DELAY 4 STARTING AT 5000]", 3),  # the delay looks back
        ("[RANGE 3 STEP 5000]", 3),
    ],
)
def test_what_no_window_will_show_is_not_kept(engine: Engine, window: str, shown: int) -> None:
    """Of what has come for now only the newest is: others of its time may come."""
    stream = engine.register_stream(S)
    made = engine.register_query(query(PATTERN, window))
    terms = engine.store.dictionary.streamSize()
    assert push(stream, sightings(*range(150))) <= shown + 1
    assert stream.log.quadCount() <= shown + 1
    assert engine.store.dictionary.streamSize() <= terms + 2 * (shown + 1)
    made.stop()
    push(stream, sightings(150))
    assert stream.log.paneCount() == 1


def test_each_window_of_a_stream_keeps_its_own(engine: Engine) -> None:
    stream = engine.register_stream(S)
    both = query(f"{PATTERN} WINDOW :v {{ ?x :at ?z }}", "[INTERVAL 20 29] and [RANGE 5]")
    two = listen(engine, both.replace("ON :t", "ON :s"), "two")
    other = listen(engine, query(PATTERN, "[INTERVAL 40 44]"), "other")
    elements = sightings(*range(100))
    assert push(stream, elements) <= 10 + 5 + 5 + 1
    assert stream.log.paneCount() == 10 + 5 + 5 + 1
    engine.stop_query("two")
    last = sightings(100)
    push(stream, last)
    assert stream.log.paneCount() == 5 + 1
    engine.finish()
    # What nobody shows any more is gone with the end.
    assert stream.log.paneCount() == 5
    expected = evaluations(both.replace("ON :t", "ON :s"), {S: elements}, static_store())
    assert by_instant(two) == {t: expected[t] for t in range(99)}
    assert by_instant(other)[44].total() == 5


@pytest.mark.parametrize("seed", [1, 2])
def test_a_window_alone_on_its_stream_shows_what_its_definition_says(
    engine: Engine, seed: int
) -> None:
    """No other window keeps anything for it."""
    late = ["[INTERVAL 20 24]", "[RANGE 5 STARTING AT 17]", "[RANGE 4 STEP 3 STARTING AT 19]"]
    gaps = ["[RANGE 2 STEP 9]", "[RANGE 3 STEP 8 DELAY 5]"]
    periods = ["[INTERVAL 4 9] REPORT ON EVERY 3", "[RANGE 2 STEP 9] REPORT ON EVERY 2"]
    for place, window in enumerate([*WINDOWS, *late, *gaps, *periods]):
        elements = random_elements(Random(100 * seed + place), 20)
        check_at_once(engine, f"{S}/{place}", [window], elements, batch=seed)


@pytest.mark.parametrize("window", ["[INTERVAL 20 29]", "[RANGE 9 STEP 3 STARTING AT 20]"])
def test_what_comes_long_before_it_is_due_is_kept_until_then(
    spark: SparkSession, window: str
) -> None:
    """While lateness is allowed for, elements of the window come before older ones that it never shows."""
    from sparkext import Engine

    with settings(spark, allowedLateness="35"):
        made = Engine(spark)
    elements = sightings(22, 3, 26, 5, 1, 29, 20, 36, 19, 21, 30, 50, 70, 90, 130, 160)
    with closing(made) as engine:
        stream = engine.register_stream(S)
        heard = listen(engine, query(PATTERN, window))
        push(stream, elements)
        engine.finish()
    expected = evaluations(query(PATTERN, window), {S: elements}, static_store())
    assert any(expected.values())
    assert by_instant(heard) == expected


@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM"])
def test_what_waits_for_another_stream_is_kept(engine: Engine, operator: str) -> None:
    """The interval is long over on its own stream when the other one begins."""
    first, second = engine.register_stream(S), engine.register_stream(T)
    text = query(
        f"{PATTERN} WINDOW :v {{ ?x :sees ?z }}",
        "[INTERVAL 20 29] and [RANGE 90]",
        operator=operator,
    )
    streams: Streams = {
        S: sightings(*range(0, 60, 2)),
        T: [element(t, triple(f"x{t}", "sees", "y")) for t in range(1, 60)],
    }
    heard = listen(engine, text)
    assert push(first, streams[S]) <= 5 + 1
    push(second, streams[T])
    engine.finish()
    expected = evaluations(text, streams, static_store())
    assert any(expected.values())
    assert by_instant(heard) == expected


def test_a_query_registered_later_begins_with_what_others_have_kept(engine: Engine) -> None:
    stream = engine.register_stream(S)
    listen(engine, query(PATTERN, "[INTERVAL 20 29]"), "first")
    push(stream, sightings(*range(60)))
    since = listen(engine, query(PATTERN, "[LANDMARK 25]", "?x"), "since")
    again = listen(engine, query(PATTERN, "[INTERVAL 22 70]", "?x"), "again")
    push(stream, sightings(60))
    engine.finish()
    # The newest was kept because others of its time could have come.
    times = [*range(25, 30), 59, 60]
    assert sorted(row["x"] for row in since[-1]) == [f"<http://e/x{t}>" for t in times]
    assert [a.time for a in again] == [70]
    times = [*range(22, 30), 59, 60]
    assert sorted(row["x"] for row in again[-1]) == [f"<http://e/x{t}>" for t in times]


@pytest.mark.parametrize(
    "window", ["[RANGE 6 STARTING AT 20]", "[RANGE 5 STEP 9]", "[LANDMARK 20]"]
)
def test_delta_evaluation_finds_what_it_found(engine: Engine, window: str) -> None:
    text = query(f"{PATTERN} WINDOW :w {{ ?z :at ?y }}", window, operator="ISTREAM")
    elements = [element(t, triple(f"x{t % 5}", "at", f"r{t % 3}")) for t in range(0, 60, 3)]
    (answered,) = check(engine, [text], {S: elements}, static_store())
    assert any(answered.values())
