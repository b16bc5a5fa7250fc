"""Rows by some of their columns, as a join reads them: static ones, those of a stage and of a window that moves."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import pytest

from tests.sparkext.engine_room.join.planned_clusters import change
from tests.sparkext.engine_room.join.random_clusters import Bag, cells
from tests.sparkext.engine_room.live_room import LiveRoom, Row
from tests.sparkext.engine_room.windows.filled_windows import ints

ABSENT = 9_999


def key_columns(arity: int) -> list[tuple[int, ...]]:
    """All sets of columns, none and all among them."""
    return [k for n in range(arity + 1) for k in itertools.combinations(range(arity), n)]


def parts(row: Row, keys: Sequence[int]) -> tuple[Row, Row]:
    """A row's key, and its other cells."""
    return tuple(row[k] for k in keys), tuple(c for k, c in enumerate(row) if k not in keys)


def check(live: LiveRoom, content: Any, arity: int, rows: Bag, keys: Sequence[int]) -> None:
    """Hold what is found by some columns to a model: whole lists, and values asked for."""
    lists: dict[Row, Bag] = defaultdict(Counter)
    for row, count in rows.items():
        key, others = parts(row, keys)
        lists[key][others] += count
    probes = [*lists, (ABSENT,) * len(keys)] if keys else [()]
    found = live.cqels.clusters.JoinTrial.find(content, ints(live, *keys), cells(probes))
    for key, line in zip(probes, found.splitlines(), strict=True):
        assert read(line) == (lists[key], sum(lists[key].values())), (keys, key)
    if len(keys) == arity - 1:
        values = sorted({parts(row, keys)[1] for row in rows} | {(ABSENT,)})[-40:]
        asked = [(key, value) for key in probes[-10:] for value in values]
        text = cells(key + value for key, value in asked)
        for (key, value), answer in zip(asked, ask(live, content, keys, text), strict=True):
            times = lists[key][value]
            assert answer == f"{times},{times},{min(times, 1)}", (keys, key, value)


def ask(live: LiveRoom, content: Any, keys: Sequence[int], probes: str) -> Iterable[str]:
    text: str = live.cqels.clusters.JoinTrial.ask(content, ints(live, *keys), probes)
    return text.split(";") if text else []


def read(line: str) -> tuple[Bag, int]:
    """The rows of a key and how often they count together."""
    *rows, total = line.split(";")
    found: Bag = Counter()
    for row in rows:
        told, _, count = row.rpartition(":")
        found[tuple(int(cell) for cell in told.split(",") if cell)] += int(count)
    return found, int(total)


def random_rows(random: Random, arity: int, values: int, count: int) -> list[Row]:
    """Rows of which the first values are the most frequent ones."""
    return [
        tuple(1 + int(values * random.random() ** 2) for _ in range(arity)) for _ in range(count)
    ]


