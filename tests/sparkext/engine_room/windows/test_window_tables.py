"""Tables of windows that are emptied or move past all they hold, and indexes that rest."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.windows.filled_windows import Window, filled, ints, random_rows
from tests.sparkext.engine_room.windows.stream_blocks import iri


def test_an_index_that_no_plan_asks_for_any_more_is_given_up(live: LiveRoom) -> None:
    window = Window(live, "w")
    window.change({(1, 1), (2, 2)})
    both, first, second = ints(live, 0, 1), ints(live, 0), ints(live, 1)
    window.table.index(both, first)
    assert window.table.indexCount() == 1
    for _ in range(1001):
        window.table.index(both, second)
    assert window.table.indexCount() == 1
    window.change({(2, 2), (3, 3)})
    found = window.table.index(both, first)
    assert found.get(3).hasNext()
    assert found.get(1) is None


def test_a_window_that_is_emptied_at_once_is_as_one_that_was_never_filled(live: LiveRoom) -> None:
    window, fresh = Window(live, "w"), Window(live, "fresh")
    rng = random.Random(5)
    both, first, second = ints(live, 0, 1), ints(live, 0), ints(live, 1)
    for size in (300, 5000, 200, 250, 300):
        window.table.index(both, second)
        window.change(random_rows(rng, size, 90, 5000))
        before = (window.table.changes(), window.table.expiries())
        window.table.clear()
        assert (window.table.rowCount(), window.table.occurrenceCount()) == (0, 0)
        assert window.table.changes() > before[0]
        assert window.table.expiries() == before[1] + len(window.rows)
        assert window.table.index(both, second).get(1) is None
        window.rows = set()
        rows = random_rows(rng, 200, 90, 300)
        window.change(rows)
        fresh.change(rows)
        told, expected = (
            [(distinct, sorted(top)) for distinct, top in [json.loads(w.content.describe(0, 90))]]
            for w in (window, fresh)
        )
        assert told == expected
        for key in range(90):
            found = window.table.index(both, first).get(key)
            assert (found is None) == (key not in {row[0] for row in rows})
    # What the peak had taken is given back.
    assert window.table.memoryBytes() < 4 * fresh.table.memoryBytes()
    window.table.clear()
    window.table.clear()
    assert window.table.keptUpCount() == 0, "nobody has asked in between"


@pytest.mark.parametrize("shared", [False, True])
def test_windows_that_move_past_all_they_hold(live: LiveRoom, shared: bool) -> None:
    """At once where the rows are many and their own: what other windows hold as well stays there."""
    width, rng = 10, random.Random(3)
    panes = {time: {rng.randrange(6000) for _ in range(2500)} for time in (1, 2, 3, 11, 12, 40, 41)}
    window, content = filled(live, f"past-{shared}", panes)
    wider = live.room.stream(iri(f"past-{shared}")).window("wider")
    if shared:
        known = [(live.id(iri(str(n))), live.id(iri("o"))) for n in range(0, 6000, 7)]
        content = live.room.mergedContent("all", live.static("known", known), False)
        for part in (window, wider):
            content.merge(part, "0,0,0||0,2||set")
    table = content.windowRows().table() if shared else content.table()
    for now in (3, 5, 15, 30, 41, 60):
        before = (table.rowCount(), table.changes())
        window.advance(now - width, now)
        if now == 30:
            assert before[0] > 2048
            at_once = table.changes() - before[1] == 1
            assert at_once != shared, "what another window holds as well goes row by row"
        wider.advance(now - 3 * width, now)
        since = now - (3 if shared else 1) * width
        expected = {n for time, numbers in panes.items() if since < time <= now for n in numbers}
        assert content.rowCount() == len(expected | (set(range(0, 6000, 7)) if shared else set()))


def test_an_index_rests_while_nobody_asks_and_most_rows_change_and_is_made_anew(
    live: LiveRoom,
) -> None:
    window = Window(live, "w")
    both, first, second = ints(live, 0, 1), ints(live, 0), ints(live, 1)

    def content(number: int) -> set[tuple[int, int]]:
        return {(number * 1000 + n % 50 + 1, n + 1) for n in range(200)}

    def found(index: Any, key: int) -> int:
        rows, count = index.get(key), 0
        while rows is not None and rows.hasNext():
            rows.next()
            count += 1
        return count

    window.change(content(0))
    old = window.table.index(both, first)
    for number in range(1, 6):
        window.change(content(number))
        # Whoever is asked for each time follows, though all rows are others.
        assert found(window.table.index(both, second), 7) == 1
        if number == 1:
            assert window.table.keptUpCount() == 2
    assert (window.table.keptUpCount(), window.table.indexCount()) == (1, 2)
    resting = window.table.memoryBytes()
    with pytest.raises(Py4JJavaError, match="not asked for in this evaluation"):
        old.asReadOnlyCopy()
    anew = window.table.index(both, first)
    assert [found(anew, key) for key in (5001, 5050, 5051, 4001)] == [4, 4, 0, 0]
    assert window.table.memoryBytes() > resting
    window.change({(1, 1), (2, 1)})
    assert [found(anew, key) for key in (1, 2, 5001)] == [1, 1, 0]


@pytest.mark.parametrize("seed", range(4))
def test_indexes_that_rest_now_and_then_find_the_rows_of_now(live: LiveRoom, seed: int) -> None:
    window, rng = Window(live, "w"), random.Random(seed)
    both, keys = ints(live, 0, 1), [ints(live, 0), ints(live, 1)]
    rested = 0
    for _ in range(30):
        window.change(random_rows(rng, rng.choice([0, 3, 150, 400]), 20, 300))
        for column in (0, 1):
            if rng.random() < 0.4:
                index = window.table.index(both, keys[column])
                value = rng.randrange(1, 20)
                rows = index.get(value)
                found = set()
                while rows is not None and rows.hasNext():
                    row = rows.next()
                    found.add((row.getLong(0), row.getLong(1)))
                assert found == {row for row in window.rows if row[column] == value}
        rested += window.table.keptUpCount() < window.table.indexCount()
    assert rested
