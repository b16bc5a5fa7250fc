"""A subscriber with a thread of its own: however slow it is, evaluations and other subscribers do not wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

MOST_WAITING = 10_000
"""Answers that may wait for a subscriber; then evaluations wait: none may be lost, and memory is not endless."""

_LOOKS = 0.005  # seconds between two looks whether there is room


class ApartSubscriber:
    """Calls a subscriber in order on a thread of its own, which begins with the first answers and ends with `end`.

    `needs_us` tells whether the thread of this number waits for who calls with answers: there is room then, as both
    would wait for ever.
    """

    def __init__(
        self,
        name: str,
        subscriber: Callable[[Answers], object],
        needs_us: Callable[[int | None], bool],
        flush: Callable[[], object] | None = None,
    ) -> None:
        self.flush = flush
        """What has a sink let out what it was told, if it has such a thing."""
        self._name = name
        self._subscriber = subscriber
        self._needs_us = needs_us
        self._waiting: SimpleQueue[Answers | threading.Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = False

    def __call__(self, answers: Answers) -> None:
        if self._ended:
            return
        if self._thread is None:
            # A daemon: a subscriber that never returns must not keep the program from ending.
            self._thread = threading.Thread(target=self._call, name=self._name, daemon=True)
            self._thread.start()
        while self._waiting.qsize() >= MOST_WAITING and not self._ended:
            if self._needs_us(self._thread.ident):
                break
            time.sleep(_LOOKS)
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
