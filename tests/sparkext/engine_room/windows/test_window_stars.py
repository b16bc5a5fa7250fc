"""Records in panes: patterns find the quads that they stand for, and stars what their patterns find together."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.stream_blocks import iri

Quad = tuple[str, str, str, str | None]
P, Q, R, TYPE, KIND, OTHER = (iri(name) for name in ("p", "q", "r", "type", "Kind", "Other"))
SUBJECTS = [iri(f"s{n}") for n in range(3)]
VALUES = [iri(f"v{n}") for n in range(3)]
NAMES = [iri("g1"), iri("g2")]

# A record: a subject, two values, another subject, and a graph.
LAYOUT: list[tuple[int | str | None, ...]] = [
    (0, P, 1, None),
    (0, TYPE, KIND, None),
    (0, Q, 2, 4),
    (0, P, 2, None),
    (3, P, 1, NAMES[0]),
    (3, R, 0, None),
    (3, 4, 1, None),
]
STARS: list[tuple[list[tuple[str, str | None]], bool]] = [
    ([(P, None), (TYPE, KIND)], False),
    ([(P, None), (Q, None)], False),
    ([(TYPE, KIND), (P, None), (Q, None)], False),
    ([(P, VALUES[0]), (Q, None), (TYPE, KIND)], False),
    ([(P, None), (TYPE, KIND)], True),
    ([(R, None), (P, None)], False),
    ([(TYPE, KIND), (P, VALUES[1])], False),
    ([(P, None), (P, None), (Q, VALUES[2])], False),
]


@dataclass
class Element:
    """One element: records by column, None where they have nothing, and quads beside them."""

    time: int
    records: list[tuple[str | None, ...]] = field(default_factory=list)
    quads: list[Quad] = field(default_factory=list)

    def all_quads(self) -> Iterator[Quad]:
        yield from self.quads
        for record, quad in itertools.product(self.records, LAYOUT):
            cells = [record[cell] if isinstance(cell, int) else cell for cell in quad]
            missing = [c is None for c, of in zip(cells, quad, strict=True) if isinstance(of, int)]
            if not any(missing):
                yield tuple(cells)  # type: ignore[misc]


class RecordLog:
    """A log of its own with records of that layout."""

    numbers = itertools.count()

    def __init__(self, live: LiveRoom) -> None:
        self.live = live
        gateway = live.spark._sc._gateway  # type: ignore[attr-defined]
        cell = live.cqels.ingest.RecordCell
        cells = gateway.new_array(cell, len(LAYOUT), 4)
        for (n, quad), place in itertools.product(enumerate(LAYOUT), range(4)):
            of = quad[place]
            cells[n][place] = cell(of, 0) if isinstance(of, int) else cell(-1, self.constant(of))
        self.layout = live.cqels.ingest.RecordLayout(5, cells)
        self.log = live.cqels.streams.StreamLog(
            iri(f"stars{next(self.numbers)}"), live.dictionary, None
        )
        self.log.takeRecords(self.layout)

    def constant(self, text: str | None) -> int:
        return 0 if text is None else int(self.live.dictionary.encodeRetained(text))

    def take(self, elements: Sequence[Element]) -> None:
        block = self.live.cqels.ingest.ElementBlock(self.live.dictionary, self.layout)
        for element in elements:
            block.beginElement(element.time)
            for quad in element.quads:
                block.add(*map(self.constant, quad))
            for record in element.records:
                at = block.records().appendRow()
                for place, term in enumerate(record):
                    block.records().set(at + place, self.constant(term))
        rules = self.live.cqels.ingest.TimeRules.none()
        self.log.take(block, rules, False)

    def quads(self, window: Any, bag: str = "set") -> str:
        return f"0,0,0,0||0,1,2,3||{bag}"

    def star(self, window: Any, star: tuple[list[tuple[str, str | None]], bool], bag: str) -> Any:
        patterns, bare = star
        spec = "|".join(
            [
                ",".join(str(self.constant(predicate)) for predicate, _ in patterns),
                ",".join(str(self.constant(value)) for _, value in patterns),
                "default" if bare else "any",
                bag,
            ]
        )
        return self.live.room.windowStar(window, "star", spec)

    def rows(self, content: Any, bag: bool) -> Counter[tuple[str | None, ...]]:
        now = content.snapshot()
        times = list(now.counts()) if now.counts() is not None else itertools.repeat(1)
        cells, width = list(now.table().toArray()), content.arity()
        terms = {cell: self.live.dictionary.text(cell) for cell in set(cells) - {0}}
        texts = (
            tuple(terms.get(cell) for cell in cells[at : at + width])
            for at in range(0, len(cells), width)
        )
        found: Counter[tuple[str | None, ...]] = Counter()
        for row, n in zip(texts, times, strict=False):
            found[row] += n
        return found


def star_rows(
    quads: Counter[Quad], star: tuple[list[tuple[str, str | None]], bool], bag: bool
) -> Counter[tuple[str | None, ...]]:
    """What a join of the patterns finds."""
    patterns, bare = star
    found: Counter[tuple[str | None, ...]] = Counter()
    matched = []
    for predicate, value in patterns:
        rows: Counter[tuple[str, str]] = Counter()
        for (s, p, o, g), n in quads.items():
            if p == predicate and value in (None, o) and not (bare and g is not None):
                rows[s, o] += n
        matched.append(rows if bag else Counter(dict.fromkeys(rows, 1)))
    for combination in itertools.product(*(rows.items() for rows in matched)):
        if len({s for (s, _), _ in combination}) == 1:
            shown = [
                o
                for ((_, o), _), (_, value) in zip(combination, patterns, strict=True)
                if value is None
            ]
            times = 1
            for _, n in combination:
                times *= n
            found[combination[0][0][0], *shown] += times
    return found


subjects, values = st.sampled_from(SUBJECTS), st.sampled_from(VALUES)
names = st.sampled_from([P, Q, R, TYPE])


@st.composite
def elements(draw: st.DrawFn, first: int, last: int) -> Element:
    record = st.tuples(
        st.none() | subjects,
        st.none() | values,
        st.none() | values,
        st.none() | subjects,
        st.sampled_from([None, P, *NAMES]),
    )
    quad = st.tuples(subjects, names, values | st.just(KIND), st.sampled_from([None, *NAMES]))
    return Element(
        draw(st.integers(first, last)),
        draw(st.lists(record, max_size=2)),
        draw(st.lists(quad, max_size=1)),
    )


@st.composite
def histories(draw: st.DrawFn, late: bool) -> list[tuple[list[Element], int, int]]:
    """Batches of elements, and to where windows move after each."""
    steps = []
    close = 0
    open_ = -1
    for _ in range(draw(st.integers(1, 4))):
        first = max(1, close - 4) if late else close + 1
        batch = draw(st.lists(elements(first, close + 5), max_size=5))
        close += draw(st.integers(0, 5))
        open_ = max(open_, close - draw(st.integers(0, 8)))
        steps.append((batch, open_, close))
    return steps


def content(quads: Counter[Quad], bag: bool) -> Counter[Any]:
    return quads if bag else Counter(dict.fromkeys(quads, 1))


def holds(
    log: RecordLog, window: Any, stars: list[Any], all_: Any, inside: list[Element], bag: bool
) -> None:
    quads = Counter(quad for element in inside for quad in element.all_quads())
    assert log.rows(all_, bag) == content(quads, bag)
    for star, kept in zip(STARS, stars, strict=True):
        assert not kept.crowded()
        assert log.rows(kept.content(), bag) == star_rows(quads, star, bag), star


@pytest.mark.parametrize("bag", ["set", "bag"])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_stars_are_what_a_join_of_their_patterns_finds(
    live: LiveRoom, bag: str, data: st.DataObject
) -> None:
    steps = data.draw(histories(late=True))
    after = data.draw(st.integers(0, len(steps)))  # patterns may come into a window that is full
    log = RecordLog(live)
    window = log.log.window("w")
    kept: list[Any] = []
    all_: Any = None
    seen: list[Element] = []
    for number, (batch, open_, close) in enumerate([*steps, ([], 1000, 1000)]):
        if number == after:
            kept = [log.star(window, star, bag) for star in STARS]
            all_ = live.room.windowPattern(window, "all", log.quads(window, bag))
        log.take(batch)
        seen += batch
        window.advance(open_, close)
        if kept:
            inside = [e for e in seen if open_ < e.time <= close]
            holds(log, window, kept, all_, inside, bag == "bag")
    assert log.log.dropExpired(2000) >= 0
    assert log.log.recordCount() == log.log.quadCount() == log.log.paneCount() == 0


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_stars_of_the_last_elements(live: LiveRoom, data: st.DataObject) -> None:
    steps = data.draw(histories(late=False))
    count = data.draw(st.integers(1, 4))
    log = RecordLog(live)
    window = log.log.countedWindow("w", count)
    kept = [log.star(window, star, "set") for star in STARS]
    all_ = live.room.windowPattern(window, "all", log.quads(window))
    seen: list[Element] = []
    for batch, _, close in steps:
        log.take(batch)
        seen += batch
        window.advance(-1, close)
        inside = sorted((e for e in seen if e.time <= close), key=lambda e: e.time)[-count:]
        holds(log, window, kept, all_, inside, False)


def test_a_star_with_too_many_combinations_gives_up(live: LiveRoom) -> None:
    log = RecordLog(live)
    window = log.log.window("w")
    star = STARS[1]
    kept = log.star(window, star, "set")
    many = [
        Element(1, [(SUBJECTS[0], iri(f"a{n}"), iri(f"b{n}"), None, NAMES[0])]) for n in range(100)
    ]
    log.take(many)
    window.advance(0, 1)
    assert kept.crowded() and kept.content().rowCount() == 0
    kept.keepAll()
    quads = Counter(quad for element in many for quad in element.all_quads())
    assert not kept.crowded()
    assert log.rows(kept.content(), False) == star_rows(quads, star, False)
    window.advance(1, 1)
    assert kept.content().rowCount() == 0


def test_many_subjects_come_and_go(live: LiveRoom) -> None:
    log = RecordLog(live)
    window = log.log.window("w")
    kept = log.star(window, STARS[0], "set")
    for step in range(1, 6):
        rows = [
            Element(step, [(iri(f"x{step} {n}".replace(" ", "-")), VALUES[0], None, None, None)])
            for n in range(300)
        ]
        log.take(rows)
        window.advance(step - 2, step)
        assert kept.content().rowCount() == 300 * min(step, 2)
