"""A scheduler that goes on for another one finds the instants that it would have found."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.report import Strategy, any_of, default_policy, on_window, periodic
from sparkext.s2r.stream_times import StreamTimes
from sparkext.s2r.watermark import StreamWatermark
from sparkext.s2r.windows import (
    ElementsWindow,
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)

WINDOWS: tuple[WindowSpec, ...] = (
    SlidingWindow(7, 3, 2),
    SlidingWindow(4, 6),
    RangeWindow(5),
    NowWindow(),
    LandmarkWindow(3),
    ElementsWindow(3, None),
    ElementsWindow(2, 3),
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.lists(st.sampled_from(WINDOWS), min_size=1, max_size=2),
    st.sampled_from(["default", "periodic", "strict", "close"]),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 60), min_size=1, max_size=4)),
        max_size=10,
    ),
    st.integers(0, 9),
)
def test_a_restored_scheduler_goes_on(windows, kind, pushes, cut):
    policy = {
        "default": default_policy(windows),
        "periodic": periodic(4, 1),
        "strict": on_strict(len(windows)),
        "close": any_of(on_window(0, Strategy.WINDOW_CLOSE)),
    }[kind]
    placed = [("ab"[place % 2], window) for place, window in enumerate(windows)]
    whole, times, marks = made(placed, policy)
    found: list[int] = []
    other = None
    others: list[int] = []
    for number, (stream, at) in enumerate(pushes):
        if number == cut:
            state = json.loads(json.dumps(whole.state()))
            other, other_times, other_marks = made(placed, policy)
            for name, kept in times.items():
                other_times[name].add(kept.times, [kept.counts[time] for time in kept.times])
                mark = marks[name]
                complete = mark.complete_up_to
                other_marks[name].restore(complete, complete, mark.on_time_count, mark.late_count)
            other.restore(state)
            others = list(found)
        if stream not in times:
            continue
        feed(whole, times, marks, stream, at)
        found += whole.due()
        if other is not None:
            feed(other, other_times, other_marks, stream, at)
            others += other.due()
    whole.finish()
    found += whole.due()
    if other is not None:
        other.finish()
        others += other.due()
        assert others == found
        assert other.settled_up_to == whole.settled_up_to
        assert other.waits_for() == whole.waits_for()


def on_strict(windows: int):
    return any_of(*(on_window(place, Strategy.STRICT_CONTENT_CHANGE) for place in range(windows)))


def made(placed, policy):
    times = {stream: StreamTimes() for stream, _ in placed}
    marks = {stream: StreamWatermark() for stream, _ in placed}
    return InstantScheduler(placed, policy, marks, times), times, marks


def feed(scheduler, times, marks, stream, at):
    arrivals = marks[stream].observe(sorted(at), settled=scheduler.settled_up_to)
    counted: dict[int, int] = {}
    for time in arrivals.on_time:
        counted[time] = counted.get(time, 0) + 1
    if counted:
        times[stream].add(sorted(counted), [counted[time] for time in sorted(counted)])
