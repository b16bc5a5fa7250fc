"""Rows and indexes of moving windows, against plain Python, under random arrivals and expiries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyspark.sql.functions as F
import pytest

from tests.sparkext.engine_room.live_room import LiveRoom, Row
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri

Quad = tuple[str, str, str, str | None]


@dataclass(frozen=True)
class Pattern:
    """A triple pattern as the engine room takes it, and the same in Python."""

    constants: str
    columns: str
    equal: str
    accepts: Callable[[Quad], bool]


def project(pattern: Pattern, quads: Iterable[Quad], ids: dict[str, int]) -> list[Row]:
    """The distinct rows that the pattern finds."""
    places = [int(c) for c in pattern.columns.split(",")]
    rows = {
        tuple(0 if (term := quad[place]) is None else ids[term] for place in places)
        for quad in quads
        if pattern.accepts(quad)
    }
    return sorted(rows)


@dataclass
class World:
    """A stream in the engine and the same elements in Python."""

    live: LiveRoom
    stream: Any
    rng: random.Random
    terms: list[str]
    predicates: list[str]
    elements: list[Element] = field(default_factory=list)

    def arrive(self, count: int, times: range) -> None:
        new = []
        for _ in range(count):
            graph = self.rng.choice([None, *self.terms[:4]])
            triples = [
                (self.rng.choice(self.terms), self.rng.choice(self.predicates), obj)
                for obj in self.rng.choices(self.terms, k=self.rng.choice([1, 1, 1, 2, 3]))
            ]
            new.append(Element(self.rng.choice(times), graph, triples))
        self.elements += new
        answer = self.stream.append(block(new))
        assert f'"accepted":{count},' in answer and '"rejected":[0,' in answer

    def quads(self, open_at: int, close_at: int) -> list[Quad]:
        return [
            (*triple, element.graph)
            for element in self.elements
            if open_at < element.time <= close_at
            for triple in element.triples
        ]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_windows_hold_what_a_set_of_rows_would(live: LiveRoom, seed: int) -> None:
    rng = random.Random(seed)
    terms = [iri(f"t{i}") for i in range([4, 12, 12, 40][seed])]
    predicates = [iri(f"p{i}") for i in range(3)]
    ids = {term: live.id(term) for term in terms + predicates}
    stream = live.room.stream(f"http://example.org/{seed}")
    world = World(live, stream, rng, terms, predicates)
    first, second = ids[predicates[0]], ids[predicates[1]]
    patterns = [
        Pattern("0,0,0", "0,1,2", "", lambda q: True),
        Pattern(f"0,{first},0", "0,2", "", lambda q: q[1] == predicates[0]),
        Pattern(
            f"0,{first},{ids[terms[1]]}",
            "0",
            "",
            lambda q: q[1] == predicates[0] and q[2] == terms[1],
        ),
        Pattern(f"0,{second},0", "2", "0,2", lambda q: q[1] == predicates[1] and q[0] == q[2]),
        Pattern("0,0,0", "3,2,0", "", lambda q: True),
    ]
    widths = {"short": 4, "long": 30}
    windows = {key: stream.window(key) for key in widths}
    held = {
        (key, n): live.room.windowPattern(
            windows[key], f"{key}{n}", f"{pattern.constants}||{pattern.columns}|{pattern.equal}|set"
        )
        for key in widths
        for n, pattern in enumerate(patterns)
    }
    scans = {
        at: live.prepare(live.frame(content, *[f"c{i}" for i in range(content.arity())]))
        for at, content in held.items()
    }
    probe = [(ids[a], ids[b], ids[c]) for a in terms[:4] for b in predicates for c in terms]
    probes = live.static("probe", probe, 3)
    look_ups = {
        keys: live.prepare(
            live.frame(probes, "a", "b", "c").join(
                F.broadcast(live.frame(held["long", 0], *names)), list(keys), "inner"
            )
        )
        for keys, names in {
            ("a",): ("a", "x", "y"),
            ("c",): ("x", "y", "c"),
            ("a", "c"): ("a", "x", "c"),
            ("c", "b"): ("x", "b", "c"),
            ("a", "b", "c"): ("a", "b", "c"),
        }.items()
    }
    now = 0
    for step in range(14):
        # Silence longer than the long window now and then, and a burst after it.
        pause = 60 if step in (5, 11) else rng.choice([1, 1, 2, 3, 9])
        burst = 400 if step in (6, 8) else rng.randrange(0, 12)
        now += pause
        world.arrive(burst, range(max(1, now - 3), now + 1))
        for key, width in widths.items():
            windows[key].advance(now - width, now)
        stream.dropExpired(now)
        for (key, n), content in held.items():
            rows = project(patterns[n], world.quads(now - widths[key], now), ids)
            assert content.rowCount() == len(rows), (step, key, n)
            assert live.on_driver(scans[key, n]) == rows, (step, key, n)
            assert live.as_job(scans[key, n], 2) == rows, (step, key, n)
        inside = project(patterns[0], world.quads(now - widths["long"], now), ids)
        for keys, plan in look_ups.items():
            places = ["abc".index(k) for k in keys]
            others = [place for place in range(3) if place not in places]
            found = sorted(
                (
                    *(p[place] for place in places),
                    *(p[place] for place in others),
                    *(row[place] for place in others),
                )
                for p in probe
                for row in inside
                if all(p[place] == row[place] for place in places)
            )
            assert live.on_driver(plan) == found, (step, keys)


def test_a_peak_leaves_neither_rows_to_walk_nor_memory(live: LiveRoom) -> None:
    stream = live.room.stream("http://example.org/peak")
    window = stream.window("w")
    content = live.room.windowPattern(window, "all", "0,0,0||0,2||set")
    probe = live.static("probe", [(live.id(iri("kept")),)], 1)
    found = live.prepare(
        live.frame(probe, "s").join(F.broadcast(live.frame(content, "s", "o")), "s")
    )
    kept = Element(2000, None, [(iri("kept"), iri("p"), iri("o"))])
    peak = [Element(1000, None, [(iri(f"s{i}"), iri("p"), iri("o"))]) for i in range(5000)]
    stream.append(block([*peak, kept]))
    window.advance(0, 2000)
    answer = live.on_driver(found)
    assert len(answer) == 1
    assert content.table().capacityUsed() == 5001
    window.advance(1500, 2500)
    assert content.rowCount() == 1
    assert content.table().capacityUsed() <= 64
    assert content.table().memoryBytes() < 10_000
    assert live.on_driver(found) == answer


def test_arrivals_and_expiries_are_counted(live: LiveRoom) -> None:
    stream = live.room.stream("http://example.org/counted")
    window = stream.window("w")
    content = live.room.windowPattern(window, "all", "0,0,0||0,2||set")
    triple = (iri("s"), iri("p"), iri("o"))
    stream.append(block([Element(t, None, [triple]) for t in (1, 2, 3)]))
    window.advance(0, 3)
    # Three occurrences of one triple are one row.
    assert (content.table().arrivals(), content.table().expiries()) == (1, 0)
    window.advance(2, 3)
    assert (content.table().arrivals(), content.table().expiries()) == (1, 0)
    window.advance(3, 3)
    assert (content.table().arrivals(), content.table().expiries()) == (1, 1)
