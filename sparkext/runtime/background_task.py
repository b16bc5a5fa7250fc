"""Something that is done in the background, again and again: asked for many times while it waits, it is done once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor


class BackgroundTask:
    """A `task` for an executor of one thread, done once for all that asked before it began.

    Who asks while it is being done has it done once more: what it was asked for may have come too late for it.
    """

    def __init__(self, executor: Executor, task: Callable[[], None]) -> None:
        self._executor = executor
        self._task = task
        self._waits = False
        self._runs = False
        self._lock = threading.Lock()

    def ask(self) -> None:
        """Have the task done soon; where the executor takes nothing more, as its engine ends, it is not done."""
        with self._lock:
            if self._waits:
                return
            self._waits = True
        try:
            self._executor.submit(self._do)
        except RuntimeError:
            with self._lock:
                self._waits = False

    def _do(self) -> None:
        with self._lock:
            self._waits, self._runs = False, True
        try:
            self._task()
        finally:
            with self._lock:
                self._runs = False

    @property
    def pending(self) -> bool:
        """Whether the task waits for being done, or is being done."""
        with self._lock:
            return self._waits or self._runs
