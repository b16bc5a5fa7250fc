"""Indexes over static rows: what a join finds by one to three keys, against plain Python."""

from __future__ import annotations

import random
from collections import Counter
from functools import reduce
from itertools import product
from typing import Any

import pyspark.sql.functions as F
import pytest

from tests.sparkext.engine_room.live_room import LiveRoom, Row

# Ids of all sorts: inline numbers, dictionary terms, quoted triples (negative), the extremes.
EXTREMES = [1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63), 8 << 58, (8 << 58) + 1, 3 << 58]


def look_up(live: LiveRoom, content: object, keys: tuple[int, ...], probes: list[Row]) -> list[Row]:
    """The rows found by the values of `probes` in the columns `keys`, with their repetitions."""
    names = ["c0", "c1", "c2"]
    asked = [f"k{place}" for place in range(len(keys))]
    probe = live.frame(live.static("probe", probes, len(keys)), *asked)
    on = [F.col(k) == F.col(names[column]) for k, column in zip(asked, keys, strict=True)]
    joined = probe.join(F.broadcast(live.frame(content, *names)), reduce(lambda a, b: a & b, on))
    plan = live.prepare(joined.select(*names))
    assert "IndexedRelation" in plan.treeString()
    return live.on_driver(plan)


def expected(rows: Counter[Row], keys: tuple[int, ...], probes: list[Row]) -> list[Row]:
    asked = Counter(probes)
    return sorted(
        row
        for row, count in rows.items()
        for _ in range(count * asked[tuple(row[k] for k in keys)])
    )


@pytest.mark.parametrize("keys", [(0,), (2,), (0, 1), (2, 0), (0, 1, 2), (2, 1, 0)])
@pytest.mark.parametrize("seed", range(3))
def test_look_ups_find_all_rows_and_their_multiplicities(
    live: LiveRoom, keys: tuple[int, ...], seed: int
) -> None:
    rng = random.Random(f"{seed}{keys}")
    universe = EXTREMES + [rng.randrange(1, 2**60) for _ in range([3, 30, 300][seed])]
    rows: Counter[Row] = Counter()
    for _ in range([10, 500, 4000][seed]):
        rows[tuple(rng.choice(universe) for _ in range(3))] += rng.choice([1, 1, 2, 7])
    content = live.counted("rows", [(*row, count) for row, count in rows.items()], 3)
    assert content.rowCount() == sum(rows.values())
    there = [tuple(row[k] for k in keys) for row in rng.choices(sorted(rows), k=40)]
    anywhere = [tuple(rng.choice(universe) for _ in keys) for _ in range(40)]
    probes = there + anywhere
    assert look_up(live, content, keys, probes) == expected(rows, keys, probes)


def test_many_rows_with_one_key_and_many_keys_with_one_row(live: LiveRoom) -> None:
    # Keys that differ only in the bits that hold the kind of a term, or only in low ones.
    rows = Counter({(7, i << 46, i): 1 for i in range(1, 3000)})
    rows.update({(i, i << 46, i): 1 for i in range(8, 3000)})
    content = live.static("rows", rows.elements(), 3)
    for keys in ((0,), (1,), (0, 1)):
        probes = [tuple((7, 1234 << 46, 1234)[k] for k in keys), tuple((9,) * len(keys))]
        assert look_up(live, content, keys, probes) == expected(rows, keys, probes)


@pytest.mark.parametrize("key", [0, 1, 2])
@pytest.mark.parametrize("size", [1, 9, 20, 5000])
def test_a_key_that_each_row_has_alone_is_found_where_it_lies(
    live: LiveRoom, key: int, size: int
) -> None:
    rng = random.Random(f"{key} {size}")
    ids = rng.sample(EXTREMES + [rng.randrange(1, 2**60) for _ in range(size)], size)
    rows: Counter[Row] = Counter()
    for id_ in ids:
        row = [rng.randrange(1, 9) for _ in range(3)]
        row[key] = id_
        rows[tuple(row)] += 1
    absent = [(id_ ^ 1 << 40,) for id_ in ids if id_ ^ 1 << 40 not in ids]
    probes = [(id_,) for id_ in rng.choices(ids, k=60)] + absent[:60] + [(0,)]
    content = live.static("rows", rows.elements(), 3)
    assert look_up(live, content, (key,), probes) == expected(rows, (key,), probes)
    assert index_class(live, content, key) == "UniqueIndex"
    # One key that comes twice, and all are grouped.
    twice = [*rows.elements(), tuple(ids[0] if place == key else 77 for place in range(3))]
    content = live.static("rows", twice, 3)
    assert look_up(live, content, (key,), probes) == expected(Counter(twice), (key,), probes)
    assert index_class(live, content, key) == "GroupedIndex"


