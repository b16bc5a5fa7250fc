"""Evaluation instants against brute force, however the input is cut, and over long silences."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.errors import UnknownStreamError
from sparkext.s2r.derived_windows import (
    ClosedOpenWindow,
    ComposedWindow,
    DelayedWindow,
    LastClosedWindow,
)
from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.report import (
    Condition,
    ReportPolicy,
    Rule,
    Strategy,
    default_policy,
    periodic,
)
from sparkext.s2r.retention import still_shown
from sparkext.s2r.watermark import FOREVER, NEVER, StreamWatermark
from sparkext.s2r.windows import (
    ElementsWindow,
    IntervalWindow,
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)
from tests.sparkext.s2r.window_definitions import content, instants_by_definition

YEAR = 365 * 24 * 3600 * 1000

sliding = st.builds(SlidingWindow, st.integers(1, 6), st.integers(1, 6), st.integers(0, 5))
timed = st.one_of(
    sliding,
    st.builds(RangeWindow, st.integers(1, 6)),
    st.just(NowWindow()),
    st.builds(LandmarkWindow, st.none() | st.integers(0, 30)),
    st.tuples(st.integers(0, 30), st.integers(0, 15)).map(
        lambda pair: IntervalWindow(pair[0], sum(pair))
    ),
    st.builds(ClosedOpenWindow, sliding),
    st.builds(ClosedOpenWindow, st.builds(LastClosedWindow, sliding, st.booleans())),
)
windows = st.one_of(
    timed,
    st.builds(ElementsWindow, st.integers(1, 4), st.none() | st.integers(1, 3)),
    st.builds(
        DelayedWindow,
        st.one_of(sliding, st.builds(RangeWindow, st.integers(1, 6))),
        st.integers(1, 9),
    ),
    st.builds(ComposedWindow, timed, timed),
)
queries = st.lists(st.tuples(st.sampled_from("ab"), windows), min_size=1, max_size=3)


@st.composite
def queries_with_policies(draw: st.DrawFn) -> tuple[list[tuple[str, WindowSpec]], ReportPolicy]:
    query = draw(queries)
    conditions = st.builds(Condition, st.sampled_from(Strategy), st.integers(0, len(query) - 1))
    rules = st.builds(
        Rule,
        st.lists(conditions, min_size=1, max_size=3, unique=True).map(tuple),
        st.none() | st.integers(1, 5),
    )
    specs = [window for _, window in query]
    policy = st.one_of(
        st.builds(ReportPolicy, st.lists(rules, min_size=1, max_size=3).map(tuple)),
        st.builds(periodic, st.integers(1, 5)),
        st.just(default_policy(specs)),
    )
    return query, draw(policy)


elements = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 40)), max_size=12)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(queries_with_policies(), elements)
def test_at_the_end_the_instants_are_those_of_the_definition(
    query_and_policy: tuple[list[tuple[str, WindowSpec]], ReportPolicy],
    arrivals: list[tuple[str, int]],
) -> None:
    query, policy = query_and_policy
    scheduler = InstantScheduler(query, policy)
    arrived = {
        stream: sorted(t for s, t in arrivals if s == stream) for stream in scheduler.watermarks
    }
    for stream, times in arrived.items():
        scheduler.push(stream, times)
    scheduler.finish()
    assert list(scheduler.due()) == instants_by_definition(query, policy, arrived)
    assert list(scheduler.due()) == []


def comes_late(query: InstantScheduler, stream: str, time: int) -> bool:
    """Whether a query can no longer take in an element of that time."""
    return time <= query.settled_up_to or query.watermarks[stream].is_late(time)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    queries_with_policies(),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 40), max_size=4)), max_size=8
    ),
    st.integers(0, 6),
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
)
def test_instants_come_in_time_and_once_however_the_input_is_cut(
    query_and_policy: tuple[list[tuple[str, WindowSpec]], ReportPolicy],
    batches: list[tuple[str, list[int]]],
    lateness: int,
    pulls: list[int],
) -> None:
    """Late elements aside, each prefix of the input yields the instants known to be complete."""
    query, policy = query_and_policy
    scheduler = InstantScheduler(query, policy, allowed_lateness=lateness)
    arrived: dict[str, list[int]] = {stream: [] for stream in scheduler.watermarks}
    seen: list[int] = []
    decided = NEVER
    for (stream, times), pulled in zip(batches, pulls, strict=False):
        if stream not in arrived:
            continue
        expected_late = [t for t in times if comes_late(scheduler, stream, t)]
        batch = sorted(times)
        taken = scheduler.push(stream, batch)
        assert sorted(taken.on_time + taken.late) == batch
        assert set(expected_late) <= set(taken.late)
        arrived[stream] += taken.on_time
        before = len(seen)
        seen += itertools.islice(scheduler.due(), pulled)
        complete = min(mark.complete_up_to for mark in scheduler.watermarks.values())
        assert all(t <= complete for t in seen)
        if pulled == 3:
            seen += scheduler.due()
            known = instants_by_definition(query, policy, arrived)
            assert seen == [t for t in known if t <= complete]
            assert all(t > decided for t in seen[before:])
            assert scheduler.settled_up_to <= scheduler.decided_up_to
            decided = scheduler.decided_up_to
    scheduler.finish()
    last = list(scheduler.due())
    assert all(t > decided for t in last)
    seen += last
    assert seen == instants_by_definition(query, policy, arrived)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    queries_with_policies(),
    st.lists(
        st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 60), max_size=3)), max_size=8
    ),
)
def test_contents_that_are_told_to_be_the_same_are(
    query_and_policy: tuple[list[tuple[str, WindowSpec]], ReportPolicy],
    batches: list[tuple[str, list[int]]],
) -> None:
    """And none is told to have changed where it was the same at each instant in between."""
    query, policy = query_and_policy
    scheduler = InstantScheduler(query, policy)
    arrived: dict[str, list[int]] = {stream: [] for stream in "ab"}
    seen: int | None = None

    def shown(t: int) -> list[list[int]]:
        return [content(window, sorted(arrived[stream]), t) for stream, window in query]

    for stream, times in [*batches, ("", [])]:
        if stream in scheduler.watermarks:
            arrived[stream] += scheduler.push(stream, sorted(times)).on_time
        elif not stream:
            scheduler.finish()
        for t in scheduler.due():
            if seen is None:
                assert scheduler.changed
            else:
                between = [shown(at) == shown(t) for at in range(seen, t)]
                assert scheduler.changed == (not all(between))
            scheduler.note_content()
            seen = t


def test_what_windows_began_with_may_leave_them() -> None:
    """A query that is registered while its stream runs is not told of what other windows have kept."""
    query = InstantScheduler([("s", RangeWindow(10)), ("s", NowWindow())], periodic(5))
    query.began_with("s", 7)
    query.push("s", [8, 40])
    seen = []
    for t in query.due():
        seen.append((t, query.changed))
        query.note_content()
    assert seen == [(10, True), (15, True), (20, True), (25, False), (30, False), (35, False)]


def test_an_instant_waits_for_a_later_time_a_promise_or_the_end() -> None:
    """Elements of the same time may still come with the next push."""
    query = InstantScheduler([("s", NowWindow())], default_policy([NowWindow()]))
    query.push("s", [10])
    assert list(query.due()) == []
    query.push("s", [10, 11])
    assert list(query.due()) == [10]
    query.advance_to(11)
    assert list(query.due()) == [11]
    assert query.push("s", [11]).late == [11]
    query.push("s", [12])
    query.finish()
    assert list(query.due()) == [12]
    assert query.push("s", [99]).late == [99]
    assert query.late_count == 2


def test_several_streams_wait_for_the_slowest() -> None:
    specs = [NowWindow(), NowWindow()]
    query = InstantScheduler([("a", specs[0]), ("b", specs[1])], default_policy(specs))
    query.push("a", [1, 5, 9])
    assert list(query.due()) == []
    query.push("b", [6])
    assert list(query.due()) == [1, 5]
    query.finish("b")
    assert list(query.due()) == [6]
    query.finish("a")
    assert list(query.due()) == [9]


def test_an_idle_stream_is_not_waited_for() -> None:
    now = [0]
    specs = [NowWindow(), NowWindow()]
    query = InstantScheduler(
        [("a", specs[0]), ("b", specs[1])],
        default_policy(specs),
        idle_timeout=1000,
        clock=lambda: now[0],
    )
    query.push("a", [1, 5, 9])
    now[0] = 999
    query.push("a", [20])
    assert list(query.due()) == []
    now[0] = 1000
    assert list(query.due()) == [1, 5, 9]
    # What b sends for the time already decided without it is late; what comes after is not.
    assert query.settled_up_to == 19
    taken = query.push("b", [4, 19, 20, 22], counts=[2, 1, 1, 1])
    assert (taken.late, taken.late_elements, taken.on_time) == ([4, 19], 3, [20, 22])
    assert query.late_count == query.watermarks["b"].late_count == 3
    assert list(query.due()) == []
    now[0] = 2500
    assert list(query.due()) == [20]


def test_what_is_complete_is_decided_where_elements_make_the_instants() -> None:
    window = SlidingWindow(10, 10)
    query = InstantScheduler([("a", window)], default_policy([window]))
    query.advance_to(4)
    assert query.decided_up_to == 4
    query.push("a", [5])
    query.advance_to(50)
    assert list(query.due()) == [10]
    assert query.decided_up_to == 50
    query.finish()
    assert query.decided_up_to == FOREVER


def test_what_an_idle_stream_may_still_bring_is_not_decided() -> None:
    now = [0]
    window = NowWindow()
    both = [("a", window), ("b", window)]
    query = InstantScheduler(
        both, default_policy([window] * 2), idle_timeout=10, clock=lambda: now[0]
    )
    query.push("b", [3])
    now[0] = 10
    query.push("a", [7])
    query.advance_to(20, "a")
    assert list(query.due()) == [3, 7]
    assert query.decided_up_to == 7
    query.push("b", [8])
    query.advance_to(20)
    assert list(query.due()) == [8]
    assert query.decided_up_to == 20


def test_allowed_lateness_delays_the_instants_and_takes_in_what_comes_out_of_order() -> None:
    query = InstantScheduler(
        [("s", SlidingWindow(10, 10))], default_policy([SlidingWindow(10, 10)]), allowed_lateness=5
    )
    query.push("s", [3, 14])
    assert list(query.due()) == []
    assert [comes_late(query, "s", time) for time in (9, 8)] == [False, True]
    taken = query.push("s", [9, 8])
    assert (taken.on_time, taken.late) == ([9], [8])
    query.push("s", [16])
    assert list(query.due()) == [10]


def test_streams_shared_by_queries_have_one_watermark() -> None:
    shared = {"s": StreamWatermark(), "other": StreamWatermark()}
    now = InstantScheduler([("s", NowWindow())], default_policy([NowWindow()]), shared)
    window = SlidingWindow(5, 5)
    sliding = InstantScheduler([("s", window)], default_policy([window]), shared)
    on_time = shared["s"].observe([1, 2, 6]).on_time
    assert now.add("s", on_time) == sliding.add("s", on_time) == []
    assert list(now.due()) == [1, 2]
    assert list(sliding.due()) == [5]
    assert shared["s"].observe([6, 3]).late == [3]
    assert (shared["s"].on_time_count, shared["s"].late_count) == (4, 1)


def test_years_of_silence_are_jumped_over() -> None:
    """Steps counted, not time: trying every closing would take 3e12 of them."""
    window = SlidingWindow(width=30, slide=1)
    times = [k * YEAR + 7 for k in range(100)]
    query = InstantScheduler([("s", window)], default_policy([window]))
    query.push("s", times)
    query.finish()
    assert sum(1 for _ in query.due()) == 7 + 99 * 30  # the first falls into 7 windows only
    assert query.steps < 5 * 100 * 30


def test_a_silence_before_a_promise_costs_nothing() -> None:
    window = SlidingWindow(1000, 1000)
    query = InstantScheduler([("s", window)], default_policy([window]))
    query.push("s", [1])
    query.advance_to(50 * YEAR)
    assert list(query.due()) == [1000]
    assert query.steps < 10


def test_memory_follows_the_windows_and_retention_the_instants() -> None:
    window = SlidingWindow(100, 10)
    query = InstantScheduler([("s", window), ("s", NowWindow())], default_policy([window]))
    assert query.settled_up_to == NEVER
    for start in range(0, 100_000, 50):
        query.push("s", range(start, start + 50))
        for _ in query.due():
            pass
    assert len(query._times["s"].times) <= 400
    assert query.settled_up_to == 99_998
    assert still_shown(window, query.emptied_up_to)[0] == 99_900


def test_a_long_search_pauses() -> None:
    """Conditions that never agree are tried at each instant of a year."""
    window = SlidingWindow(2, 2, 1)
    rule = Rule((Condition(Strategy.WINDOW_CLOSE, 0),), every=2)
    query = InstantScheduler([("s", window)], ReportPolicy((rule,)))
    query.push("s", [5, YEAR])
    pauses = [0]

    def pause() -> None:
        pauses[0] += 1
        if pauses[0] == 3:
            raise InterruptedError

    query.pause_by(pause)
    query.finish()
    with pytest.raises(InterruptedError):
        query.next_due()


def test_unknown_streams_are_named() -> None:
    query = InstantScheduler([("http://s", NowWindow())], default_policy([NowWindow()]))
    with pytest.raises(UnknownStreamError, match="http://t"):
        query.push("http://t", [1])
    with pytest.raises(UnknownStreamError, match="known: <http://s>"):
        query.advance_to(5, "http://t")
