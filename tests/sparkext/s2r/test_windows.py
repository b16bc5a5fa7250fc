"""Windows of RSP-QL (2014): Examples 6, 7, 11, gaps, Theorem 1, and what the panes rely on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.windows import (
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowError,
    WindowSpec,
)

NEARBY = [("diana a", 2), ("eve b", 2), ("carl a", 5), ("eve a", 7), ("diana b", 12)]

quick = settings(max_examples=200, derandomize=True, deadline=None)
sliding = st.builds(SlidingWindow, st.integers(1, 9), st.integers(1, 9), st.integers(-4, 6))
windows = st.one_of(sliding, st.builds(RangeWindow, st.integers(1, 9)), st.just(NowWindow()))


def content(window: WindowSpec, t: int, elements: list[tuple[str, int]] = NEARBY) -> list[str]:
    low, high = window.present_bounds(t)
    return [name for name, time in elements if low < time <= high]


def closings(window: WindowSpec, after: int, upto: int) -> list[int]:
    """The closing instants c with after < c <= upto, one after the other."""
    found: list[int] = []
    close = window.next_close(after)
    while close is not None and close <= upto:
        found.append(close)
        close = window.next_close(close)
    return found


def windows_by_definition(window: SlidingWindow, upto: int) -> list[tuple[int, int]]:
    """All (open, close] with open < upto (Definition 12), written out."""
    found, opening = [], window.start
    while opening < upto:
        found.append((opening, opening + window.width))
        opening += window.slide
    return found


def test_example_6_a_window_leaves_its_opening_out_and_keeps_its_close() -> None:
    assert content(SlidingWindow(4, 4), 8) == ["carl a", "eve a"]
    assert content(SlidingWindow(4, 4), 8, [("at open", 4), ("at close", 8)]) == ["at close"]


def test_example_7_present_window_is_the_first_opened_of_the_open_ones() -> None:
    w1 = SlidingWindow(5, 2, 1)
    assert w1.present_bounds(9) == (5, 9)
    assert w1.next_close(8) == 10
    assert content(w1, 9) == ["eve a"]


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, ["diana a", "eve b", "carl a"]),
        (1, ["diana a", "eve b", "carl a"]),
        (2, ["carl a", "eve a"]),
    ],
)
def test_example_11_first_window_by_definition_12(start: int, expected: list[str]) -> None:
    window = SlidingWindow(5, 2, start)
    first_close = window.next_close(start)
    assert first_close == start + 5
    assert content(window, first_close) == expected


def test_window_listing_of_w1_and_w2() -> None:
    assert closings(SlidingWindow(5, 2, 1), 0, 16) == [6, 8, 10, 12, 14, 16]
    assert closings(SlidingWindow(2, 2, 0), 2, 8) == [4, 6, 8]
    assert not closings(SlidingWindow(5, 2, 1), 6, 7)


def test_gap_window_is_empty_between_its_windows() -> None:
    """Slip S-001-6: (2,5,0) at 4 lies after (0,2] and before (5,7]."""
    window = SlidingWindow(2, 5)
    assert window.present_bounds(4) == (4, 4)
    assert [t for t in range(-2, 13) if window.holds(t)] == [1, 2, 6, 7, 11, 12]


def test_no_window_is_open_up_to_the_start() -> None:
    window = SlidingWindow(5, 2, 1)
    assert [content(window, t, [("early", 1), ("early", 0)]) for t in (0, 1, 2, 6)] == [[]] * 4


def test_range_and_now() -> None:
    assert content(RangeWindow(5), 10) == ["eve a"]
    assert content(RangeWindow(5), 9) == ["carl a", "eve a"]
    assert [content(NowWindow(), t) for t in (1, 2, 3)] == [[], ["diana a", "eve b"], []]
    assert closings(NowWindow(), 3, 6) == [4, 5, 6]
    assert RangeWindow(3).closes_at(-7)


def test_equality_and_bad_windows() -> None:
    assert SlidingWindow(5, 2) == SlidingWindow(5, 2, 0)
    assert len({RangeWindow(5), RangeWindow(5), NowWindow(), NowWindow()}) == 2
    for bad in (lambda: SlidingWindow(0, 1), lambda: SlidingWindow(1, 0), lambda: RangeWindow(-1)):
        with pytest.raises(WindowError, match="at least 1 ms"):
            bad()


@quick
@given(sliding, st.integers(-10, 60))
def test_present_bounds_closings_and_leaving_follow_the_definition(
    window: SlidingWindow, t: int
) -> None:
    all_windows = windows_by_definition(window, 100)
    is_open = [(lo, hi) for lo, hi in all_windows if lo < t <= hi]
    assert window.present_bounds(t) == ((min(is_open)[0], t) if is_open else (t, t))
    closes = [hi for _, hi in all_windows]
    assert window.closes_at(t) == (t in closes)
    assert window.next_close(t) == min(hi for hi in closes if hi > t)
    expected = [hi for hi in closes if t < hi <= t + 20]
    assert closings(window, t, t + 20) == expected


@quick
@given(windows, st.integers(-10, 60))
def test_an_element_is_shown_from_its_time_until_it_leaves(window: WindowSpec, time: int) -> None:
    shown = [t for t in range(time, time + 40) if content(window, t, [("e", time)])]
    assert shown == list(range(time, window.leaves_at(time)))
    assert window.holds(time) == bool(shown)


@quick
@given(windows, st.integers(-10, 60))
def test_present_bounds_never_decrease(window: WindowSpec, t: int) -> None:
    (low, high), (next_low, next_high) = window.present_bounds(t), window.present_bounds(t + 1)
    assert low <= next_low
    assert high <= next_high
    assert low <= high == t


@quick
@given(
    st.integers(1, 7),
    st.integers(1, 5),
    st.integers(0, 5),
    st.integers(1, 4),
    st.lists(st.integers(0, 30), max_size=25),
)
def test_theorem_1_late_starters_agree_from_some_time_on(
    width: int, slide: int, start: int, skipped: int, times: list[int]
) -> None:
    """W' = (a, b, s) and W'' = (a, b, s + n b), from the bound of slip S-001-5 on."""
    elements = [(str(place), time) for place, time in enumerate(sorted(times))]
    early, late = (
        SlidingWindow(width, slide, start),
        SlidingWindow(width, slide, start + skipped * slide),
    )
    bound = max(late.start, start + (skipped - 1) * slide + width)
    for t in range(bound + 1, 60):
        assert content(early, t, elements) == content(late, t, elements)
    for t in closings(late, 0, 60):
        assert content(early, t, elements) == content(late, t, elements)


def test_theorem_1_starts_later_than_printed() -> None:
    """Slip S-001-5: alpha 5, beta 2, start 1, n 1 differs at 3, 4, 5, 6."""
    early, late = SlidingWindow(5, 2, 1), SlidingWindow(5, 2, 3)
    assert [t for t in range(3, 30) if content(early, t) != content(late, t)] == [3, 4, 5, 6]
