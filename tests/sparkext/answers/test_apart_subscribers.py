"""Subscribers with threads of their own: evaluations wait where too many answers do, but not for who waits for them."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from sparkext import Engine
from sparkext.runtime.answering import apart
from tests.sparkext.listening import S, T, query, triple

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

TEXT = query("WINDOW :w { ?x :at ?y }", "[RANGE 5]")
COUNT, BOUND = 30, 3


@pytest.fixture(autouse=True)
def _few_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MOST_WAITING", BOUND)


def evaluated_at_once(engine: Engine) -> None:
    """Have many instants be evaluated by one call, which has the lock all the while."""
    with engine.lock:
        for instant in range(1, COUNT + 1):
            engine.push(S, triple("x", "at", "room"), instant)
        engine.advance_to(COUNT)


def ended(action: Callable[[], object]) -> bool:
    """Whether an action ends, on a thread that keeps no program from ending if it does not."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


def told_all(told: list[int]) -> bool:
    end = time.monotonic() + 60
    while len(told) < COUNT and time.monotonic() < end:
        time.sleep(0.01)
    return told == list(range(1, COUNT + 1))


def test_one_that_pushes_may_be_as_slow_as_it_likes(spark: SparkSession) -> None:
    engine = Engine(spark)  # closed only where nothing hangs
    engine.register_stream(S)
    other = engine.register_stream(T)
    told: list[int] = []

    def pushing(answers: Answers) -> None:
        other.push(triple("y", "at", "room"), COUNT + answers.time)
        told.append(answers.time)

    engine.register_query(TEXT).subscribe(pushing, apart=True)
    assert ended(lambda: evaluated_at_once(engine))
    assert told_all(told)
    assert other.accepted_count == COUNT
    engine.close()


def test_one_may_leave_while_answers_wait(spark: SparkSession) -> None:
    engine = Engine(spark)
    engine.register_stream(S)
    told: list[int] = []

    def leaving(answers: Answers) -> None:
        if answers.time == 1:
            time.sleep(0.2)  # the evaluations wait, most likely
            leave()
        told.append(answers.time)

    leave = engine.register_query(TEXT).subscribe(leaving, apart=True)
    assert ended(lambda: evaluated_at_once(engine))
    assert told[:1] == [1]
    engine.close()


def test_one_that_exits_is_told_of_the_rest(spark: SparkSession) -> None:
    engine = Engine(spark)
    engine.register_stream(S)
    told: list[int] = []

    def exiting(answers: Answers) -> None:
        told.append(answers.time)
        sys.exit()

    made = engine.register_query(TEXT)
    made.subscribe(exiting, apart=True)
    assert ended(lambda: evaluated_at_once(engine))
    assert all(ended(ready) for ready in made.barriers())
    assert told_all(told)
    assert made.progress.subscriber_failures == COUNT
    engine.close()


def test_others_have_evaluations_wait(spark: SparkSession) -> None:
    with closing(Engine(spark)) as engine:
        engine.register_stream(S)
        found: list[int] = []
        told: list[int] = []
        most = 0

        def slow(answers: Answers) -> None:
            nonlocal most
            while answers.time == 1 and len(found) <= BOUND:
                time.sleep(0.001)
            time.sleep(0.01)
            most = max(most, len(found) - len(told))
            told.append(answers.time)

        made = engine.register_query(TEXT)
        made.subscribe(lambda answers: found.append(answers.time))
        made.subscribe(slow, apart=True)
        evaluated_at_once(engine)
        assert told_all(told)
        assert most <= BOUND + 2  # that it is told of, and that which waits for room


@pytest.mark.parametrize("late", [False, True], ids=["answers", "late elements"])
def test_those_who_leave_at_the_same_time_are_all_gone(engine: Engine, late: bool) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(TEXT)
    subscribe: Any = stream.subscribe_late if late else made.subscribe
    told: list[int] = []
    leaving = [subscribe(lambda _, number=number: told.append(number)) for number in range(1000)]

    def leave(which: int) -> None:
        for one in leaving[which::4]:
            one()

    threads = [threading.Thread(target=leave, args=(which,)) for which in range(4)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    for instant in (1, 2, 1):
        stream.push(triple("x", "at", "room"), instant)
    assert (made.progress.evaluations, stream.late_count, told) == (1, 1, [])


def test_who_came_twice_for_late_elements_leaves_once(engine: Engine) -> None:
    stream = engine.register_stream(S)
    told: list[object] = []
    note = told.append
    leave, again = stream.subscribe_late(note), stream.subscribe_late(note)
    stream.push(triple("x", "at", "room"), 2)
    for end, count in ((leave, 1), (leave, 2), (again, 2)):
        end()
        stream.push(triple("x", "at", "room"), 1)
        assert len(told) == count
