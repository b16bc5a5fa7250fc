"""Long silences: instants at which nothing has changed are answered as defined, cost little, and can be interrupted."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.errors import ClosedEngineError, EvaluationError
from tests.oracle.evaluation import evaluations, static_store
from tests.oracle.recorded import element
from tests.sparkext.listening import E, S, listen, query, triple
from tests.sparkext.replay import by_instant, stream_element

if TYPE_CHECKING:
    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

TraceFunction = Callable[[FrameType, str, Any], Any]
LOOP = {"_evaluate_in_order", "_evaluate_first", "_ask", "asked", "settle"}
DAY = 86_400_000
NOW = 1_769_853_600_000


def every(text: str, duration: str = "5", operator: str = "RSTREAM") -> str:
    return text.replace(f"{operator} :q AS", f"{operator} :q COMPUTED EVERY {duration} AS")


@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM", "DSTREAM"])
@pytest.mark.parametrize(
    ("pattern", "select"),
    [
        ("WINDOW :w { ?x :at ?y }", "(COUNT(*) AS ?n)"),
        ("{ WINDOW :w { ?x :at ?y } } UNION { ?x :is ?y }", "*"),
        ("?x :is ?y OPTIONAL { WINDOW :w { ?x :at ?z } }", "*"),
    ],
)
@pytest.mark.parametrize(
    "window",
    ["[RANGE 40]", "[RANGE 60 STEP 5]", "[ELEMENTS 2]", "[NOW-40 TO NOW-10]"],
)
def test_a_silence_is_answered_as_by_the_oracle(
    engine: Engine, operator: str, pattern: str, select: str, window: str
) -> None:
    text = every(query(pattern, window, select, operator), operator=operator)
    facts = triple("x1", "is", "here")
    engine.insert(facts)
    stream = engine.register_stream(S)
    heard = listen(engine, text)
    elements = [element(t, triple(f"x{t % 3}", "at", "room")) for t in (3, 4, 21, 300, 303, 420)]
    for e in elements:
        stream.push_elements([stream_element(e)])
    engine.finish()
    assert by_instant(heard) == evaluations(text, {S: elements}, static_store(facts))
    (registered,) = engine.queries.values()
    assert registered.progress.evaluations == len(heard)
    assert registered.progress.answers == sum(map(len, heard))
    assert registered.progress.repeated > 40


def test_what_was_known_ends_with_the_static_data(engine: Engine) -> None:
    """A change in the middle of a silence is seen at its time, and only then is there anything to compute."""
    stream = engine.register_stream(S)
    engine.insert(triple("x", "is", "old"))
    text = every(query("WINDOW :w { ?x :at ?y } ?x :is ?z", "[RANGE 2000]", "?z"))
    heard = listen(engine, text)
    engine.insert(triple("x", "is", "new"), at=500)
    engine.insert(triple("x", "are", "unread"), at=600)
    stream.push(triple("x", "at", "room"), time=3)
    stream.push(triple("x", "at", "room"), time=1000)
    assert {a.time: len(a) for a in heard} == {t: 1 + (t >= 500) for t in range(5, 1000, 5)}
    (registered,) = engine.queries.values()
    assert registered.progress.evaluations - registered.progress.repeated == 2


@pytest.mark.parametrize(
    ("select", "distinct"),
    [
        ("(NOW() AS ?v)", True),
        ("(RAND() AS ?v)", True),
        ("(UUID() AS ?v)", True),
        ("(BNODE() AS ?v)", True),
        ("(MAX(SECONDS(NOW())) AS ?v)", True),
        ("(STRLEN(STR(?x)) AS ?v)", False),
    ],
)
def test_what_depends_on_the_instant_is_evaluated_at_each(
    engine: Engine, select: str, distinct: bool
) -> None:
    stream = engine.register_stream(S)
    text = every(query("WINDOW :w { ?x :at ?y }", "[RANGE P1D]", select), "PT1S")
    heard = listen(engine, text)
    stream.push(triple("x", "at", "room"), time=NOW)
    stream.push(triple("x", "at", "room"), time=NOW + 10_500)
    values = [row["v"] for answers in heard for row in answers]
    assert len(values) == len(heard) == 11
    assert len(set(values)) == (11 if distinct else 1)
    assert next(iter(engine.queries.values())).progress.repeated == (0 if distinct else 10)


def test_a_filter_on_the_clock_is_evaluated_at_each_instant(engine: Engine) -> None:
    stream = engine.register_stream(S)
    pattern = "WINDOW :w { ?x :at ?y } FILTER(SECONDS(NOW()) >= 5)"
    heard = listen(engine, every(query(pattern, "[RANGE P1D]"), "PT1S"))
    stream.push(triple("x", "at", "room"), time=NOW)
    stream.push(triple("x", "at", "room"), time=NOW + 8_500)
    assert [len(answers) for answers in heard] == [0] * 5 + [1] * 4


def test_an_evaluation_that_fails_is_tried_again_in_the_silence(engine: Engine) -> None:
    calls: list[object] = []

    def moody(value: object) -> object:
        calls.append(value)
        if len(calls) <= 2:
            raise ValueError("not yet")
        return 1

    engine.register_function(f"{E}moody", moody)
    stream = engine.register_stream(S)
    pattern = "WINDOW :w { ?x :at ?y } BIND(:moody(?y) AS ?v)"
    for operator in ("RSTREAM", "ISTREAM"):
        calls.clear()
        text = every(query(pattern, "[RANGE 2000]", "?v", operator), operator=operator)
        heard = listen(engine, text)
        base = 0 if operator == "RSTREAM" else 10_000
        stream.push(triple("x", "at", "room"), time=base + 3)
        with pytest.raises(EvaluationError, match=r"not yet; .*not yet$"):
            stream.push(triple("x", "at", "room"), time=base + 103)
        assert [a.time - base for a in heard] == list(range(15, 101, 5))
        expected = [1] * 18 if operator == "RSTREAM" else [1] + [0] * 17
        assert [len(a) for a in heard] == expected
        engine.queries[f"{E}q"].stop()


def test_a_query_that_begins_in_a_full_window_sees_it_empty(engine: Engine) -> None:
    """What was there before the query is not told to it, and leaves nonetheless."""
    stream = engine.register_stream(S)
    text = every(query("WINDOW :w { ?x :at ?y }", "[RANGE 50]", "?x"))
    listen(engine, text, "first")
    stream.push(triple("x", "at", "room"), time=3)
    late = listen(engine, text, "second")
    stream.push(triple("y", "at", "room"), time=6)
    stream.push(triple("z", "at", "room"), time=200)
    for answers in late:
        held = {row["x"][len(E) + 1 : -1] for row in answers}
        assert held <= {name for name, time in (("x", 3), ("y", 6)) if time > answers.time - 50}
        assert ("y" in held) == (answers.time < 56)


def test_two_days_of_seconds_are_interrupted_and_go_on(engine: Engine) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"), "PT1S"))
    heard: list[int] = []

    def interrupt(answers: Answers) -> None:
        heard.append(answers.time)
        if len(heard) == 1000:
            raise KeyboardInterrupt  # what Ctrl-C comes to

    made.subscribe(interrupt)
    stream.push(triple("x", "at", "room"), time=NOW)
    with pytest.raises(KeyboardInterrupt):
        stream.push(triple("x", "at", "room"), time=NOW + 2 * DAY)
    assert len(heard) == 1000
    engine.advance_to(NOW + 2 * DAY)
    assert heard == list(range(NOW, NOW + 2 * DAY + 1, 1000))
    assert made.progress.evaluations - made.progress.repeated < 10


def test_ctrl_c_ends_a_silence(engine: Engine) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"), "1"))
    heard: list[int] = []

    def press(answers: Answers) -> None:
        heard.append(answers.time)
        if len(heard) == 1000:
            signal.raise_signal(signal.SIGINT)

    made.subscribe(press)
    stream.push(triple("x", "at", "room"), time=NOW)
    with pytest.raises(KeyboardInterrupt):
        stream.push(triple("x", "at", "room"), time=NOW + 365 * DAY)  # 3e10 instants
    assert heard == list(range(NOW, NOW + 1000))
    made.stop()
    stream.push(triple("x", "at", "room"), time=NOW + 365 * DAY)
    assert len(heard) == 1000


@pytest.mark.parametrize("place", range(1, 60, 3))
def test_an_interruption_between_instants_loses_none(engine: Engine, place: int) -> None:
    """Wherever in the loop it comes, each is evaluated once, in order."""
    stream = engine.register_stream(S)
    text = every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"))
    heard = listen(engine, text, "first"), listen(engine, text, "second")
    stream.push(triple("x", "at", "room"), time=0)
    lines = 0

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction | None:
        nonlocal lines
        if event == "line":
            lines += 1
            if lines == 40 + place:
                raise KeyboardInterrupt
        return trace if frame.f_code.co_name in LOOP else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(KeyboardInterrupt):
            stream.push(triple("x", "at", "room"), time=200)
    finally:
        sys.settrace(before)
    assert len(heard[0]) < 39
    engine.advance_to(199)
    for answers in heard:
        assert [a.time for a in answers] == list(range(0, 200, 5))


@pytest.mark.parametrize("others", [0, 1])
def test_a_query_is_stopped_in_the_midst_of_a_silence(engine: Engine, others: int) -> None:
    """By another thread; what other queries have to do for hours yet is not waited for."""
    stream = engine.register_stream(S)
    text = every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"), "1")
    stopped = engine.register_query(text, name="stopped")
    other = [engine.register_query(text, name="other") for _ in range(others)]
    begun = threading.Event()
    for made in (stopped, *other):
        made.subscribe(lambda answers: begun.set())
    stream.push(triple("x", "at", "room"), time=NOW)
    raised: list[BaseException] = []

    def push() -> None:
        try:
            stream.push(triple("x", "at", "room"), time=NOW + 365 * DAY)
        except BaseException as error:
            raised.append(error)

    pushing = threading.Thread(target=push)
    pushing.start()
    assert begun.wait(60)
    stopped.stop()
    assert list(engine.queries) == ["other"][:others]
    evaluated = stopped.progress.evaluations
    if other:
        waiting = threading.Event()
        begun.clear()
        other[0].subscribe(lambda answers: waiting.set())
        assert begun.wait(60) and waiting.wait(60)
        assert pushing.is_alive()
        engine.stop_query("other")
    pushing.join(60)
    assert not pushing.is_alive()
    assert raised == []
    assert stopped.progress.evaluations == evaluated


def test_closing_from_another_thread_ends_a_silence(engine: Engine) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"), "1"))
    begun, heard = threading.Event(), [0]

    def count(answers: Answers) -> None:
        heard[0] += 1
        begun.set()

    made.subscribe(count)
    stream.push(triple("x", "at", "room"), time=NOW)
    raised: list[BaseException] = []

    def push() -> None:
        try:
            stream.push(triple("x", "at", "room"), time=NOW + 365 * DAY)  # 3e10 instants
        except BaseException as error:
            raised.append(error)

    pushing = threading.Thread(target=push)
    pushing.start()
    assert begun.wait(60)
    engine.close()
    pushing.join(60)
    assert not pushing.is_alive()
    (error,) = raised
    assert isinstance(error, ClosedEngineError)
    assert 0 < heard[0] < 365 * DAY


def test_a_subscriber_may_close_the_engine(engine: Engine) -> None:
    stream = engine.register_stream(S)
    made = engine.register_query(every(query("WINDOW :w { ?x :at ?y }", "[RANGE 10]"), "PT1S"))
    heard: list[Answers] = []

    def close(answers: Answers) -> None:
        heard.append(answers)
        engine.close()

    made.subscribe(close)
    stream.push(triple("x", "at", "room"), time=NOW)
    stream.push(triple("x", "at", "room"), time=NOW + DAY)
    assert len(heard) == 1
    with pytest.raises(ClosedEngineError):
        stream.push(triple("x", "at", "room"), time=NOW + DAY)