@pytest.mark.parametrize("arity", [1, 2, 3, 4])
def test_static_rows_by_any_columns(live: LiveRoom, arity: int) -> None:
    random = Random(arity)
    for values, count in ((2, 1), (4, 6), (9, 60), (50, 400), (3000, 900)):
        rows = list(dict.fromkeys(random_rows(random, arity, values, count)))
        times = [random.choice((1, 1, 2, 3)) for _ in rows]
        repeated = rows + random.choices(rows, k=len(rows) // 3)
        stage = live.stage("stage", arity)
        live.put(stage, repeated)
        once = live.static("once", rows, arity)
        counted = live.counted(
            "counted", [(*r, n) for r, n in zip(rows, times, strict=True)], arity
        )
        for keys in key_columns(arity):
            check(live, once, arity, Counter(rows), keys)
            check(live, counted, arity, Counter(dict(zip(rows, times, strict=True))), keys)
            check(live, stage, arity, Counter(repeated), keys)


@pytest.mark.parametrize("bag", [False, True])
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_rows_of_a_window_that_moves(live: LiveRoom, arity: int, bag: bool) -> None:
    random = Random(10 * arity + bag)
    table = live.cqels.relations.WindowTable(arity, bag)
    content = live.cqels.relations.WindowContent("window", table)
    held: Bag = Counter()
    rested = 0
    for step in range(60):
        values = random.choice((3, 20, 400))
        how = random.choice(("slide", "slide", "grow", "shrink", "empty", "turn"))
        coming = random_rows(random, arity, values, random.choice((1, 10, 100, 500)))
        sightings = list(held.elements())
        share = {"slide": 0.2, "grow": 0.0, "shrink": 0.95, "empty": 1.0, "turn": 1.0}[how]
        leaving = random.sample(sightings, int(share * len(sightings)))
        if how == "shrink":
            coming = coming[:1]
        for insert in random.choice(((True, False), (False, True))):
            change(live, table, coming if insert else leaving, insert)
        held.subtract(leaving)
        held.update(coming)
        held += Counter()
        if step % 13 == 12:
            table.clear()
            held.clear()
        rows = held if bag else Counter(dict.fromkeys(held, 1))
        for keys in key_columns(arity):
            # What is not asked for each time rests now and then.
            if random.random() < 0.5:
                check(live, content, arity, rows, keys)
        rested += table.keptUpCount() < table.indexCount()
    assert rested


def test_a_list_that_is_asked_again_and_again_follows_its_changes(live: LiveRoom) -> None:
    table = live.cqels.relations.WindowTable(2, True)
    content = live.cqels.relations.WindowContent("window", table)
    rows = [(1, value) for value in range(1, 41)]
    change(live, table, rows, True)

    def asked(*values: int) -> list[str]:
        answers = ask(live, content, [0], cells((1, value) for value in values))
        return [answer.rpartition(",")[0] for answer in answers]

    assert asked(1, 40, 41) == ["1,1", "1,1", "0,0"]
    # One change at a time: each must have the set of before forgotten.
    for row, insert, expected in (
        ((1, 41), True, ["1,1", "1,1", "1,1"]),
        ((1, 40), True, ["1,1", "2,2", "1,1"]),
        ((1, 1), False, ["0,0", "2,2", "1,1"]),
        ((1, 40), False, ["0,0", "1,1", "1,1"]),
        ((1, 40), False, ["0,0", "0,0", "1,1"]),
    ):
        change(live, table, [row], insert)
        assert asked(1, 40, 41) == expected


@pytest.mark.parametrize("arity", [0, 1, 3])
def test_rows_that_travel_to_another_process_are_the_same_there(live: LiveRoom, arity: int) -> None:
    rows = [tuple(range(n, n + arity)) for n in range(1, 4 if arity else 2)]
    bag = live.cqels.relations.WindowTable(arity, True)
    change(live, bag, [rows[-1]] * 2 if arity else [], True)
    stage = live.stage("stage", arity)
    stage.replace(live.counted("rows", [(*row, 1) for row in rows], arity).table())
    for content in (
        live.counted("once", [(*row, 1) for row in rows], arity),
        live.counted("counted", [(*row, 3) for row in rows], arity),
        live.cqels.relations.WindowContent("window", bag),
        stage,
    ):
        jvm: Any = live.jvm
        utils = jvm.org.apache.spark.util.Utils
        sent = utils.serialize(live.cqels.clusters.ShippedContent(content))
        there = utils.deserialize(sent, live.room.getClass().getClassLoader()).content()
        assert there.rowCount() == content.rowCount()
        assert live.rows(there.table()) == live.rows(content.snapshot().table())
        for keys in key_columns(arity):
            held: Bag = Counter()
            for row, count in read_all(live, content):
                held[row] += count
            check(live, there, arity, held, keys)


def read_all(live: LiveRoom, content: Any) -> list[tuple[Row, int]]:
    """All rows of a content, each with how often it counts."""
    found, _ = read(live.cqels.clusters.JoinTrial.find(content, ints(live), "").strip())
    return list(found.items())
