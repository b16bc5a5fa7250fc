"""Which times are believed: by the clock, and in a replay by the elements themselves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.s2r.time_horizon import TimeHorizon

TIMES = st.lists(st.integers(-GREATEST_TIME, GREATEST_TIME), max_size=30)
CLUSTERED = st.lists(
    st.builds(lambda base, rest: base * 1000 + rest, st.integers(-3, 3), st.integers(0, 9)),
    min_size=1,
    max_size=30,
)


@given(TIMES, st.integers(1, 10**12))
def test_by_the_clock_what_is_further_ahead_is_not_believed(
    times: list[int], max_ahead: int
) -> None:
    now = 1_769_853_600_000
    horizon = TimeHorizon(max_ahead, lambda: now)
    ordered = sorted(times)
    count = horizon.believed(ordered)
    assert ordered[:count] == [time for time in ordered if time - now <= max_ahead]
    assert [horizon.passes(time) for time in times] == [t - now <= max_ahead for t in times]


@given(TIMES)
def test_without_a_limit_everything_is_believed(times: list[int]) -> None:
    assert TimeHorizon(0).believed(sorted(times)) == len(times)


@given(CLUSTERED, st.integers(20, 900))
def test_in_a_replay_most_times_are_believed_in_any_order(times: list[int], max_ahead: int) -> None:
    """Nine hundred apart or more are the clusters; neither an odd time before nor one behind silences the largest."""
    clusters = [time // 1000 for time in times]
    largest = min(set(clusters), key=lambda c: (-clusters.count(c), c))
    horizon = TimeHorizon(max_ahead)
    horizon.begin_replay(times)
    for time, cluster in zip(times, clusters, strict=True):
        believed = horizon.passes(time)
        assert believed == (cluster <= largest)
        if believed:
            horizon.note(time)
    horizon = TimeHorizon(max_ahead)
    horizon.begin_replay(times)
    assert horizon.believed(sorted(times)) == sum(cluster <= largest for cluster in clusters)


def test_a_long_way_in_small_steps_is_believed_in_a_replay() -> None:
    steps = list(range(0, 1000, 10))
    horizon = TimeHorizon(10)
    horizon.begin_replay(steps)
    assert horizon.believed(steps) == len(steps)
    for time in steps:
        assert horizon.passes(time)
        horizon.note(time)
