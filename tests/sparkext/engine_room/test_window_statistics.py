"""What is counted in windows, and measured of a join cluster before an evaluation."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.stream_blocks import Element, block, iri

SAMPLE = 50


class Window:
    """A window's table filled by hand, and a plain model of it."""

    def __init__(self, live: LiveRoom, name: str) -> None:
        self.live = live
        self.table = live.cqels.WindowTable(2, False)
        self.content = live.cqels.WindowContent(name, self.table)
        self.rows: set[tuple[int, int]] = set()

    def change(self, rows: set[tuple[int, int]]) -> None:
        """Have the window hold exactly these rows."""
        for row in sorted(rows - self.rows):
            self.table.insert(self._cells(row))
        for row in sorted(self.rows - rows):
            self.table.delete(self._cells(row))
        self.rows = rows

    def counts(self, exact_values: int, *columns: int) -> Any:
        return self.table.counts(ints(self.live, *columns), exact_values)

    def _cells(self, row: tuple[int, ...]) -> Any:
        cells = self.live.spark.sparkContext._gateway.new_array(self.live.jvm.long, len(row))
        for at, cell in enumerate(row):
            cells[at] = cell
        return cells


def ints(live: LiveRoom, *values: int) -> Any:
    """An array of the JVM."""
    numbers = live.spark.sparkContext._gateway.new_array(live.jvm.int, len(values))
    for at, value in enumerate(values):
        numbers[at] = value
    return numbers


def rows_told(news: str) -> list[float]:
    """The rows that measures tell; there is an error for each."""
    told = json.loads(news)
    assert len(told["errors"]) == len(told["rows"])
    rows: list[float] = told["rows"]
    return rows


def filled(live: LiveRoom, name: str, panes: dict[int, Iterable[int]]) -> tuple[Any, Any]:
    """A window over a stream with numbered subjects by time, the content of its one pattern; it is to be advanced."""
    stream = live.room.stream(iri(name))
    for time, numbers in panes.items():
        triples = [(iri(str(n)), iri("p"), iri("o")) for n in numbers]
        stream.append(block([Element(time, None, triples)]))
    window = stream.window("w")
    return window, live.room.windowPattern(window, "all", "0,0,0||0,2||set")


def random_rows(rng: random.Random, count: int, values: int, others: int) -> set[tuple[int, int]]:
    return {(rng.randrange(1, values), rng.randrange(1, others)) for _ in range(count)}


@pytest.mark.parametrize("exact_values", [0, 8, 64])
def test_counts_follow_arrivals_and_expiries(live: LiveRoom, exact_values: int) -> None:
    window = Window(live, "w")
    counts = window.counts(exact_values, 0)
    rng = random.Random(exact_values)
    for values in (5, 30, 200, 30, 5, 2, 40):
        window.change(random_rows(rng, 150, values, 1000))
        model = Counter(value for value, _ in window.rows)
        assert counts.rowCount() == len(window.rows)
        if counts.isExact():
            assert len(model) <= exact_values
            assert counts.distinct() == len(model)
            assert {v: counts.card(v) for v in range(1, 201)} == {
                v: model[v] for v in range(1, 201)
            }
            top = [(t._1(), t._2()) for t in _all(counts.top(3))]
            assert top == sorted(model.items(), key=lambda item: (-item[1], item[0]))[:3]
        else:
            # 16,384 counters for at most 200 values: hardly ever two in one.
            assert abs(counts.distinct() - len(model)) <= 0.03 * len(model) + 1
            assert all(counts.card(v) >= model[v] for v in model)
            frequent = max(model.values())
            assert model[next(iter(_all(counts.top(1))))._1()] >= frequent - 1
    if exact_values == 64:
        window.change(set())
        assert counts.distinct() == 0
        window.change({(1, 1), (2, 1), (2, 2)})
        assert counts.isExact()
        assert (counts.card(2), counts.card(1), counts.card(3)) == (2, 1, 0)


def test_counts_that_are_asked_for_later_know_what_is_there(live: LiveRoom) -> None:
    window = Window(live, "w")
    window.change({(1, 1), (1, 2), (3, 1)})
    assert window.counts(16, 0).card(1) == 2
    assert window.counts(16, 0, 1).distinct() == 3
    assert window.counts(16, 0, 1).columns()[1] == 1


def test_large_domains_are_estimated_within_a_few_percent(live: LiveRoom) -> None:
    window = Window(live, "w")
    counts = window.counts(100, 0)
    window.change({(value * 7919, 1) for value in range(1, 3001)})
    assert not counts.isExact()
    assert abs(counts.distinct() - 3000) < 0.05 * 3000


