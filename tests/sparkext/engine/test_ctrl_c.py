"""Ctrl-C waits for the step under way: no answer is lost, and nothing is evaluated twice."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from sparkext.runtime.parts.held_interrupts import HeldInterrupts
from tests.sparkext.listening import E, S, listen, query, triple

if TYPE_CHECKING:
    from sparkext import Engine


class PressedError(Exception):
    pass


@pytest.fixture
def handler() -> Iterator[None]:
    """The program's own handler of Ctrl-C."""

    def press(*_: object) -> None:
        raise PressedError

    before = signal.signal(signal.SIGINT, press)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("handler")
def test_it_waits_for_the_end_of_the_outermost_block() -> None:
    whole, done = HeldInterrupts(), []
    with pytest.raises(PressedError), whole:
        with whole:
            press()
            done.append("inner")
        done.append("outer")
    assert done == ["inner", "outer"]
    with pytest.raises(PressedError):
        press()


@pytest.mark.usefixtures("handler")
def test_it_is_let_in_where_the_block_says() -> None:
    whole = HeldInterrupts()
    with whole:
        whole.let_in()
        press()
        with pytest.raises(PressedError):
            whole.let_in()
        whole.let_in()


@pytest.mark.usefixtures("handler")
def test_the_second_one_does_not_wait() -> None:
    whole = HeldInterrupts()
    with whole:
        press()
        with pytest.raises(PressedError):
            press()


@pytest.mark.usefixtures("handler")
def test_a_block_in_the_block_of_another_passes_it_on() -> None:
    first, second = HeldInterrupts(), HeldInterrupts()
    with pytest.raises(PressedError), first:
        with second:
            press()
        first_ended = True
    assert first_ended


def test_what_the_program_sets_and_ignores_stays() -> None:
    whole = HeldInterrupts()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with whole:
            press()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        signal.signal(signal.SIGINT, before)
        with whole:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("handler")
def test_other_threads_are_left_alone() -> None:
    whole, seen = HeldInterrupts(), []

    def enter() -> None:
        with whole:
            seen.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]


@pytest.mark.parametrize("operator", ["RSTREAM", "ISTREAM", "DSTREAM"])
def test_an_evaluation_under_way_in_java_is_whole(engine: Engine, operator: str) -> None:
    """The function is called from within Java, which would go on with the evaluation beside the next one."""
    calls = itertools.count()  # several threads may call at a time

    def slow(value: object) -> object:
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)  # for the main thread, which waits for Java, to be interrupted
        return value

    engine.register_function(f"{E}slow", slow)
    stream = engine.register_stream(S)
    pattern = "WINDOW :w { ?x :at ?y }"
    text = query(f"{pattern} BIND(:slow(?y) AS ?v)", "[RANGE 10 STEP 5]", "?x ?v", operator)
    heard = listen(engine, text, "disturbed")
    undisturbed = query(f"{pattern} BIND(?y AS ?v)", "[RANGE 10 STEP 5]", "?x ?v", operator)
    expected = listen(engine, undisturbed, "undisturbed")
    interrupted = 0
    for moment in range(0, 100, 3):
        try:
            stream.push(triple(f"x{moment}", "at", f"room{moment}"), time=moment)
        except KeyboardInterrupt:
            interrupted += 1
    engine.finish()
    assert interrupted == 1
    assert [(a.time, sorted(map(str, a))) for a in heard] == [
        (a.time, sorted(map(str, a))) for a in expected
    ]
    assert sum(map(len, heard)) > 30
