"""Rows of a window's keys that are looked up again: copied side by side, and never those of an earlier content."""

from __future__ import annotations

import random
from collections import Counter

import pyspark.sql.functions as F
import pytest

from tests.sparkext.engine_room.live_room import LiveRoom, Row
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri

Sighting = tuple[int, int, int]  # time, room, person
PEOPLE, ROOMS, VISITORS, WIDTH = 40, 3, 60, 20
# Threads take what they look up as they come, and each follows chains for a while before it asks for copies: with so
# many visitors every room is looked up again after that, whoever takes it.
MANY = 300


class Rooms:
    """Sightings of people in rooms, within a window, and visitors to whom each room is looked up once."""

    def __init__(
        self, live: LiveRoom, name: str, kind: str, visitors: int = VISITORS, rooms: int = ROOMS
    ) -> None:
        self.live, self.kind, self.visitors = live, kind, visitors
        self.sightings: list[Sighting] = []
        self.stream = live.room.stream(f"http://example.org/runs/{name}")
        self.window = self.stream.window("w")
        spec = f"0,0,0||0,2||{'bag' if kind == 'bag' else 'set'}"
        make = live.room.timedPattern if kind == "timed" else live.room.windowPattern
        self.content = make(self.window, "at", spec)
        self.plain = live.room.windowPattern(self.window, "at", spec)
        visits = [
            (live.id(iri(f"r{r}")), visitor)
            for r in range(rooms)
            for visitor in range(1, 1 + visitors)
        ]
        columns = ["person", "room", *(["time"] if kind == "timed" else [])]
        probe = live.frame(live.static("visits", visits), "room", "visitor")
        self.plan = live.prepare(
            probe.join(F.broadcast(live.frame(self.content, *columns)), "room", "inner")
        )

    def sighted(self, *new: Sighting) -> None:
        self.sightings += new
        elements = [
            Element(time, None, [(iri(f"p{person}"), iri("at"), iri(f"r{room}"))])
            for time, room, person in new
        ]
        self.stream.append(block(elements))

    def move(self, now: int) -> None:
        self.window.advance(now - WIDTH, now)
        self.stream.dropExpired(now)
        self.sightings = [s for s in self.sightings if now - WIDTH < s[0] <= now]

    @property
    def memory(self) -> int:
        return int(self.plain.table().memoryBytes())

    @property
    def copied(self) -> int:
        """Rows that were copied; each thread may have copied them."""
        return int(self.plain.table().copiedRows())

    def expected(self) -> list[Row]:
        times = Counter((room, person) for _, room, person in self.sightings)
        last = {(room, person): time for time, room, person in sorted(self.sightings)}
        rows = []
        for (room, person), count in times.items():
            ids = (self.live.id(iri(f"r{room}")), self.live.id(iri(f"p{person}")))
            seen = (2 * last[room, person] + 1,) if self.kind == "timed" else ()
            for visitor in range(1, 1 + self.visitors):
                rows += [(ids[0], visitor, ids[1], *seen)] * (count if self.kind == "bag" else 1)
        return sorted(rows)

    def answers(self) -> list[Row]:
        return self.live.on_driver(self.plan)


@pytest.mark.parametrize("kind", ["set", "bag", "timed"])
def test_rows_of_keys_that_are_looked_up_again_are_copied_anew_for_each_content(
    live: LiveRoom, kind: str
) -> None:
    rooms = Rooms(live, kind, kind, visitors=MANY)
    people = [(1, room, person) for room in range(ROOMS) for person in range(PEOPLE)]
    rooms.sighted(*people)
    rooms.move(1)
    before = rooms.memory
    assert rooms.answers() == rooms.expected()
    assert rooms.copied >= PEOPLE * ROOMS
    assert rooms.memory > before + 8 * 2 * PEOPLE * ROOMS
    assert rooms.answers() == rooms.expected()
    # One that is there already: no row comes or goes, but it counts twice, or was sighted later.
    rooms.sighted((2, 0, 7))
    rooms.move(2)
    assert rooms.answers() == rooms.expected()
    rooms.sighted((3, 1, PEOPLE))
    rooms.move(3)
    assert rooms.copied == 0, "copies go with their content"
    assert rooms.answers() == rooms.expected()
    assert rooms.copied > PEOPLE * ROOMS
    rooms.move(1 + WIDTH)
    assert len(rooms.expected()) == 2 * MANY
    assert rooms.answers() == rooms.expected()


@pytest.mark.parametrize("kind", ["set", "bag", "timed"])
def test_answers_are_those_of_now_on_a_random_stream(live: LiveRoom, kind: str) -> None:
    rng = random.Random(7)
    rooms = Rooms(live, f"random-{kind}", kind)
    for now in range(1, 60):
        count = rng.choice([0, 1, 30, 60])
        rooms.sighted(*[(now, rng.randrange(ROOMS), rng.randrange(80)) for _ in range(count)])
        rooms.move(now)
        assert rooms.answers() == rooms.expected(), now


def test_what_is_looked_up_once_is_not_copied(live: LiveRoom) -> None:
    """As many look-ups, and rows that they meet, as lead to copies elsewhere: but no key is met twice."""
    rooms = Rooms(live, "once", "set", visitors=1, rooms=2000)
    rooms.sighted(*[(1, room, person) for room in range(2000) for person in range(6)])
    rooms.move(1)
    assert rooms.answers() == rooms.expected()
    # Keys may share a chain, which is met twice then.
    assert rooms.copied < 2000 * 3 / 4


def test_of_many_keys_only_those_that_are_looked_up_again_are_copied(live: LiveRoom) -> None:
    rooms = Rooms(live, "few", "set", visitors=100, rooms=3)
    rooms.sighted(*[(1, room, person) for room in range(100) for person in range(50)])
    rooms.move(1)
    assert len(rooms.answers()) == 3 * 100 * 50
    assert 3 * 50 <= rooms.copied <= 3 * 3 * 2 * 50


def test_copies_can_be_switched_off(live: LiveRoom) -> None:
    switch = getattr(live.room, "copiesChains_$eq")
    switch(False)
    try:
        rooms = Rooms(live, "off", "set")
    finally:
        switch(True)
    rooms.sighted(*[(1, room, person) for room in range(ROOMS) for person in range(PEOPLE)])
    rooms.move(1)
    assert rooms.answers() == rooms.expected()
    assert rooms.copied == 0
