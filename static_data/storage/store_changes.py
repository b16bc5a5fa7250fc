"""Changes of a store, and who is told of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from static_data.storage.row_edits import RowEdits, TableKey


@dataclass(frozen=True)
class StoreChange:
    """What listeners are told: the store's new version and the tables whose rows changed.

    `edits` has the rows that came and went, of those tables of which that is known.
    """

    version: int
    tables: frozenset[TableKey]
    edits: Mapping[TableKey, RowEdits] = field(default_factory=dict, compare=False)


class ChangeLock:
    """A store's lock, and those who want to hear of its changes: they may wait for the lock, so they are told outside.

    Its thread may take it again; they are told when it is given back altogether, also where what was done under it
    failed: a change that was noted can be seen.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._depth = 0
        self._listeners: list[Callable[[StoreChange], None]] = []
        self._untold: list[StoreChange] = []

    def __enter__(self) -> None:
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        untold: list[StoreChange] = []
        self._depth -= 1
        if self._depth == 0:
            untold, self._untold = self._untold, untold
        self._lock.release()
        self._tell(untold)

    def listen(self, listener: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Have `listener` called after each change; the result ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def note(self, change: StoreChange | None) -> None:
        """Have all told of a change (None: there was none) that is made under the lock."""
        if change is not None:
            self._untold.append(change)

    def _tell(self, changes: Sequence[StoreChange]) -> None:
        """Raises the first failure when all have heard."""
        failures = []
        for change in changes:
            for listener in list(self._listeners):
                try:
                    listener(change)
                except Exception as error:  # The others must hear of the change all the same.
                    failures.append(error)
        if failures:
            raise failures[0]
