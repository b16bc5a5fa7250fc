"""Report policies of RSP-QL (2014): Examples 9, 10 and 13, Definition 23, and the defaults."""

from __future__ import annotations

import pytest

from sparkext.errors import ConfigurationError
from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.report import (
    ReportPolicy,
    ReportPolicyError,
    Rule,
    Strategy,
    any_of,
    content_change_policy,
    default_policy,
    on_window,
    periodic,
    policy_of_profile,
)
from sparkext.s2r.windows import NowWindow, RangeWindow, SlidingWindow, WindowSpec

NEARBY = [2, 2, 5, 7, 12]
COUPON = [8, 15]
W1 = SlidingWindow(5, 2, 1)
W2 = SlidingWindow(2, 2, 0)
NC, WC = Strategy.NON_EMPTY, Strategy.WINDOW_CLOSE
CC, STRICT = Strategy.CONTENT_CHANGE, Strategy.STRICT_CONTENT_CHANGE


def instants(
    policy: ReportPolicy, windows: dict[str, WindowSpec], streams: dict[str, list[int]]
) -> list[int]:
    query = InstantScheduler(list(windows.items()), policy)
    for stream, times in streams.items():
        query.push(stream, times)
    query.finish()
    return list(query.due())


def on_nearby(*strategies: Strategy) -> list[int]:
    return instants(any_of(on_window(0, *strategies)), {"nearby": W1}, {"nearby": NEARBY})


def test_example_9_wc_and_nc_on_the_coupons() -> None:
    assert instants(default_policy([W2]), {"coupon": W2}, {"coupon": COUPON}) == [8, 16]


def test_example_10_tying_the_policy_to_the_second_window() -> None:
    windows, streams = {"nearby": W1, "coupon": W2}, {"nearby": NEARBY, "coupon": COUPON}
    assert instants(any_of(on_window(1, WC, NC)), windows, streams) == [8, 16]


def test_example_13_wc_and_nc() -> None:
    """C-SPARQL and SPARQLstream; (13,18] and later are empty."""
    assert on_nearby(WC, NC) == [6, 8, 10, 12, 14, 16]
    for profile in ("rspql", "csparql", "sparqlstream"):
        policy = policy_of_profile(profile, [W1])
        assert instants(policy, {"s": W1}, {"s": NEARBY}) == [6, 8, 10, 12, 14, 16]


def test_example_13_cqels_content_change_is_an_arrival() -> None:
    policy = policy_of_profile("cqels", [W1])
    assert policy == content_change_policy([W1])
    assert instants(policy, {"s": W1}, {"s": NEARBY}) == [2, 5, 7, 12]


def test_definition_23_numbers_for_1_to_20() -> None:
    assert on_nearby(NC) == [*range(2, 11), *range(12, 17)]
    assert on_nearby(STRICT) == [2, 5, 7, 9, 11, 12, 17]
    assert on_nearby(CC) == [2, 5, 7, 12]
    # WC alone runs from the first element to the close of the last window that holds one.
    assert on_nearby(WC) == [6, 8, 10, 12, 14, 16]


def test_slip_s_001_9_any_sliding_window_that_closes_non_empty() -> None:
    windows, streams = {"a": SlidingWindow(4, 4), "b": SlidingWindow(6, 6)}, {"a": [1], "b": [7]}
    assert instants(default_policy(list(windows.values())), windows, streams) == [4, 12]


def test_windows_without_step_report_where_an_element_enters() -> None:
    windows, streams = {"a": NowWindow(), "b": RangeWindow(30)}, {"a": [1, 9], "b": [5, 9]}
    assert instants(default_policy(list(windows.values())), windows, streams) == [1, 5, 9]


def test_one_stream_under_two_windows() -> None:
    query = InstantScheduler(
        [("s", NowWindow()), ("s", RangeWindow(30))],
        default_policy([NowWindow(), RangeWindow(30)]),
    )
    query.push("s", [3, 4])
    assert list(query.due()) == [3]


def test_where_some_windows_slide_each_reports_by_its_kind() -> None:
    windows = {"a": SlidingWindow(10, 10), "b": NowWindow()}
    streams = {"a": [3, 21], "b": [4, 10, 35]}
    assert instants(default_policy(list(windows.values())), windows, streams) == [4, 10, 30, 35]


def test_computed_every_from_the_first_element_to_the_close_of_the_last_window() -> None:
    windows, streams = {"a": SlidingWindow(5, 5), "b": RangeWindow(4)}, {"a": [13], "b": [3]}
    # (10,15] is the last window that holds an element; the first element comes at 3.
    policy = default_policy(list(windows.values()), every=4)
    assert policy == periodic(4)
    assert instants(policy, windows, streams) == [4, 8, 12]
    # (t - 4, t] holds the element of 10 until 13.
    assert instants(periodic(1), {"s": RangeWindow(4)}, {"s": [10]}) == [10, 11, 12, 13]
    assert policy_of_profile("cqels", [W1], every=7) == periodic(7, W1.start)


def test_computed_every_counts_the_empty_instants_between() -> None:
    assert instants(periodic(10), {"s": NowWindow()}, {"s": [5, 35]}) == [10, 20, 30]


def test_a_conjunction_over_two_windows() -> None:
    windows, streams = {"a": W1, "b": W2}, {"a": NEARBY, "b": COUPON}
    rule = Rule((*on_window(0, NC).conditions, *on_window(1, WC, NC).conditions))
    assert instants(any_of(rule), windows, streams) == [8, 16]
    assert instants(any_of(Rule(rule.conditions, every=16)), windows, streams) == [16]


def test_bad_policies_say_what_is_wrong() -> None:
    with pytest.raises(ReportPolicyError, match="at least one strategy"):
        Rule()
    with pytest.raises(ReportPolicyError, match="COMPUTED EVERY"):
        periodic(0)
    with pytest.raises(ReportPolicyError, match="without a window"):
        default_policy([])
    with pytest.raises(ReportPolicyError, match="window 1 of 1"):
        InstantScheduler([("s", W1)], any_of(on_window(1, NC)))
    with pytest.raises(ConfigurationError, match="semantics"):
        policy_of_profile("esper", [W1])
