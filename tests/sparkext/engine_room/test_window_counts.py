"""Different values in the columns of windows, and how often each occurs."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.sparkext.engine_room.filled_windows import Window, filled, ints, random_rows
from tests.sparkext.engine_room.live_room import LiveRoom


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


def _all(sequence: Any) -> list[Any]:
    return [sequence.apply(i) for i in range(sequence.size())]