def test_more_values_than_there_are_counters_are_estimated_as_well(live: LiveRoom) -> None:
    panes = {1: range(150_000), 2: range(150_000, 300_000), 3: range(5000)}
    window, content = filled(live, "many-values", panes)
    counts = content.table().counts(ints(live, 0), 64)
    asked = [counts]
    moves = {(0, 1): 150_000, (0, 2): 300_000, (1, 2): 150_000, (2, 3): 5000}
    for (opens, closes), expected in moves.items():
        window.advance(opens, closes)
        for each in asked:
            assert not each.isExact()
            assert abs(each.distinct() - expected) < 0.06 * expected
        if (opens, closes) == (0, 2):  # Of a window that is full.
            asked.append(content.table().counts(ints(live, 0, 1), 64))
    window.advance(3, 3)
    assert counts.isExact() and counts.distinct() == 0


def test_joins_of_windows_with_crowded_counters_are_not_taken_for_larger_ones(
    live: LiveRoom,
) -> None:
    large, many = filled(live, "large", {1: range(150_000)})
    small, few = filled(live, "small", {1: range(0, 300_000, 10)})
    for window in (large, small):
        window.advance(0, 1)
    for left, right in ((many, few), (few, many)):
        measures = live.room.statistics(1024, 64, 1.3)
        measures.addWindows(left, "0", right, "0")
        told = [rows_told(news)[0] for _ in range(8) if (news := measures.news(True))]
        assert abs(told[-1] - 15_000) < 9_000


def test_measures_are_told_when_they_have_drifted(live: LiveRoom) -> None:
    left, right = Window(live, "left"), Window(live, "right")
    static = live.static(
        "pairs", [(value, other) for value in range(1, 9) for other in range(value)]
    )
    measures = live.room.statistics(SAMPLE, 1024, 1.3)
    measures.addWindow(left.content, "0;1")
    measures.addWindow(right.content, "1")
    measures.addWindows(left.content, "1", right.content, "1")
    measures.addStatic(left.content, "0", static, "0")
    left.change({(1, 1), (2, 1), (3, 2)})
    right.change({(7, 1), (8, 1), (9, 3)})
    # Rows, changed ones (all, until that is counted) and values of each, 2 rows x 2 rows in room 1; no index of the
    # static relation has been made yet.
    assert rows_told(measures.news(True)) == [3, 6, 3, 2, 3, 6, 2, 4, -1]
    assert measures.news(True) == ""
    static.makeIndexOn("0")
    assert rows_told(measures.news(True))[-1] == 1 + 2 + 3
    right.change({(7, 1), (8, 1), (9, 3), (10, 3)})
    assert measures.news(True) == "", "one row more is no news"
    assert measures.news(False) == ""
    left.change({(value, 1) for value in range(1, 9)})
    # What is counted anyway has drifted, so all is measured.
    # On the average of five looks, 7 rows of the left window have changed, and one of the right one.
    assert rows_told(measures.news(False)) == [8, 1.4, 8, 1, 4, 0.2, 2, 16, sum(range(1, 9))]


def test_a_window_where_little_changes_is_told_from_one_that_is_all_new(live: LiveRoom) -> None:
    still, moving = Window(live, "still"), Window(live, "moving")
    measures = live.room.statistics(SAMPLE, 1024, 1.3)
    measures.addWindow(still.content, "")
    measures.addWindow(moving.content, "")
    still.change({(value, 1) for value in range(5_000)})
    moving.change({(value, 1) for value in range(5_000)})
    assert rows_told(measures.news(False)) == [5_000, 10_000, 5_000, 10_000]
    still.change({(value, 1) for value in range(1, 5_001)})
    moving.change({(value, 2) for value in range(5_000)})
    assert rows_told(measures.news(False)) == [5_000, 2, 5_000, 10_000]
    assert measures.news(False) == "", "one evaluation without arrivals is no news"


def test_a_flip_that_leaves_rows_and_values_as_they_are_is_seen_without_a_sample(
    live: LiveRoom,
) -> None:
    left, right = Window(live, "left"), Window(live, "right")
    measures = live.room.statistics(SAMPLE, 1024, 1.3)
    measures.addWindow(left.content, "1")
    measures.addWindows(left.content, "1", right.content, "1")
    right.change({(value, 1 if value < 90 else 2) for value in range(100)})
    left.change({(value, 1) for value in range(20)})
    assert rows_told(measures.news(True)) == [20, 40, 1, 20 * 90]
    left.change({(value, 2) for value in range(20)})
    assert rows_told(measures.news(False)) == [20, 40, 1, 20 * 10]


