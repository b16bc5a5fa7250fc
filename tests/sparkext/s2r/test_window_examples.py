"""Windows of the RSEP-QL paper (section 3, Examples 2 and 5) and of RSP-QL* (Definitions 5 and 15)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkext.s2r.derived_windows import (
    ClosedOpenWindow,
    ComposedWindow,
    DelayedWindow,
    LastClosedWindow,
)
from sparkext.s2r.windows import (
    ElementsWindow,
    IntervalWindow,
    LandmarkWindow,
    RangeWindow,
    SlidingWindow,
    WindowError,
    WindowSpec,
)
from tests.sparkext.s2r.test_instants import timed
from tests.sparkext.s2r.window_definitions import content

GRAPHS = {2: "G1", 4: "G2", 6: "G3", 8: "G4", 10: "G5"}
READINGS = {0: "E0", 5: "E1", 10: "E2", 15: "E3", 19: "E4", 20: "E5"}


def shown(window: WindowSpec, t: int, elements: dict[int, str]) -> list[str]:
    low, high = window.present_bounds(t)
    return [name for time, name in elements.items() if low < time <= high]


@pytest.mark.parametrize(
    ("window", "t", "expected"),
    [
        (LandmarkWindow(1), 8, ["G1", "G2", "G3", "G4"]),
        (SlidingWindow(5, 1), 8, ["G2", "G3", "G4"]),  # slip S-004-2: not G1
        (ComposedWindow(IntervalWindow(0, 5), LandmarkWindow(1)), 8, ["G1", "G2"]),
        (SlidingWindow(5, 1), 12, ["G4", "G5"]),  # Example 5
        (LandmarkWindow(), 8, ["G1", "G2", "G3", "G4"]),  # identity
        (LandmarkWindow(9), 8, []),  # slip S-004-1: [LND 9] would match nothing at 8
        (IntervalWindow(4, 6), 5, ["G2"]),
        (IntervalWindow(4, 6), 20, ["G2", "G3"]),  # both ends are in
    ],
)
def test_rsep_ql_windows(window: WindowSpec, t: int, expected: list[str]) -> None:
    assert shown(window, t, GRAPHS) == expected


@pytest.mark.parametrize(
    ("tau", "strictly", "just_after"),
    [
        (10, None, (0, 10)),
        (11, (0, 10), (0, 10)),
        (15, (0, 10), (5, 15)),
        (16, (5, 15), (5, 15)),
        (20, (5, 15), (10, 20)),
        (21, (10, 20), (10, 20)),
        (25, (10, 20), (15, 25)),
        (26, (15, 25), (15, 25)),
    ],
)
def test_rsp_ql_star_definition_15(
    tau: int, strictly: tuple[int, int] | None, just_after: tuple[int, int]
) -> None:
    """Slips S-002-1 and S-002-2; [l, u) holds l <= time < u."""
    for literal, expected in ((True, strictly), (False, just_after)):
        window = ClosedOpenWindow(LastClosedWindow(SlidingWindow(10, 5), literal))
        within = [
            name
            for time, name in READINGS.items()
            if expected is not None and expected[0] <= time < expected[1]
        ]
        assert shown(window, tau, READINGS) == within


def test_rsp_ql_star_definition_5_edges() -> None:
    closed_open = ClosedOpenWindow(SlidingWindow(10, 10))
    assert shown(closed_open, 20, READINGS) == ["E2", "E3", "E4"]
    assert shown(SlidingWindow(10, 10), 20, READINGS) == ["E3", "E4", "E5"]


def test_past_windows_are_seen_later_and_close_later() -> None:
    assert shown(DelayedWindow(RangeWindow(5), 4), 12, GRAPHS) == ["G2", "G3", "G4"]
    tumbling = DelayedWindow(SlidingWindow(5, 5), 3)
    assert [tumbling.next_close(t) for t in (0, 8, 9)] == [8, 13, 13]
    assert shown(tumbling, 8, GRAPHS) == ["G1", "G2"]


def test_windows_that_are_none() -> None:
    for bad in (
        lambda: IntervalWindow(5, 4),
        lambda: ElementsWindow(0),
        lambda: ElementsWindow(2, 0),
        lambda: DelayedWindow(RangeWindow(5), 0),
    ):
        with pytest.raises(WindowError):
            bad()


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.one_of(
        timed,
        st.builds(DelayedWindow, timed, st.integers(1, 9)),
        st.builds(ComposedWindow, timed, timed),
    ),
    st.lists(st.integers(0, 40), max_size=12).map(sorted),
)
def test_bounds_show_what_the_definition_says_and_never_go_back(
    window: WindowSpec, times: list[int]
) -> None:
    before = window.present_bounds(-5)
    for t in range(-4, 60):
        low, high = window.present_bounds(t)
        assert before[0] <= low <= high and before[1] <= high
        assert [time for time in times if low < time <= high] == content(window, times, t)
        before = (low, high)
