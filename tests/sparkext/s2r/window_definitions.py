"""Windows and evaluation instants written out from their definitions: everything tried, nothing computed."""

from __future__ import annotations

import itertools

from sparkext.s2r.derived_windows import (
    ClosedOpenWindow,
    ComposedWindow,
    DelayedWindow,
    LastClosedWindow,
)
from sparkext.s2r.report import Condition, ReportPolicy, Rule, Strategy
from sparkext.s2r.windows import (
    ElementsWindow,
    IntervalWindow,
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)

FAR = 10_000


def content(window: WindowSpec, times: list[int], t: int) -> list[int]:
    """The element times the window shows at t, written out from the definitions."""
    match window:
        case NowWindow():
            return [time for time in times if time == t]
        case RangeWindow(width):
            return [time for time in times if t - width < time <= t]
        case SlidingWindow(width, slide, start):
            openings = range(start, t, slide)
            is_open = [opening for opening in openings if opening < t <= opening + width]
            return [time for time in times if is_open and min(is_open) < time <= t]
        case LandmarkWindow(since):
            return [time for time in times if time <= t and (since is None or since <= time)]
        case IntervalWindow(first, last):
            return [time for time in times if first <= time <= last and time <= t]
        case ElementsWindow(count, _):
            return [time for time in times if time <= t][-count:]
        case ClosedOpenWindow(SlidingWindow(width, slide, start)):
            openings = range(start, t, slide)
            is_open = [opening for opening in openings if opening < t <= opening + width]
            return [time for time in times if is_open and min(is_open) <= time < t]
        case ClosedOpenWindow(LastClosedWindow(SlidingWindow(width, slide, start), strictly)):
            closed = [x for x in range(start + width, t + 1, slide) if x < t or not strictly]
            return [time for time in times if closed and max(closed) - width <= time < max(closed)]
        case DelayedWindow(inside, delay):
            return content(inside, times, t - delay)
        case ComposedWindow(outer, inner):
            return content(outer, content(inner, times, t), t)
    raise AssertionError(window)


def closes(window: WindowSpec, times: list[int], t: int) -> bool:
    match window:
        case SlidingWindow(width, slide, start):
            return t in range(start + width, t + 1, slide)
        case LandmarkWindow():
            return False
        case IntervalWindow(_, last):
            return t == last
        case ElementsWindow(_, step):
            before, now = (sum(time <= at for time in times) for at in (t - 1, t))
            return now // (step or 1) > before // (step or 1)
        case ClosedOpenWindow(LastClosedWindow(inside)) | ClosedOpenWindow(inside):
            return closes(inside, times, t)
        case DelayedWindow(inside, delay):
            return closes(inside, times, t - delay)
        case ComposedWindow(outer, _):
            return closes(outer, times, t)
    return True


def intervals_end(window: WindowSpec) -> int:
    """Where the intervals that a window is made of are over."""
    match window:
        case IntervalWindow(_, last):
            return last
        case ComposedWindow(outer, inner):
            return max(intervals_end(outer), intervals_end(inner))
    return -1


def last_instant(window: WindowSpec, times: list[int]) -> int | None:
    """The last instant that a window is a reason to look at; None if there is none."""
    if final := content(window, times, FAR):
        complete = next(t for t in itertools.count() if content(window, times, t) == final)
        return max(complete, intervals_end(window))
    shown = [t for t in range(min(times, default=0), 200) if content(window, times, t)]
    return max(shown, default=None)


def instants_by_definition(
    query: list[tuple[str, WindowSpec]], policy: ReportPolicy, arrived: dict[str, list[int]]
) -> list[int]:
    """Every integer t tried, from the first element to the last non-empty window."""
    everything = sorted(itertools.chain(*arrived.values()))
    if not everything:
        return []

    def shown(place: int, t: int) -> list[int]:
        stream, window = query[place]
        return content(window, sorted(arrived.get(stream, [])), t)

    def holds(condition: Condition, t: int) -> bool:
        now, before = (shown(condition.window, at) for at in (t, t - 1))
        if condition.strategy is Strategy.NON_EMPTY:
            return bool(now)
        if condition.strategy is Strategy.CONTENT_CHANGE:
            return bool(set(now) - set(before))
        if condition.strategy is Strategy.STRICT_CONTENT_CHANGE:
            return now != before
        stream, window = query[condition.window]
        return closes(window, arrived.get(stream, []), t)

    ends = [
        end
        for stream, window in query
        if (end := last_instant(window, sorted(arrived.get(stream, [])))) is not None
    ]
    if not ends:
        return []

    def reaches(rule: Rule, t: int) -> bool:
        """A loss may be told right after the last instant at which a window shows an element."""
        strict = any(c.strategy is Strategy.STRICT_CONTENT_CHANGE for c in rule.conditions)
        return t <= max(ends) + strict

    return [
        t
        for t in range(everything[0], max(ends) + 2)
        if any(
            reaches(rule, t)
            and all(holds(condition, t) for condition in rule.conditions)
            and (rule.every is None or (t - rule.start) % rule.every == 0)
            for rule in policy.rules
        )
    ]
