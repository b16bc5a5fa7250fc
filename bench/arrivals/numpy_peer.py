"""Hand-written look-ups: a dictionary from text to numbers, arrays, and joins that are a few calls of NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from bench.arrivals.pair_windows import PairWindows
from bench.arrivals.rows import integer_texts, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.world import World


class Lists(NamedTuple):
    """A list for each number n: `other[start[n]:start[n + 1]]`, and how often each entry counts."""

    start: np.ndarray
    other: np.ndarray
    times: np.ndarray

    @staticmethod
    def of(keys: int, key: np.ndarray, other: np.ndarray) -> Lists:
        """The lists of pairs, in which a pair that occurs again counts again."""
        pairs, times = np.unique(key.astype(np.int64) << 32 | other, return_counts=True)
        start = np.searchsorted(pairs >> 32, np.arange(keys + 1))
        return Lists(start, (pairs & 0xFFFFFFFF).astype(np.int32), times.astype(np.int32))

    def look_up(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All entries of the lists of some keys: for each the index of its key among `keys`, and its own place."""
        begins = self.start[keys]
        counts = self.start[keys + 1] - begins
        row = np.repeat(np.arange(len(keys)), counts)
        place = np.arange(len(row)) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        return row, place


class Peer:
    """Looks up whom somebody wrote with or cites, and whether such a person is alive in the same room."""

    version = np.__version__

    def __init__(self) -> None:
        self._made: dict[str, Lists] = {}

    def load(self, world: World, folder: Path) -> None:
        """Makes the dictionaries and the columns of texts; what a query looks up is made when it begins."""
        self._world = world
        tables = static_tables(world)
        people, rooms = (tables[name].combine_chunks() for name in ("people", "rooms"))
        self._iris, self._names, self._room_names = people["iri"], people["name"], rooms["name"]
        self._windows = PairWindows(people["iri"].to_pylist(), rooms["iri"].to_pylist())

    def begin(self, query: str) -> None:
        """Makes what the query looks up, and empties the windows."""
        self._query = query
        if query not in self._made and query != "q1":
            self._made[query] = lists_for(self._world, query)
        self._windows.clear()

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Encodes by dictionary, and looks up."""
        windows = self._windows
        windows.arrive(rows, instant)
        if self._query == "q1":
            person, room = windows.split(windows.alive)
            names = self._names.take(pa.array(person)), self._room_names.take(pa.array(room))
            return Answered(pa.table(names, names=["name", "locName"]))
        lists = self._made[self._query]
        person, room = windows.split(windows.now)
        row, place = lists.look_up(person)
        other = lists.other[place]
        met = windows.is_alive(other * np.int64(windows.rooms) + room[row])
        row, other, times = row[met], other[met], lists.times[place[met]]
        if self._query == "q4":
            return Answered(self._most_cited(person[row], other, times))
        row, other = np.repeat(row, times), np.repeat(other, times)
        columns = [
            self._names.take(pa.array(person[row])),
            self._names.take(pa.array(other)),
            self._room_names.take(pa.array(room[row])),
        ]
        return Answered(pa.table(columns, names=["author1Name", "author2Name", "locName"]))

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Moves the windows."""
        self._windows.arrive(rows, instant)

    def _most_cited(self, person: np.ndarray, other: np.ndarray, times: np.ndarray) -> pa.Table:
        """Rows of each person, who stand together, with the most citations."""
        if len(person):
            first = np.flatnonzero(np.diff(person, prepend=-1))
            most = np.repeat(
                np.maximum.reduceat(times, first), np.diff(np.append(first, len(person)))
            )
            best = times == most
            person, other, times = person[best], other[best], times[best]
        columns = [self._iris.take(pa.array(person)), self._iris.take(pa.array(other))]
        return pa.table([*columns, integer_texts(times)], names=["person1", "person2", "numPub"])


def lists_for(world: World, query: str) -> Lists:
    """For each person, who wrote with them (q2), cites them or is cited by them (q3), is cited by them (q4)."""
    # Creators are sorted by paper.
    by_paper = np.searchsorted(world.creator_paper, np.arange(world.papers + 1))
    authors = Lists(by_paper, world.creator_person, np.ones(0, np.int32))
    if query == "q2":
        row, place = authors.look_up(world.creator_paper)
        one, two = world.creator_person[row], world.creator_person[place]
    else:
        citation, place = authors.look_up(world.reference_paper)
        one, cited = world.creator_person[place], world.reference_cited[citation]
        row, place = authors.look_up(cited)
        one, two = one[row], world.creator_person[place]
        if query == "q3":
            one, two = np.concatenate([one, two]), np.concatenate([two, one])
    different = one != two
    return Lists.of(world.people, one[different], two[different])


if __name__ == "__main__":
    serve(Peer)
