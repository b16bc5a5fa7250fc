"""The lock of an engine, which a function that a query calls must not take."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sparkext.errors import FunctionError

_serving = threading.local()


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

    The evaluation that calls the function has the lock and waits for the function: both would wait for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def check_free(self) -> None:
        """Raises FunctionError in a thread that a query's call of a user's function runs in."""
        iri = getattr(_serving, "iri", None)
        if iri is not None:
            raise FunctionError(f"<{iri}> is called by a query, and must not use the engine")

    def __enter__(self) -> None:
        self.check_free()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
