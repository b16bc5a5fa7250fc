"""A sink that is called again: until it succeeds, until its attempts are used up, or until it is closed."""

from __future__ import annotations

import threading

import pytest

from sparkext.errors import ArgumentError
from sparkext.runtime.answering.answers import Answers
from sparkext.sinks import RetryingSink
from sparkext.sources.backoff import Backoff
from tests.sparkext.sinks.answering import select

QUICK = Backoff(0.001, 0.002)


class Failing:
    """Fails the first so many times."""

    def __init__(self, times: int) -> None:
        self.left = times
        self.taken: list[int] = []
        self.closed = False

    def __call__(self, answers: Answers) -> None:
        if self.left:
            self.left -= 1
            raise OSError("nobody is there")
        self.taken.append(answers.time)

    def close(self) -> None:
        self.closed = True


def test_a_sink_that_recovers_gets_all_in_order() -> None:
    failing = Failing(3)
    sink = RetryingSink(failing, attempts=4, backoff=QUICK)
    sink(select(1000))
    sink(select(2000))
    assert failing.taken == [1000, 2000]
    assert sink.failures == 3


def test_the_last_error_is_raised() -> None:
    failing = Failing(3)
    sink = RetryingSink(failing, attempts=2, backoff=QUICK)
    with pytest.raises(OSError, match="nobody is there"):
        sink(select(1000))
    sink(select(2000))  # one more failure
    assert failing.taken == [2000]


def test_closing_ends_a_sink_that_never_gives_up() -> None:
    failing = Failing(1_000_000_000)
    sink = RetryingSink(failing, attempts=None, backoff=Backoff(0.001, 60))
    raised: list[Exception] = []

    def call() -> None:
        try:
            sink(select(1000))
        except OSError as error:
            raised.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while sink.failures < 3:
        pass
    sink.close()
    thread.join(60)
    assert not thread.is_alive()
    assert len(raised) == 1
    assert failing.closed


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sink": None}, "sink: must be a function"),
        ({"attempts": 0}, "attempts: must be above 0"),
        ({"backoff": 1}, "backoff: must be a sparkext.sources.Backoff"),
    ],
)
def test_odd_arguments_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        RetryingSink(**{"sink": print, **given})  # type: ignore[arg-type]
