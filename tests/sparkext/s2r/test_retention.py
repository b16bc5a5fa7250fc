"""What is kept of a stream: all that a window may still show, however its query's instants come about."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.derived_windows import ClosedOpenWindow, ComposedWindow, DelayedWindow
from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.report import ReportPolicy, default_policy
from sparkext.s2r.retention import still_shown
from sparkext.s2r.watermark import FOREVER, NEVER
from sparkext.s2r.windows import (
    IntervalWindow,
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)
from tests.sparkext.s2r.test_instants import queries_with_policies, windows
from tests.sparkext.s2r.window_definitions import content


@settings(max_examples=300, derandomize=True, deadline=None)
@given(windows, st.integers(-5, 50))
def test_no_later_instant_shows_what_lies_outside(window: WindowSpec, decided: int) -> None:
    low, high = still_shown(window, decided)
    assert low <= high
    kept = [time for time in range(60) if low < time <= high]
    for t in range(decided + 1, 60):
        assert set(content(window, list(range(60)), t)) <= set(kept)


@pytest.mark.parametrize(
    ("window", "decided", "stretch"),
    [
        (NowWindow(), 10, (10, FOREVER)),
        (RangeWindow(5), NEVER, (NEVER, FOREVER)),
        (SlidingWindow(5, 5, 100), 10, (11, FOREVER)),  # nothing before its start
        (SlidingWindow(2, 100), 50, (51, FOREVER)),  # in a gap
        (LandmarkWindow(20), 90, (19, FOREVER)),
        (IntervalWindow(20, 30), 90, (19, 30)),
        (ClosedOpenWindow(IntervalWindow(20, 30)), 90, (18, 29)),
        (DelayedWindow(IntervalWindow(20, 30), 5), 90, (19, 30)),
        (ComposedWindow(IntervalWindow(20, 30), LandmarkWindow(25)), 10, (24, 30)),
        (ComposedWindow(RangeWindow(5), IntervalWindow(20, 30)), 90, (86, 86)),
    ],
)
def test_what_each_kind_may_still_show(
    window: WindowSpec, decided: int, stretch: tuple[int, int]
) -> None:
    assert still_shown(window, decided) == stretch


steps = st.tuples(
    st.sampled_from("ab"), st.lists(st.integers(0, 40), max_size=3), st.sampled_from([0, 0, 50])
)


@settings(max_examples=600, derandomize=True, deadline=None)
@given(
    queries_with_policies(),
    st.lists(steps, max_size=10),
    st.integers(0, 6),
    st.sampled_from([None, 40]),
)
def test_dropping_takes_nothing_from_an_instant_to_come(
    query_and_policy: tuple[list[tuple[str, WindowSpec]], ReportPolicy],
    batches: list[tuple[str, list[int], int]],
    lateness: int,
    idle_timeout: int | None,
) -> None:
    """Streams that are late, silent and idle; instants of empty stretches, which come out long after."""
    query, policy = query_and_policy
    clock = [0]
    scheduler = InstantScheduler(
        query,
        policy,
        allowed_lateness=lateness,
        idle_timeout=idle_timeout,
        clock=lambda: clock[0],
    )
    arrived: list[list[int]] = [[] for _ in query]
    kept: list[list[int]] = [[] for _ in query]

    def evaluate_and_drop() -> None:
        for t in scheduler.due():
            for (_, window), all_times, times in zip(query, arrived, kept, strict=True):
                assert content(window, times, t) == content(window, all_times, t), (window, t)
        for place, (stream, window) in enumerate(query):
            low, high = still_shown(window, scheduler.emptied_up_to)
            passed = max(scheduler.watermarks[stream].complete_up_to, scheduler.settled_up_to)
            kept[place] = [time for time in kept[place] if time > passed or low < time <= high]

    for stream, times, elapsed in batches:
        clock[0] += elapsed
        if stream in scheduler.watermarks:
            on_time = scheduler.push(stream, sorted(times)).on_time
            for place, (read, _) in enumerate(query):
                if read == stream:
                    arrived[place] = sorted(arrived[place] + on_time)
                    kept[place] = sorted(kept[place] + on_time)
        evaluate_and_drop()
    scheduler.finish()
    evaluate_and_drop()


def test_where_nothing_is_left_to_show_completeness_decides() -> None:
    query = InstantScheduler(
        [("a", IntervalWindow(20, 30)), ("b", NowWindow())],
        default_policy([IntervalWindow(20, 30), NowWindow()]),
    )
    query.push("a", [5, 12])
    assert query.emptied_up_to == NEVER  # whatever b brings
    query.push("b", [3])
    list(query.due())
    assert (query.settled_up_to, query.emptied_up_to) == (2, 2)
    query.push("a", [25, 90])
    query.push("b", [60])
    assert list(query.due()) == [3, 30]
    assert (query.settled_up_to, query.emptied_up_to) == (59, 59)
    query.push("b", [80])
    assert list(query.due()) == [60]
    query.finish("b")
    assert list(query.due()) == [80]
    assert (query.settled_up_to, query.emptied_up_to) == (80, 89)
