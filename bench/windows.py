"""What the windows NOW and RANGE 30 s hold at every second of a stream, as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from bench.data.sightings import Sightings

RANGE_SECONDS = 30

# Which windows a query reads.
WINDOWS = {"q1": ("w30",), "q2": ("now", "w30"), "q3": ("now", "w30"), "q4": ("now", "w30")}


@dataclass(frozen=True)
class WindowContent:
    """The windows at one instant: distinct (person, room) pairs, sorted, int32.

    `now_*` are the pairs sighted at second `time`, `w30_*` those of (time - 30, time]; `w30_time`
    is the last second of that range at which the pair was sighted, so that whoever starts here can
    let each pair expire when it should.
    """

    time: int
    now_person: np.ndarray
    now_room: np.ndarray
    w30_person: np.ndarray
    w30_room: np.ndarray
    w30_time: np.ndarray

    def pairs(self, window: str) -> tuple[np.ndarray, np.ndarray]:
        """Persons and rooms of the window "now" or "w30"."""
        return getattr(self, f"{window}_person"), getattr(self, f"{window}_room")

    def save(self, path: Path) -> None:
        """Writes all fields to one uncompressed .npz file."""
        arrays = {f.name: np.asarray(getattr(self, f.name)) for f in fields(self)}
        np.savez(path, allow_pickle=False, **arrays)

    @staticmethod
    def load(path: str | Path) -> WindowContent:
        """Reads what `save` wrote."""
        with np.load(path) as stored:
            values = {f.name: stored[f.name] for f in fields(WindowContent)}
        return WindowContent(**{**values, "time": int(values["time"])})


def _last_seen(
    person: np.ndarray, room: np.ndarray, time: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct pairs with the last of their times; `time` must be sorted."""
    key = person.astype(np.int64) << 32 | room
    # np.unique finds first occurrences, so the newest must come first.
    distinct, first = np.unique(key[::-1], return_index=True)
    persons, rooms = (distinct >> 32).astype(np.int32), (distinct & 0xFFFFFFFF).astype(np.int32)
    return persons, rooms, time[::-1][first]


def window_contents(sightings: Sightings, instants: Iterable[int]) -> Iterator[WindowContent]:
    """The content of both windows at each of the given seconds."""
    for instant in instants:
        start, now, end = np.searchsorted(
            sightings.time, [instant - RANGE_SECONDS + 1, instant, instant + 1]
        )
        arrays = sightings.person, sightings.room, sightings.time
        now_person, now_room, _ = _last_seen(*(a[now:end] for a in arrays))
        yield WindowContent(
            instant, now_person, now_room, *_last_seen(*(a[start:end] for a in arrays))
        )