def test_others_with_more_partners_are_seen_without_a_sample_where_all_is_new(
    live: LiveRoom,
) -> None:
    """As many rows and different values as before: only looking up some of them tells."""
    moving, still = Window(live, "moving"), Window(live, "still")
    few, many = range(1_000), range(1_000, 2_000)
    rows = [(key, n) for key in few for n in range(2)] + [(k, n) for k in many for n in range(9)]
    static = live.static("partners", rows)
    static.makeIndexOn("0")
    measures = live.room.statistics(SAMPLE, 1024, 1.3)
    for window in (moving, still):
        measures.addStatic(window.content, "0", static, "0")
        window.change({(value, 1) for value in few})
    assert rows_told(measures.news(True)) == [2_000, 2_000]
    for turn in range(2, 20):
        moving.change({(value, turn) for value in few})
        assert measures.news(False) == "", "others with as many"
    moving.change({(value, 1) for value in many})
    assert rows_told(measures.news(False)) == [9_000, 2_000]
    still.change({(value, 1) for value in many})
    assert measures.news(False) == "", "nothing was new there for long, so nothing is looked up"
    assert rows_told(measures.news(True)) == [9_000, 9_000]


@pytest.mark.parametrize("most", [5, 15, 17, 40])
def test_rows_of_a_key_are_counted_in_small_groups_and_in_large_ones(
    live: LiveRoom, most: int
) -> None:
    # On the average under and above the size from which the starts of groups are kept.
    fan_out = {key: 1 + (key * 7) % most for key in range(1, 300)} | {300: 2 * most, 301: 1}
    static = live.static("pairs", [(k, other) for k, n in fan_out.items() for other in range(n)])
    static.makeIndexOn("0")
    for keys in ([301], [300], [999], [1, 5, 9], list(range(1, 60))):
        window = Window(live, "w")
        measures = live.room.statistics(1000, 1024, 1.3)
        measures.addStatic(window.content, "0", static, "0")
        window.change({(key, 1) for key in keys})
        assert rows_told(measures.news(True)) == [sum(fan_out.get(key, 0) for key in keys)]


def test_what_arrives_in_turn_is_sampled_as_it_is_and_chance_is_no_news(live: LiveRoom) -> None:
    # Each tenth row has two matches: rows taken at equal steps would find one in all of them, or in none.
    window = Window(live, "w")
    static = live.static(
        "pairs", [(key, other) for key in range(0, 20_000, 10) for other in (1, 2)]
    )
    static.makeIndexOn("0")
    measures = live.room.statistics(SAMPLE, 16, 1.3)
    measures.addStatic(window.content, "0", static, "0")
    window.change({(value, 1) for value in range(20_000)})
    [first] = rows_told(measures.news(True))
    assert 0.4 * 4_000 < first < 1.8 * 4_000
    told = [told for _ in range(40) if (told := measures.news(True))]
    assert len(told) <= 2, "samples that add up move the estimate once or twice"
    for news in told:
        assert 0.6 * 4_000 < rows_told(news)[0] < 1.5 * 4_000
    window.change({(value, place) for value in range(0, 20_000, 10) for place in range(9)})
    assert rows_told(measures.news(True)) == [18_000 * 2]


def test_a_sample_without_a_match_does_not_say_that_there_is_none(live: LiveRoom) -> None:
    window = Window(live, "w")
    static = live.static("pairs", [(7, 1), (7, 2)])
    static.makeIndexOn("0")
    measures = live.room.statistics(SAMPLE, 16, 1.3)
    measures.addStatic(window.content, "0", static, "0")
    window.change({(value, 1) for value in range(8, 10_008)})
    assert rows_told(measures.news(True)) == [10_000 * 0.5 / SAMPLE]


def test_samples_of_large_windows_find_joins_of_the_right_size(live: LiveRoom) -> None:
    rng = random.Random(1)
    left, right = Window(live, "left"), Window(live, "right")
    fan_out = {value: value % 7 for value in range(1, 400)}
    static = live.static("pairs", [(v, other) for v, n in fan_out.items() for other in range(n)])
    static.makeIndexOn("0")
    measures = live.room.statistics(SAMPLE, 16, 1.3)
    measures.addStatic(left.content, "0", static, "0")
    measures.addWindows(left.content, "0", right.content, "0")
    left.change(random_rows(rng, 600, 400, 1000))
    right.change(random_rows(rng, 600, 400, 1000))
    with_static = sum(fan_out.get(v, 0) for v, _ in left.rows)
    there = Counter(v for v, _ in right.rows)
    with_window = sum(there[v] for v, _ in left.rows)
    static_rows, window_rows = rows_told(measures.news(True))
    assert 0.6 * with_static < static_rows < 1.6 * with_static
    assert 0.6 * with_window < window_rows < 1.6 * with_window


