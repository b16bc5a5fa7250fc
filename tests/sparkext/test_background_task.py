"""What is asked for many times is done once, and once more for those who asked too late."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sparkext.runtime.background_task import BackgroundTask


class Slow:
    """A task that waits in its executor's only thread for being let go."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Semaphore(0)
        self.done = 0

    def __call__(self) -> None:
        self.begun.release()
        assert self.go.acquire(timeout=60)
        self.done += 1


def test_who_asks_before_it_begins_shares_it_and_who_asks_later_has_it_done_again() -> None:
    slow = Slow()
    with ThreadPoolExecutor(1) as executor:
        held = threading.Event()
        executor.submit(held.wait, 60)
        task = BackgroundTask(executor, slow)
        assert not task.pending
        for _ in range(3):
            task.ask()
        assert task.pending
        held.set()
        assert slow.begun.acquire(timeout=60)
        assert task.pending
        for _ in range(3):
            task.ask()
        slow.go.release(2)
        executor.submit(lambda: None).result(timeout=60)
        assert (slow.done, task.pending) == (2, False)


def test_a_task_that_fails_can_be_asked_for_again() -> None:
    runs: list[int] = []

    def failing() -> None:
        runs.append(1)
        raise ValueError("no")

    with ThreadPoolExecutor(1) as executor:
        task = BackgroundTask(executor, failing)
        for number in range(1, 3):
            task.ask()
            executor.submit(lambda: None).result(timeout=60)
            assert (len(runs), task.pending) == (number, False)


def test_nothing_is_done_for_an_engine_that_has_ended() -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    task = BackgroundTask(executor, lambda: pytest.fail("it was done"))
    task.ask()
    assert not task.pending
