"""A sink that calls another one again where it fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.sources.backoff import Backoff

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers

logger = logging.getLogger(__name__)


class RetryingSink:
    """Calls a sink, or any function of answers, until it does not fail; `query.subscribe(RetryingSink(send))`.

    After so many `attempts` the last error is raised: it is logged and counted as that of any subscriber, and those
    answers are lost to the sink. With None it is tried for ever, until `close` is called: nothing is lost, and
    evaluations wait. Between two calls `backoff` is waited.
    """

    def __init__(
        self,
        sink: Callable[[Answers], object],
        attempts: int | None = 5,
        backoff: Backoff | None = None,
    ) -> None:
        check.callable("sink", sink)
        if attempts is not None and check.whole("attempts", attempts) < 1:
            raise ArgumentError("attempts", f"must be above 0, or None, not {attempts}")
        if backoff is not None and not isinstance(backoff, Backoff):
            raise check.wrong("backoff", "a sparkext.sources.Backoff, or None", backoff)
        self.failures = 0
        self._sink = sink
        self._attempts = attempts
        self._backoff = backoff or Backoff()
        self._closing = threading.Event()

    @property
    def flush(self) -> Callable[[], object] | None:
        """What has the sink let out what it was told, if it has such a thing."""
        return getattr(self._sink, "flush", None)

    def __call__(self, answers: Answers) -> None:
        """Have the sink take the answers of one evaluation."""
        tried = 0
        while True:
            try:
                self._sink(answers)
                return
            except Exception as error:
                tried += 1
                self.failures += 1
                if tried == self._attempts or self._closing.is_set():
                    raise
                pause = self._backoff.seconds(tried)
                logger.warning(
                    "answers of %s at %d ms, try %d: %s; again in %.1f s",
                    answers.query,
                    answers.time,
                    tried,
                    error,
                    pause,
                )
                self._closing.wait(pause)

    def close(self) -> None:
        """Try no more than once from now on, and close the sink, if it can be."""
        self._closing.set()
        close = getattr(self._sink, "close", None)
        if callable(close):
            close()