def test_the_error_of_a_sample_is_told_and_falls_as_samples_add_up(live: LiveRoom) -> None:
    window, small = Window(live, "w"), Window(live, "small")
    static = live.static("pairs", [(key, key) for key in range(0, 20_000, 10)])
    static.makeIndexOn("0")
    measures = live.room.statistics(SAMPLE, 16, 1.3)
    measures.addStatic(window.content, "0", static, "0")
    measures.addStatic(small.content, "0", static, "0")
    window.change({(value, 1) for value in range(20_000)})
    small.change({(10, 1), (11, 1)})
    told = json.loads(measures.news(True))
    assert told["rows"][1:] == [1] and told["errors"][1:] == [0], "all of its rows were looked up"
    # One row of ten has a match, one at most: so a quarter of the sample is looked up.
    expected = 20_000 * math.sqrt(0.1 * 0.9 / (SAMPLE // 4))
    assert 0.4 * expected < told["errors"][0] < 1.6 * expected
    for _ in range(20):
        measures.news(True)
    small.change({(value, 1) for value in range(0, 400, 10)})
    assert json.loads(measures.news(True))["errors"][0] < 0.5 * expected


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


def _all(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]


@pytest.mark.parametrize("exact_values", [0, 64])
def test_a_window_that_is_emptied_at_once_is_as_one_that_was_never_filled(
    live: LiveRoom, exact_values: int
) -> None:
    window, fresh = Window(live, "w"), Window(live, "fresh")
    rng = random.Random(5)
    both, first, second = ints(live, 0, 1), ints(live, 0), ints(live, 1)
    counts, expected = window.counts(exact_values, 0), fresh.counts(exact_values, 0)
    for size in (300, 5000, 200, 250, 300):
        window.table.index(both, second)
        window.change(random_rows(rng, size, 90, 5000))
        before = (window.table.changes(), window.table.expiries())
        window.table.clear()
        assert (window.table.rowCount(), window.table.sightingCount(), counts.rowCount()) == (
            0,
            0,
            0,
        )
        assert window.table.changes() > before[0]
        assert window.table.expiries() == before[1] + len(window.rows)
        assert window.table.index(both, second).get(1) is None
        window.rows = set()
        rows = random_rows(rng, 200, 90, 300)
        window.change(rows)
        fresh.change(rows)
        assert counts.distinct() == expected.distinct()
        assert [counts.card(v) for v in range(90)] == [expected.card(v) for v in range(90)]
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


@pytest.mark.parametrize("at_once", [True, False])
def test_what_only_rehearsals_ask_for_rests_sooner(live: LiveRoom, at_once: bool) -> None:
    window = Window(live, "w")
    both, first, second = ints(live, 0, 1), ints(live, 0), ints(live, 1)

    def content(number: int) -> set[tuple[int, int]]:
        return {(number * 1000 + n % 50 + 1, n + 1) for n in range(200)}

    def change(rows: set[tuple[int, int]]) -> None:
        if at_once:
            window.table.clear()
            window.rows = set()
        window.change(rows)

    def rehearse(keys: Any) -> Any:
        for _ in range(3):
            window.table.trial(True)
            window.table.trial(True)  # two windows of the query may share a table
            index = window.table.index(both, keys)
            window.table.trial(False)
            window.table.trial(False)
        return index

    def kept_up() -> tuple[int, int]:
        return window.table.keptUpCount(), window.table.indexCount()

    window.change(content(0))
    window.table.index(both, first)
    rehearse(second)
    rehearse(first)
    assert kept_up() == (2, 2), "more runs may come"
    for number in (1,) if at_once else (9, 1):
        window.table.index(both, first)
        change(content(number))
    assert kept_up() == (1, 2), "the one that serves is kept up, though it was rehearsed, too"
    assert window.table.index(both, first).get(1001) is not None
    # What is made anew in a rehearsal is of the rows of now, and serves from then on if it is asked for.
    assert rehearse(second).get(7).next().getLong(0) == 1007
    window.table.index(both, second)
    change(content(2))
    assert kept_up() == (2, 2)
    assert window.table.index(both, second).get(7).next().getLong(0) == 2007
    # A rehearsal is no reason to keep up what served once.
    for number in (3, 4, 5):
        window.table.index(both, first)
        rehearse(second)
        change(content(number))
    assert kept_up() == (1, 2)


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
