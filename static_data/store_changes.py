"""Changes of a store, and who is told of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from static_data.row_edits import RowEdits, TableKey


@dataclass(frozen=True)
class StoreChange:
    """What listeners are told: the store's new version and the tables whose rows changed.

    `edits` has the rows that came and went, of those tables of which that is known.
    """

    version: int
    tables: frozenset[TableKey]
    edits: Mapping[TableKey, RowEdits] = field(default_factory=dict, compare=False)


class ChangeListeners:
    """Those who want to hear of changes; they are told outside the store's lock, which they may wait for."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[StoreChange], None]] = []

    def add(self, listener: Callable[[StoreChange], None]) -> Callable[[], None]:
        """Have `listener` called after each change; the result ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, change: StoreChange | None) -> None:
        """Tell all of a change (None: there was none); raises the first failure when all have heard."""
        if change is None:
            return
        failures = []
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception as error:  # The others must hear of the change all the same.
                failures.append(error)
        if failures:
            raise failures[0]
