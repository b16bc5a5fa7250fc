"""A subscriber with a thread of its own: however slow it is, evaluations and other subscribers do not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Queue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

MOST_WAITING = 10_000
"""Answers that may wait for a subscriber; then evaluations wait: none may be lost, and memory is not endless."""


class ApartSubscriber:
    """Calls a subscriber in order on a thread of its own, which begins with the first answers and ends with `end`."""

    def __init__(
        self,
        name: str,
        subscriber: Callable[[Answers], object],
        flush: Callable[[], object] | None = None,
    ) -> None:
        self.flush = flush
        """What has a sink let out what it was told, if it has such a thing."""
        self._name = name
        self._subscriber = subscriber
        self._waiting: Queue[Answers | threading.Event | None] = Queue(MOST_WAITING)
        self._thread: threading.Thread | None = None
        self._ended = False

    def __call__(self, answers: Answers) -> None:
        if self._ended:
            return
        if self._thread is None:
            # A daemon: a subscriber that never returns must not keep the program from ending.
            self._thread = threading.Thread(target=self._call, name=self._name, daemon=True)
            self._thread.start()
        self._waiting.put(answers)

    def barrier(self) -> Callable[[], object]:
        """What returns when the subscriber has been told all so far."""
        told = threading.Event()
        if self._thread is None or self._ended:
            return lambda: None
        self._waiting.put(told)
        return told.wait

    def end(self) -> None:
        """Let the thread end once the subscriber has been told all that waits."""
        if not self._ended:
            self._ended = True
            if self._thread is not None:
                self._waiting.put(None)

    def _call(self) -> None:
        while (answers := self._waiting.get()) is not None:
            if isinstance(answers, threading.Event):
                answers.set()
            else:
                self._subscriber(answers)
