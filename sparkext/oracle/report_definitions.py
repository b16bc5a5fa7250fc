"""Report policies by their definition: the instants at which a query is evaluated (RSP-QL, Definition 23).

A rule is a conjunction of strategies, each tied to one window; a query is evaluated where any of its rules holds (slip
S-001-9). Every instant that could matter is looked at in turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sparkext.errors import CheckError
from sparkext.oracle.window_definitions import Sliding, Timed, Window

_MOST_INSTANTS = 5_000_000


class Strategy(Enum):
    """A condition on one window at one instant."""

    CONTENT_CHANGE = "CC"  # an element enters
    STRICT_CONTENT_CHANGE = "strict CC"  # an element enters or leaves
    WINDOW_CLOSE = "WC"
    NON_EMPTY = "NC"


@dataclass(frozen=True)
class Condition:
    """A strategy on the window at this place of the query's list."""

    strategy: Strategy
    window: int


@dataclass(frozen=True)
class Rule:
    """All conditions hold and, with `every`, the instant is start + k every (strategy P)."""

    conditions: tuple[Condition, ...] = ()
    every: int | None = None
    start: int = 0


Windows = Sequence[tuple[str, Window]]
Streams = Mapping[str, Sequence[Timed]]


def evaluation_instants(windows: Windows, rules: Iterable[Rule], streams: Streams) -> list[int]:
    """The instants of a query over these (stream, window) pairs, in order.

    They lie between the first element's time, of any of its streams, and the last instant at which a window still
    shows one, a loss right after it included.

    >>> from sparkext.oracle.streams import element
    >>> w2 = Sliding(2, 2)
    >>> rule = Rule((Condition(Strategy.WINDOW_CLOSE, 0), Condition(Strategy.NON_EMPTY, 0)))
    >>> evaluation_instants([("s", w2)], [rule], {"s": [element(8), element(15)]})  # RSP-QL, Example 9
    [8, 16]
    """
    used = dict.fromkeys(stream for stream, _ in windows)
    times = [element.time_ms for stream in used for element in streams[stream]]
    ends = [end for stream, w in windows if (end := w.last_instant(streams[stream])) is not None]
    if not times or not ends:
        return []
    first, last = min(times), max(ends)
    found: set[int] = set()
    for rule in rules:
        strict = any(c.strategy is Strategy.STRICT_CONTENT_CHANGE for c in rule.conditions)
        found.update(_instants_of(rule, windows, streams, first, last + strict))
    return sorted(found)


def _instants_of(
    rule: Rule, windows: Windows, streams: Streams, first: int, last: int
) -> Iterable[int]:
    choices = [
        _where(condition.strategy, *windows[condition.window], streams, first, last)
        for condition in rule.conditions
    ]
    bounded = [choice for choice in choices if choice is not None]
    if rule.every is not None:
        begin = first + (rule.start - first) % rule.every
        instants: Sequence[int] = range(begin, last + 1, rule.every)
    elif bounded:
        instants = min(bounded, key=lambda choice: len(choice))
    else:
        instants = range(first, last + 1)
    if len(instants) > _MOST_INSTANTS:
        raise CheckError(f"the query is evaluated at more than {_MOST_INSTANTS:,} instants")
    return [
        t for t in instants if all(_holds(c, windows, streams, t, first) for c in rule.conditions)
    ]


def _where(
    strategy: Strategy, stream: str, window: Window, streams: Streams, first: int, last: int
) -> list[int] | None:
    """Instants among which are all at which the strategy holds; None: it could be any."""
    if strategy is Strategy.WINDOW_CLOSE:
        return list(window.closings(streams[stream], first, last))
    if strategy is Strategy.NON_EMPTY:
        return None
    return sorted(t for t in window.changes(streams[stream]) if first <= t <= last)


def _holds(condition: Condition, windows: Windows, streams: Streams, t: int, first: int) -> bool:
    name, window = windows[condition.window]
    stream = streams[name]
    match condition.strategy:
        case Strategy.WINDOW_CLOSE:
            return t in window.closings(stream, t, t)
        case Strategy.NON_EMPTY:
            return bool(window.content(stream, t))
    before = {id(element) for element in window.content(stream, t - 1)}
    now = {id(element) for element in window.content(stream, t)}
    if condition.strategy is Strategy.CONTENT_CHANGE:
        return bool(now - before)
    return now != before


def first_start(windows: Iterable[Window], otherwise: int = 0) -> int:
    """t0 of `COMPUTED EVERY`: the start of the first window with STEP, `otherwise` where there is none."""
    slides = (part for window in windows if (part := sliding_part(window)) is not None)
    return next((part.start for part in slides), otherwise)


def sliding_part(window: Window) -> Sliding | None:
    """The window with STEP that a window is made from; None without one."""
    inner: Window | None = window
    while inner is not None and not isinstance(inner, Sliding):
        inner = _inside(inner)
    return inner


def _inside(window: Window) -> Window | None:
    for part in ("inside", "windows", "outer"):
        if isinstance(inner := getattr(window, part, None), Window):
            return inner
    return None
