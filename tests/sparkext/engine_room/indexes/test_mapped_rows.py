"""Rows in index files against a plain model: look-ups by both columns, scans in slices, edits, parts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from static_data.storage.row_edits import RowEdits
from tests.sparkext.engine_room.indexes.mapped_tables import Pair, indexed, mapped, scanned
from tests.sparkext.engine_room.join.random_clusters import cells
from tests.sparkext.engine_room.join.test_join_lists import ask, check
from tests.sparkext.engine_room.live_room import LiveRoom

LARGEST = (1 << 62) + 12345


def some_pairs(random: Random, count: int) -> set[Pair]:
    """Pairs with short and long lists by both columns, with ids near each other and far apart."""
    pairs = {(1 + int(60 * random.random() ** 2), random.randint(1, 50)) for _ in range(count)}
    pairs |= {(random.getrandbits(62) + 1, 7) for _ in range(count // 2)}
    pairs |= {(5, random.getrandbits(62) + 1) for _ in range(count // 2)}
    return pairs | {(LARGEST, LARGEST), (LARGEST, 1)}


def check_all(live: LiveRoom, content: Any, pairs: set[Pair]) -> None:
    """Hold a content to the rows it is to have."""
    assert scanned(live, content) == sorted(pairs)
    assert scanned(live, content, 7) == sorted(pairs)
    for keys in ((0,), (1,), (), (0, 1)):
        check(live, content, 2, Counter(pairs), keys)


@pytest.mark.parametrize("blocks", [1, 8])
def test_rows_in_files_are_those_of_the_table(live: LiveRoom, tmp_path: Path, blocks: int) -> None:
    pairs = some_pairs(Random(blocks), 500)
    content = mapped(live, pairs, tmp_path, blocks)
    check_all(live, content, pairs)
    assert len(list(tmp_path.glob("by=o/block-*.bin"))) == blocks


@pytest.mark.parametrize("blocks", [1, 8])
def test_lists_with_and_without_a_filter(live: LiveRoom, tmp_path: Path, blocks: int) -> None:
    """Those of more than 64 values have one."""
    random = Random(blocks)
    lists = {
        key: random.sample(range(1, 1 << 40), length)
        for key, length in enumerate((1, 2, 63, 64, 65, 66, 68, 69, 3000), start=1)
    }
    pairs = {(key, value) for key, values in lists.items() for value in values}
    content = mapped(live, pairs, tmp_path, blocks)
    assert scanned(live, content) == sorted(pairs)
    edits = RowEdits(frozenset({(4, 5), (6, 7)}), frozenset({(5, lists[5][0])})).cells
    edited = content.edited(edits.added, edits.removed)
    changed = (pairs | {(4, 5), (6, 7)}) - {(5, lists[5][0])}
    for asked, rows in ((content, pairs), (edited, changed)):
        for key, values in lists.items():
            wanted = [(key, value) for value in (*values, 5, 7, *range(1000, 1300))]
            found = ask(live, asked, [0], cells(wanted))
            assert list(found) == ["1,1,1" if pair in rows else "0,0,0" for pair in wanted]


@pytest.mark.usefixtures("persian_digits")
def test_files_have_the_same_names_wherever_they_are_written(
    live: LiveRoom, tmp_path: Path
) -> None:
    indexed(live, {(3, 4)}, tmp_path).make()
    assert (tmp_path / "by=s" / "block-00000.bin").exists()


@pytest.mark.parametrize("pairs", [set(), {(3, 4)}, {(n, n) for n in range(1, 300)}], ids=len)
def test_tables_of_few_rows_and_of_unique_keys(
    live: LiveRoom, tmp_path: Path, pairs: set[Pair]
) -> None:
    for blocks in (1, 4):
        check_all(live, mapped(live, pairs, tmp_path / str(blocks), blocks), pairs)


def test_edits_lie_over_the_files(live: LiveRoom, tmp_path: Path) -> None:
    random = Random(7)
    pairs = some_pairs(random, 300)
    content = mapped(live, pairs, tmp_path, 2)
    for _ in range(6):
        before, rows = content, set(pairs)
        gone = {p for p in pairs if random.random() < 0.2} | {(9_000, 1)}
        if random.random() < 0.5:
            gone |= {p for p in pairs if p[0] == 5}  # a key that loses all its rows
        came = some_pairs(random, 40)
        edits = RowEdits(frozenset(came), frozenset(gone)).cells
        content = content.edited(edits.added, edits.removed)
        pairs = (pairs - gone) | came
        check_all(live, content, pairs)
        again = content.edited(edits.added, edits.removed)
        assert scanned(live, again) == sorted(pairs)
        assert scanned(live, before) == sorted(rows)


def test_parts_are_all_rows_once(live: LiveRoom, tmp_path: Path) -> None:
    pairs = some_pairs(Random(3), 400)
    content = mapped(live, pairs, tmp_path, 4)
    edits = RowEdits(frozenset({(1, 1 << 40), (777, 3)}), frozenset(list(pairs)[:50])).cells
    content = content.edited(edits.added, edits.removed)
    pairs = pairs - set(list(pairs)[:50]) | {(1, 1 << 40), (777, 3)}
    split = live.cqels.clusters.RelationParts.split
    for column, parts in ((0, 2), (1, 3), (0, 7)):
        contents = split(content, column, parts)
        rows = [scanned(live, part, 2) for part in contents]
        assert sorted(row for part in rows for row in part) == sorted(pairs)
        for part, own in zip(contents, rows, strict=True):
            for row in own[:20]:
                assert live.cqels.clusters.RelationParts.partOf(row[column], parts) == list(
                    contents
                ).index(part)
            check(live, part, 2, Counter(own), (1 - column,))


def test_spark_probes_rows_in_files(live: LiveRoom, tmp_path: Path) -> None:
    pairs = some_pairs(Random(11), 200)
    content = mapped(live, pairs, tmp_path)
    asked = [(1 + n % 70,) for n in range(200)] + [(LARGEST,), (12_345_678,)]
    small = live.static("asked", asked, 1)
    for key, other in (("s", "o"), ("o", "s")):
        left = live.frame(small, "k", rows=10)
        right = live.frame(content, "s", "o", rows=1_000_000)
        joined = left.join(right.hint("broadcast"), left["k"] == right[key]).select("k", other)
        found = Counter(live.on_driver(live.prepare(joined)))
        column = 0 if key == "s" else 1
        wanted = Counter(
            (k, pair[1 - column]) for (k,) in asked for pair in pairs if pair[column] == k
        )
        assert found == wanted


def test_more_rows_of_a_key_than_a_block_holds_are_refused(live: LiveRoom, tmp_path: Path) -> None:
    pairs = {(5, n) for n in range(1, 60)}
    table = indexed(live, pairs, tmp_path)
    for words in (40, 62):  # fewer than there are rows, and than these take with their key
        with pytest.raises(Py4JJavaError, match=r"OversizedIndex: .*/by=s: "):
            table.make(words)
        assert not table.isMade()
    assert not list(tmp_path.rglob("block-*"))
    check_all(live, mapped(live, pairs, tmp_path), pairs)


@pytest.mark.parametrize("damage", ["cut", "gone", "head", "empty head"])
def test_damaged_files_are_named(live: LiveRoom, tmp_path: Path, damage: str) -> None:
    indexed(live, some_pairs(Random(1), 50), tmp_path / "whole").make()
    (tmp_path / "whole").rename(tmp_path / "moved")
    files = tmp_path / "moved" / "by=s"
    block, head = files / "block-00000.bin", files / "index.bin"
    for checksums in files.glob(".*.crc"):
        checksums.unlink()
    if damage == "cut":
        block.write_bytes(block.read_bytes()[:-8])
    elif damage == "gone":
        block.unlink()
    elif damage == "head":
        content = bytearray(head.read_bytes())
        content[20] ^= 1
        head.write_bytes(content)
    else:
        head.write_bytes(b"")
    content = mapped(live, (), tmp_path / "moved")
    with pytest.raises(Py4JJavaError, match=r"UnreadableIndex: .*by=s/(block-00000|index)\.bin"):
        scanned(live, content)
