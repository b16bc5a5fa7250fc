"""Bytewax: a dataflow keyed by room whose state is who was seen there when; static sides are look-ups in Python.

A second is an item for each room, those that nobody entered, too, as people leave them; its answers are there when all
rooms have told theirs. Whom somebody wrote with or cites is listed beforehand, as for the peer numpy.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import bytewax.operators as op
import numpy as np
import pyarrow as pa
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

from bench.arrivals.numpy_peer import lists_for
from bench.arrivals.rows import RANGE_MS, integer_texts, static_tables
from bench.arrivals.serving import Answered, serve
from bench.data.world import World

_LONGEST_S = 600.0
Seen = dict[int, int]
Met = tuple[int, int, int, int]
"""Somebody, whom he or she met, in which room, and how often that counts."""


@dataclass
class Lists:
    """For each person others and how often each counts, from `start` of the person to that of the next."""

    start: list[int] = field(default_factory=list)
    other: list[int] = field(default_factory=list)
    times: list[int] = field(default_factory=list)

    def of(self, person: int) -> Iterator[tuple[int, int]]:
        """The others of one person."""
        places = range(self.start[person], self.start[person + 1])
        return ((self.other[place], self.times[place]) for place in places)


class Peer:
    """One dataflow for each query, on a thread of its own."""

    version = metadata.version("bytewax")

    def __init__(self) -> None:
        self._given: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._told: queue.SimpleQueue[list[Any]] = queue.SimpleQueue()

    def load(self, world: World, folder: Path) -> None:
        """Makes the dictionaries; what a query looks up is made when it begins."""
        self._world = world
        tables = static_tables(world)
        people, rooms = (tables[name].combine_chunks() for name in ("people", "rooms"))
        self._iris, self._names, self._room_names = people["iri"], people["name"], rooms["name"]
        self._person = {text: number for number, text in enumerate(people["iri"].to_pylist())}
        self._room = {text: number for number, text in enumerate(rooms["iri"].to_pylist())}

    def begin(self, query: str) -> None:
        """Starts the dataflow of the query."""
        self._given.put(None)  # ends the one before, which reads its queue for as long as it runs
        self._given, self._told, self._query = queue.SimpleQueue(), queue.SimpleQueue(), query
        lists = Lists()
        if query != "q1":
            made = lists_for(self._world, query)
            lists = Lists(made.start.tolist(), made.other.tolist(), made.times.tolist())
        flow = _flow(query, lists, self._given, self._told)
        threading.Thread(target=run_main, args=(flow,)).start()

    def take(self, rows: pa.Table, instant: int) -> Answered:
        """Hands the rows in, by room, and waits for all rooms."""
        met = self._pass(rows, instant)
        if self._query == "q4":
            return Answered(self._most_cited(met))
        names = (
            ["name", "locName"]
            if self._query == "q1"
            else ["author1Name", "author2Name", "locName"]
        )
        repeated = [row for row in met for _ in range(row[3])]
        person, other, room = (pa.array([row[n] for row in repeated], pa.int32()) for n in range(3))
        columns = [self._names.take(person), self._names.take(other), self._room_names.take(room)]
        return Answered(
            pa.table(columns[:1] + columns[2:] if self._query == "q1" else columns, names=names)
        )

    def pass_by(self, rows: pa.Table, instant: int) -> None:
        """Hands the rows in, by room."""
        self._pass(rows, instant)

    def _pass(self, rows: pa.Table, instant: int) -> list[Met]:
        entered: list[list[int]] = [[] for _ in self._room]
        for person, room in zip(rows["person"].to_pylist(), rows["room"].to_pylist(), strict=True):
            entered[self._room[room]].append(self._person[person])
        self._given.put([(str(room), (instant, people)) for room, people in enumerate(entered)])
        met, missing = [], len(entered)
        while missing:
            told = self._told.get(timeout=_LONGEST_S)
            missing -= len(told)
            met += [row for _, part in told for row in part]
        return met

    def _most_cited(self, met: list[Met]) -> pa.Table:
        most: dict[int, int] = {}
        for person, _, _, times in met:
            most[person] = max(most.get(person, 0), times)
        best = [row for row in met if row[3] == most[row[0]]]
        person, other = (pa.array([row[n] for row in best], pa.int32()) for n in range(2))
        columns = [self._iris.take(person), self._iris.take(other)]
        times = integer_texts(np.array([row[3] for row in best], np.int64))
        return pa.table([*columns, times], names=["person1", "person2", "numPub"])


def _flow(
    query: str, lists: Lists, given: queue.SimpleQueue[Any], told: queue.SimpleQueue[Any]
) -> Dataflow:
    def enter(
        seen: Seen | None, came: tuple[int, list[int]]
    ) -> tuple[Seen, list[tuple[int, int, int]]]:
        instant, people = came
        now = set(people)
        alive = {p: time for p, time in (seen or {}).items() if time > instant - RANGE_MS}
        alive.update(dict.fromkeys(now, instant))
        if query == "q1":
            return alive, [(person, person, 1) for person in alive]
        met = [
            (person, other, times)
            for person in now
            for other, times in lists.of(person)
            if other in alive
        ]
        return alive, met

    flow = Dataflow(query)
    rooms = op.input("seconds", flow, _Source(given))
    answers = op.stateful_map("rooms", rooms, enter)
    named = op.map(
        "named", answers, lambda item: (item[0], [(p, o, int(item[0]), n) for p, o, n in item[1]])
    )
    op.output("told", named, _Sink(told))
    return flow


class _Reading(StatelessSourcePartition[Any]):
    def __init__(self, given: queue.SimpleQueue[Any]) -> None:
        self._given = given

    def next_batch(self) -> list[Any]:
        try:
            batch = self._given.get_nowait()
        except queue.Empty:
            if not threading.main_thread().is_alive():
                raise StopIteration from None
            return []
        if batch is None:
            raise StopIteration
        return list(batch)


class _Source(DynamicSource[Any]):
    def __init__(self, given: queue.SimpleQueue[Any]) -> None:
        self._given = given

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Reading:
        return _Reading(self._given)


class _Telling(StatelessSinkPartition[Any]):
    def __init__(self, told: queue.SimpleQueue[Any]) -> None:
        self._told = told

    def write_batch(self, items: list[Any]) -> None:
        self._told.put(items)


class _Sink(DynamicSink[Any]):
    def __init__(self, told: queue.SimpleQueue[Any]) -> None:
        self._told = told

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _Telling:
        return _Telling(self._told)


if __name__ == "__main__":
    serve(Peer)
