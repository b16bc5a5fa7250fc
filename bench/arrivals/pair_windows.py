"""NOW and RANGE 30 s as peers keep them that have no windows: pairs of people and rooms, as numbers in NumPy's arrays.

Rows are encoded by a dictionary from text to numbers, a pair is the number person * rooms + room, and for every pair
that there can be stands when it was seen last.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import numpy as np
import pyarrow as pa

from bench.arrivals.rows import RANGE_MS

_NEVER = np.iinfo(np.int64).min


class PairWindows:
    """The distinct pairs of NOW (`now`, sorted) and of the last 30 seconds (`alive`).

    `gone` are those that left `alive` at the last second, `fresh` those that came then, to be added afterwards.
    """

    def __init__(self, people: Sequence[str], rooms: Sequence[str]) -> None:
        self._people = {text: number for number, text in enumerate(people)}
        self._rooms = {text: number for number, text in enumerate(rooms)}
        self.rooms = len(rooms)
        self.clear()

    def clear(self) -> None:
        """Empty the windows."""
        self._seen = np.full(len(self._people) * self.rooms, _NEVER, np.int64)
        self._oldest = _NEVER
        self.now = self.alive = self.fresh = self.gone = np.empty(0, np.int64)

    def arrive(self, rows: pa.Table, instant: int) -> None:
        """Take in the rows of a second, and move both windows to its end."""
        persons, places = rows["person"].to_pylist(), rows["room"].to_pylist()
        person = np.fromiter(map(self._people.__getitem__, persons), np.int64, len(persons))
        room = np.fromiter(map(self._rooms.__getitem__, places), np.int64, len(places))
        self.now = np.unique(person * self.rooms + room)
        self._oldest = instant - RANGE_MS
        # What leaves at the very second at which it is seen again is gone, and fresh.
        staying = self.is_alive(self.alive)
        self.gone = self.alive[~staying]
        self.fresh = self.now[~self.is_alive(self.now)]
        self._seen[self.now] = instant
        self.alive = np.concatenate([self.alive[staying], self.fresh])

    def moved(
        self, rows: pa.Table, instant: int, names: Container[str]
    ) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
        """Do as `arrive` does; what left and what came to w30, and to now where that is named."""
        before = self.now
        self.arrive(rows, instant)
        yield "w30", self.gone, self.fresh
        if "now" in names:
            gone = np.setdiff1d(before, self.now, assume_unique=True)
            yield "now", gone, np.setdiff1d(self.now, before, assume_unique=True)

    def is_alive(self, pairs: np.ndarray) -> np.ndarray:
        """Which of the pairs were seen within the last 30 seconds."""
        return np.asarray(self._seen[pairs] > self._oldest)

    def split(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of people and of rooms, 64 bits."""
        return np.divmod(pairs, self.rooms)

    def table(self, pairs: np.ndarray) -> pa.Table:
        """The columns `person` and `room` of numbers, 32 bits."""
        person, room = self.split(pairs)
        return pa.table({"person": person.astype(np.int32), "room": room.astype(np.int32)})
