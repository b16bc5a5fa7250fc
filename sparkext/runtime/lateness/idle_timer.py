"""Looks, once in a while, whether a stream has fallen silent, so that the others need wait for it no longer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)

_LOOKS = 4  # in the time of an idle timeout
_LONGEST, _SHORTEST = 1.0, 0.01  # seconds


class IdleTimer:
    """A thread that calls `look` often enough for idle timeouts of `milliseconds`; it runs once it is `start`ed."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._pause = _LONGEST
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, milliseconds: int) -> None:
        """Look often enough for such an idle timeout, too."""
        wanted = milliseconds / 1e3 / _LOOKS
        self._pause = min(self._pause, max(_SHORTEST, wanted))
        if self._thread is None and not self._ended.is_set():
            self._thread = threading.Thread(
                target=self._run, name="cqels-idle-streams", daemon=True
            )
            self._thread.start()

    def stop(self, waits: bool = True) -> None:
        """Have the thread end; who holds a lock that `look` takes must not be one who `waits` for it."""
        self._ended.set()
        if waits and self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self._pause):
            try:
                self._look()
            except Exception:  # It has been logged with the query that failed.
                logger.debug("a look at idle streams failed", exc_info=True)
