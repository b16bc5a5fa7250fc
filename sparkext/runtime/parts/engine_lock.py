"""The lock of an engine, which a function that a query calls must not take."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sparkext.errors import FunctionError

_serving = threading.local()
_LOOKS = 0.0005  # seconds between two looks whether somebody has come in


@contextmanager
def serving(iri: str) -> Iterator[None]:
    """Have this thread be one that a query's call of a user's function runs in, in this block."""
    before = getattr(_serving, "iri", None)
    _serving.iri = iri
    try:
        yield
    finally:
        _serving.iri = before


class EngineLock:
    """A lock that its thread may take again; raises FunctionError where a user's function asks for it.

    The evaluation that calls the function has the lock and waits for the function: both would wait for ever. Who has
    the lock for long may `give_way` once in a while to those who come `urgently`; all others wait on for their turn.
    """

    def __init__(self) -> None:
        self._turn = threading.RLock()  # kept while giving way
        self._lock = threading.RLock()
        self._depth = 0  # how often its thread has taken the lock
        self._owner: int | None = None
        self._urgent_one: int | None = None
        self._counting = threading.Lock()
        self._waiting = 0
        self._asking: set[int] = set()

    def is_asked_for_by(self, thread: int | None) -> bool:
        """Whether a thread waits for the lock: who has it must not wait for that thread."""
        return thread in self._asking

    @contextmanager
    def _asked_for(self) -> Iterator[None]:
        self._asking.add(threading.get_ident())
        try:
            yield
        finally:
            self._asking.discard(threading.get_ident())

    @property
    def is_mine(self) -> bool:
        """Whether this thread has the lock, as a subscriber's has: it must not wait for one that may ask for it."""
        return self._owner == threading.get_ident()

    def check_free(self) -> None:
        """Raises FunctionError in a thread that a query's call of a user's function runs in."""
        iri = getattr(_serving, "iri", None)
        if iri is not None:
            raise FunctionError(f"<{iri}> is called by a query, and must not use the engine")

    def __enter__(self) -> None:
        self.check_free()
        if self._urgent_one == threading.get_ident():
            self._lock.acquire()  # without its turn, and it must not wait for it
        else:
            if not self._turn.acquire(blocking=False):
                with self._asked_for():
                    self._turn.acquire()
            try:
                self._lock.acquire()
            except BaseException:  # Ctrl-C
                self._turn.release()
                raise
        self._taken()

    def __exit__(self, *_: object) -> None:
        self._left()
        if self._urgent_one != threading.get_ident():
            self._turn.release()

    @contextmanager
    def urgently(self) -> Iterator[None]:
        """Hold the lock as soon as it is free or its holder gives way."""
        self.check_free()
        with self._counting:
            self._waiting += 1
        try:
            with self._asked_for():
                self._lock.acquire()
        finally:
            with self._counting:
                self._waiting -= 1
        before, self._urgent_one = self._urgent_one, threading.get_ident()
        self._taken()
        try:
            yield
        finally:
            self._urgent_one = before
            self._left()

    def _taken(self) -> None:
        self._depth += 1
        self._owner = threading.get_ident()

    def _left(self) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
        self._lock.release()

    def give_way(self) -> None:
        """Let those in who have come urgently; called by who has the lock, where what it guards is as it should be."""
        if not self._waiting:
            return
        depth, self._depth, self._owner = self._depth, 0, None
        for _ in range(depth):
            self._lock.release()
        try:
            while self._waiting:
                time.sleep(_LOOKS)
        finally:
            for _ in range(depth):
                self._lock.acquire()
            self._depth, self._owner = depth, threading.get_ident()
