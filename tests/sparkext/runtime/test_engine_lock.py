"""Who has an engine's lock for long lets in those who come urgently, and nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable

from sparkext.runtime.parts.engine_lock import EngineLock


def in_thread(action: Callable[[], object]) -> threading.Thread:
    made = threading.Thread(target=action)
    made.start()
    return made


def test_giving_way_lets_in_who_comes_urgently() -> None:
    lock = EngineLock()
    seen: list[str] = []
    held = threading.Event()

    def urgent() -> None:
        held.wait(60)
        with lock.urgently(), lock, lock.urgently():
            seen.append("urgent")

    def patient() -> None:
        held.wait(60)
        with lock:
            seen.append("patient")

    threads = [in_thread(patient), in_thread(urgent), in_thread(urgent)]
    with lock, lock:
        held.set()
        while len(seen) < 2:
            assert "patient" not in seen
            lock.give_way()
        seen.append("holder")
        lock.give_way()
    for thread in threads:
        thread.join(60)
    assert seen == ["urgent", "urgent", "holder", "patient"]


def test_a_thread_knows_whether_it_has_the_lock() -> None:
    lock = EngineLock()
    seen: list[bool] = []

    def urgent() -> None:
        seen.append(lock.is_mine)
        with lock.urgently():
            with lock:
                seen.append(lock.is_mine)
            seen.append(lock.is_mine)
        seen.append(lock.is_mine)

    with lock:
        with lock:
            assert lock.is_mine
        thread = in_thread(urgent)
        while len(seen) < 4:
            assert lock.is_mine
            lock.give_way()
        assert lock.is_mine
    thread.join(60)
    assert seen == [False, True, True, False]
    assert not lock.is_mine


def test_a_lock_that_is_free_is_taken_by_anybody() -> None:
    lock = EngineLock()
    for take in (lambda: lock, lock.urgently):
        done = threading.Event()

        def once(take: Callable = take, done: threading.Event = done) -> None:  # type: ignore[type-arg]
            with take():
                done.set()

        with lock.urgently():
            with lock, lock.urgently():
                pass
            thread = in_thread(once)
            assert not done.is_set()
        thread.join(60)
        assert done.is_set()


def test_of_many_threads_one_is_in_at_a_time() -> None:
    lock = EngineLock()
    inside, most = [0], [0]

    def enter() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1

    def work(urgent: bool) -> None:
        for _ in range(300):
            with lock.urgently() if urgent else lock:
                enter()
                if not urgent:
                    lock.give_way()
                    enter()

    threads = [in_thread(lambda urgent=n % 2: work(urgent)) for n in range(6)]  # type: ignore[misc]
    for thread in threads:
        thread.join(60)
    assert most == [1]