@pytest.mark.parametrize("keys", [(0, 1), (1, 0), (2, 1)])
@pytest.mark.parametrize("counted", [False, True])
def test_keys_of_two_columns(live: LiveRoom, keys: tuple[int, int], counted: bool) -> None:
    """Column 1 has 300 values with some 250 rows each, but for one with many; in the others few are the same."""
    rng = random.Random(f"{keys} {counted}")
    values = EXTREMES + [rng.randrange(1, 2**60) for _ in range(300)]
    ids = EXTREMES + [rng.randrange(1, 2**60) for _ in range(40_000)]
    rows: Counter[Row] = Counter()
    for number in range(80_000):
        value = values[3] if number % 9 == 0 else rng.choice(values)
        rows[rng.choice(ids), value, rng.choice(ids)] += rng.choice([1, 1, 3]) if counted else 1
    # The same pair in several rows, in both orders of columns.
    for third in ids[:40]:
        rows[ids[50], values[5], third] += 1
        rows[third, values[5], ids[50]] += 1
    sample = [*rng.choices(sorted(rows), k=60), (ids[50], values[5], ids[50])]
    there = [tuple(row[k] for k in keys) for row in sample]
    absent = [(rng.choice(ids), rng.choice(ids)) for _ in range(60)]
    absent += [(first, values[0]) for first in ids[:20]] + [
        (values[0], first) for first in ids[:20]
    ]
    probes = there + absent + [(0, 0), (0, values[1]), (values[1], 0)]
    if counted:
        content = live.counted("rows", [(*row, count) for row, count in rows.items()], 3)
    else:
        content = live.static("rows", rows.elements(), 3)
    found = look_up(live, content, keys, probes)
    assert found == expected(rows, keys, probes)
    assert len(found) > 60


@pytest.mark.parametrize("made", ["UniqueIndex", "GroupedIndex"])
def test_an_index_that_was_sent_elsewhere_finds_the_same(live: LiveRoom, made: str) -> None:
    """As executors of a cluster get it."""
    count, values = 70_000, 500
    rows = [(row + 1, row % values + 1, row * 7 % count + 1) for row in range(count)]
    keys = {"UniqueIndex": (0,), "GroupedIndex": (1,)}[made]
    content = live.counted("rows", [(*r, 1 + r[0] % 3) for r in rows], 3)
    if made == "UniqueIndex":
        content = live.static("rows", rows, 3)
    look_up(live, content, keys, [tuple(rows[0][k] for k in keys)])
    assert index_class(live, content, *keys) == made
    index = content.indexOn(numbers(live, live.jvm.int, *keys))
    serializer = live.jvm.org.apache.spark.util.Utils
    sent = serializer.deserialize(serializer.serialize(index))
    assert sent.estimatedSize() == index.estimatedSize()
    for row in (*rows[:40], (count + 5, values + 5, 1)):
        key = numbers(live, live.jvm.long, *(row[k] for k in keys))
        found = sent.matchCount(key, 1_000_000)
        assert found == index.matchCount(key, 1_000_000)
        assert (found > 0) == (row[0] <= count)


def numbers(live: LiveRoom, kind: Any, *values: int) -> Any:
    """An array of the JVM's."""
    made = live.spark._sc._gateway.new_array(kind, len(values))
    for place, value in enumerate(values):
        made[place] = value
    return made


def index_class(live: LiveRoom, content: Any, *keys: int) -> str:
    """The class of the index by some columns."""
    return str(content.indexOn(numbers(live, live.jvm.int, *keys)).getClass().getSimpleName())


def test_an_empty_relation_finds_nothing(live: LiveRoom) -> None:
    content = live.static("empty", [], 3)
    for keys in ((0,), (0, 1), (0, 1, 2)):
        assert look_up(live, content, keys, list(product((0, 1), repeat=len(keys)))) == []


def test_an_index_is_built_once_for_all_plans(live: LiveRoom) -> None:
    content = live.static("rows", [(1, 2, 3)], 3)
    for _ in range(3):
        look_up(live, content, (0, 1), [(1, 2)])
    assert content.indexCount() == 1
    look_up(live, content, (1, 0), [(2, 1)])
    assert content.indexCount() == 2


def test_rows_are_counted_here_and_by_a_job(live: LiveRoom) -> None:
    rows = [(n % 3 + 1, n % 5 + 1) for n in range(100)]
    here = live.frame(live.static("few", rows), "a", "b")
    job = live.spark.range(100).selectExpr("id % 3 + 1 AS a", "id % 5 + 1 AS b")
    for frame in (here, job):
        content = live.room.countedContent("rows", frame._jdf)
        assert content.rowCount() == 100
        assert content.table().rowCount() == 15
        copied = live.stock_copy(content, "a", "b").collect()
        assert Counter(map(tuple, copied)) == Counter(rows)


def test_a_missing_id_is_refused(live: LiveRoom) -> None:
    frame = live.spark.createDataFrame([(1, 2), (3, None)], "a bigint, b bigint")
    with pytest.raises(Exception, match="rows has no id in column 2"):
        live.room.staticContent("rows", frame._jdf)
