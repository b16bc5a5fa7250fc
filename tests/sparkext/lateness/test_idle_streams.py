"""Silent streams hold nobody up, although nothing is pushed any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkext.runtime import evaluation_loop
from tests.sparkext.listening import S, T, listen, query, triple

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

    from sparkext import Engine

BOTH = query(
    "WINDOW :w { ?x :at ?y } OPTIONAL { WINDOW :v { ?x :near ?y } }", "[RANGE 5] and [RANGE 5]"
)


def timers() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "cqels-idle-streams"]


def awaited(condition: Callable[[], bool]) -> bool:
    """Whether it comes to be; how long that takes says nothing."""
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_instants_come_without_a_push_when_a_stream_falls_silent(engine: Engine) -> None:
    stream = engine.register_stream(S)
    engine.register_stream(T, idle_timeout=30)
    heard = listen(engine, BOTH)
    stream.push(triple("a", "at", "room"), time=10)
    stream.push(triple("b", "at", "room"), time=20)
    assert awaited(lambda: len(heard) == 1)
    assert heard[0].time == 10
    silent = engine.stream(T)
    assert silent.push(triple("a", "near", "room"), time=10).late == 1
    assert silent.push(triple("b", "near", "room"), time=20).accepted == 1
    stream.push(triple("c", "at", "room"), time=30)
    assert awaited(lambda: len(heard) == 2)  # T has come to 19 only, and falls silent again
    assert heard[1].time == 20


def test_a_silent_stream_that_corrects_comes_back(engine: Engine) -> None:
    stream = engine.register_stream(S, allowed_lateness=100, late="correct")
    silent = engine.register_stream(T, idle_timeout=30, allowed_lateness=100, late="correct")
    heard = listen(engine, BOTH)
    stream.push(triple("a", "at", "room"), time=10)
    stream.push(triple("b", "at", "room"), time=20)
    assert awaited(lambda: len(heard) == 1)
    assert silent.push(triple("a", "near", "room"), time=10).accepted == 1
    assert awaited(lambda: len(heard) >= 1)
    silent.push(triple("b", "near", "room"), time=8)
    assert [(a.time, a.revision) for a in heard] == [(10, 0), (8, 0)]
    # 10 waits for T, and is found to be as it was when that falls silent.
    query_ = engine.queries["http://e/q"]
    assert awaited(lambda: query_.progress.evaluations >= 3)
    assert len(heard) == 2


def test_a_late_stream_falls_silent_with_the_stream_that_it_is_of(engine: Engine) -> None:
    stream = engine.register_stream(S)
    silent = engine.register_stream("http://e/silent", idle_timeout=30, late_stream=T)
    heard = listen(engine, BOTH)
    silent.push(triple("a", "at", "room"), time=10)
    assert silent.push(triple("late", "near", "room"), time=5).late == 1
    for moment in (20, 30):
        stream.push(triple("b", "at", "room"), time=moment)
    assert awaited(lambda: bool(heard) and heard[-1].time == 20)
    assert engine.stream(T).accepted_count == 1


def test_what_brings_no_element_is_no_sign_of_life(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0
    monkeypatch.setattr(evaluation_loop, "milliseconds_now", lambda: now)
    silent = engine.register_stream(T, idle_timeout="1h")
    for at, is_late in ((10, False), (5, True)):
        now += 3_600_000
        silent.push_elements([])
        assert silent.push("this is no triple", time=10).malformed == 1
        assert silent.watermark.idle
        assert silent.push(triple("a", "near", "room"), time=at).late == is_late
        assert not silent.watermark.idle


def test_there_is_no_thread_without_an_idle_timeout_and_it_ends_with_the_engine(
    spark: SparkSession,
) -> None:
    from sparkext import Engine

    engine = Engine(spark)
    before = len(timers())
    engine.register_stream(S)
    assert len(timers()) == before
    engine.register_stream(T, idle_timeout="20ms")
    assert len(timers()) == before + 1
    engine.close()
    assert len(timers()) == before
