"""What is measured of a join cluster before an evaluation, and when it is told."""

from __future__ import annotations

import json
import math
import random
from collections import Counter

import pytest

from tests.sparkext.engine_room.filled_windows import Window, filled, random_rows
from tests.sparkext.engine_room.live_room import LiveRoom

SAMPLE = 50


def rows_told(news: str) -> list[float]:
    """The rows that measures tell; there is an error for each."""
    told = json.loads(news)
    assert len(told["errors"]) == len(told["rows"])
    rows: list[float] = told["rows"]
    return rows


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
