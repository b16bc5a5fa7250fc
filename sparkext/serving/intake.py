"""The way of pushes into the engine: one after the other in a bounded queue, and what becomes of too many."""

from __future__ import annotations

import logging
import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sparkext.serving.options import Overload
from sparkext.serving.problems import ProblemError

logger = logging.getLogger(__name__)

# Of what pushes took lately, the newest counts most.
_NEWEST = 0.2


@dataclass
class _Job:
    work: Callable[[], Any]
    elements: int
    size: int
    done: Future[Any] = field(default_factory=Future)


class Intake:
    """A thread that does what changes streams, in the order of the requests; see `Overload` for its policies.

    How far it is behind is told by processing time: what an element took lately, times the elements that wait.
    `on_overload` is told when it becomes overloaded and when this is over: where there is half as much to do as may be,
    else each push could end it and the next begin it.
    """

    def __init__(self, overload: Overload, on_overload: Callable[[bool], object]) -> None:
        self.overload = overload
        self.refused = 0
        self.sampled_out = 0
        self.overloads = 0
        self.overloaded = False
        self._on_overload = on_overload
        self._waiting: deque[_Job] = deque()
        self._elements = 0  # of the jobs that wait, and of the one under way
        self._bytes = 0
        self._element_seconds = 0.0
        self._chance = random.Random()
        self._began: float | None = None
        self._lock = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="cqels-intake", daemon=True)
        self._thread.start()

    # -- how it stands ----------------------------------------------------------------------------------

    @property
    def waiting(self) -> int:
        """How many pushes wait."""
        return len(self._waiting)

    @property
    def waiting_bytes(self) -> int:
        """The bytes of their bodies."""
        return self._bytes

    @property
    def alive(self) -> bool:
        """Whether pushes are still taken in."""
        return self._thread.is_alive() and not self._closed

    @property
    def behind(self) -> float:
        """The seconds that what waits will take, as far as what came before tells."""
        began = self._began
        running = 0.0 if began is None else time.monotonic() - began
        return max(self._elements * self._element_seconds, running)

    # -- what comes in ----------------------------------------------------------------------------------

    def kept(self, elements: int) -> list[bool] | None:
        """Which of so many elements are taken in, None for all; raises ProblemError where the push is refused."""
        overload = self.overload
        with self._lock:
            if self._closed:
                raise ProblemError(503, "the server is shutting down")
            full = len(self._waiting) >= overload.waiting or self._bytes >= overload.waiting_bytes
            late = overload.policy != "delay" and self.behind > overload.behind
            if full or late:
                self._note(True)
            else:
                self._note_calm()
            if full or (late and overload.policy == "fail"):
                self.refused += 1
                seconds = max(1, math.ceil(self.behind - overload.behind))
                said = f"{len(self._waiting)} pushes wait, {self.behind:.1f} s of work"
                status = 429 if overload.policy != "fail" else 503
                raise ProblemError(
                    status, said, {"Retry-After": str(min(seconds, 3600))}, overload=overload.policy
                )
            if not late:
                return None
            kept = [self._chance.random() < overload.fraction for _ in range(elements)]
            self.sampled_out += kept.count(False)
            return kept

    def submit(self, work: Callable[[], Any], elements: int = 0, size: int = 0) -> Future[Any]:
        """Have this done in its turn; the future has what comes of it."""
        job = _Job(work, elements, size)
        with self._lock:
            if self._closed:
                raise ProblemError(503, "the server is shutting down")
            self._waiting.append(job)
            self._elements += elements
            self._bytes += size
            self._lock.notify()
        return job.done

    def _note_calm(self) -> None:
        """Note that it is overloaded no more, where it is far from that."""
        overload = self.overload
        calm = (
            len(self._waiting) <= overload.waiting // 2
            and self._bytes <= overload.waiting_bytes // 2
            and (overload.policy == "delay" or self.behind <= overload.behind / 2)
        )
        if calm:
            self._note(False)

    def _note(self, overloaded: bool) -> None:
        if overloaded != self.overloaded:
            self.overloaded = overloaded
            self.overloads += overloaded
            log = logger.warning if overloaded else logger.info
            state = "overloaded" if overloaded else "no longer overloaded"
            log("%s: %d pushes wait, %.1f s of work", state, len(self._waiting), self.behind)
            self._on_overload(overloaded)

    # -- what is done -----------------------------------------------------------------------------------

    def _run(self) -> None:
        while (job := self._next()) is not None:
            began = self._began = time.monotonic()
            try:
                outcome = job.work()
            except BaseException as error:
                job.done.set_exception(error)
            else:
                job.done.set_result(outcome)
            took = time.monotonic() - began
            with self._lock:
                self._began = None
                self._elements -= job.elements
                if job.elements:
                    news = took / job.elements
                    first = not self._element_seconds
                    weight = 1.0 if first else _NEWEST
                    self._element_seconds += weight * (news - self._element_seconds)
                self._note_calm()
                self._lock.notify_all()

    def _next(self) -> _Job | None:
        with self._lock:
            while not self._waiting and not self._closed:
                self._lock.wait()
            if not self._waiting:
                return None
            job = self._waiting.popleft()
            self._bytes -= job.size
            return job

    def close(self, seconds: float) -> bool:
        """Take nothing in any more and finish what waits; whether that was done within so many seconds."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._thread.join(seconds)
        with self._lock:
            while self._waiting:
                problem = ProblemError(503, "the server was shut down before its turn came")
                self._waiting.popleft().done.set_exception(problem)
        return not self._thread.is_alive()
