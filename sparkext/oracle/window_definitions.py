"""Windows by their definitions: which elements each shows at an instant, when it closes. Nothing is clever here.

Times are whole milliseconds. A stream is the list of its elements in order of time, those of one time in the order
of arrival; a window shows a part of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Protocol, TypeVar


class Timed(Protocol):
    """Anything with a time in milliseconds since the epoch."""

    @property
    def time_ms(self) -> int:
        """The time."""


T = TypeVar("T", bound=Timed)


class Window(ABC):
    """One window over one stream.

    `closes_apart` tells whether closing is an event of its own; the others report when an element enters.
    """

    closes_apart: ClassVar[bool] = False

    @abstractmethod
    def content(self, stream: Sequence[T], t: int) -> list[T]:
        """The elements shown at instant t."""

    @abstractmethod
    def changes(self, stream: Sequence[Timed]) -> set[int]:
        """Instants among which are all those at which the content differs from that of the millisecond before."""

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        """The instants from `first` to `last` at which a window closes (strategy WC)."""
        return iter(())

    @abstractmethod
    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        """The last instant worth looking at: when an element is shown last, or is in for good; None without any."""


def between(stream: Sequence[T], low: int, high: int) -> list[T]:
    """The elements with low < time <= high."""
    first = bisect_right(stream, low, key=_time)
    return list(stream[first : bisect_right(stream, high, lo=first, key=_time)])


def _time(element: Timed) -> int:
    return element.time_ms


def _latest(stream: Sequence[Timed]) -> int | None:
    return max((element.time_ms for element in stream), default=None)


@dataclass(frozen=True)
class Sliding(Window):
    """`[RANGE width STEP step]`: window i >= 0 is (start + i step, start + i step + width] (RSP-QL, Definition 12).

    At t it shows its present window: of the windows with open < t <= close the one that opened first, up to t
    (Definition 13 in the only reading that gives Examples 7 and 10); nothing where none is open.

    >>> from sparkext.oracle.streams import element
    >>> s_nearby = [element(t) for t in (2, 2, 5, 7, 12)]
    >>> [e.time_ms for e in Sliding(5, 2, 1).content(s_nearby, 9)]  # RSP-QL, Example 7
    [7]
    """

    closes_apart: ClassVar[bool] = True
    width: int
    step: int
    start: int = 0

    def bounds(self, number: int) -> tuple[int, int]:
        """Opening and closing time of a window by its number."""
        opening = self.start + number * self.step
        return opening, opening + self.width

    def windows_with(self, time: int) -> Iterator[tuple[int, int]]:
        """The windows with open < time <= close, in order."""
        # close >= time means number >= (time - start - width) / step, rounded up.
        number = max(0, -((self.start + self.width - time) // self.step))
        while self.bounds(number)[0] < time:
            yield self.bounds(number)
            number += 1

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        present = next(self.windows_with(t), None)
        if present is None:
            return []
        return between(stream, present[0], t)

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        times = {e.time_ms for e in stream}
        return times | {close + 1 for time in times for _, close in self.windows_with(time)}

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        number = max(0, -((self.start + self.width - first) // self.step))
        while (close := self.bounds(number)[1]) <= last:
            yield close
            number += 1

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        held = [close for e in stream for _, close in self.windows_with(e.time_ms)]
        return max(held, default=None)


@dataclass(frozen=True)
class LastClosed(Window):
    """The sliding window that closed last, whole: closing < t, or <= t where the report is of the close (RSP-QL*,
    Definition 15; slips S-002-1 and S-002-2). Nothing before the first close.

    Its windows are [open, close): `ClosedOpen` moves them.
    """

    closes_apart: ClassVar[bool] = True
    windows: Sliding
    before: bool = False

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        upto = t - 1 if self.before else t
        number = (upto - self.windows.start - self.windows.width) // self.windows.step
        if number < 0:
            return []
        opening, close = self.windows.bounds(number)
        return between(stream, opening, close)

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        found = set()
        for e in stream:
            for _, close in self.windows.windows_with(e.time_ms):
                found |= {close + self.before, close + self.before + self.windows.step}
        return found

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        return self.windows.closings(stream, first, last)

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        last = self.windows.last_instant(stream)
        return None if last is None else last + self.windows.step - 1 + self.before


@dataclass(frozen=True)
class Range(Window):
    """`[RANGE width]`: (t - width, t]."""

    width: int

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return between(stream, t - self.width, t)

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return {t for e in stream for t in (e.time_ms, e.time_ms + self.width)}

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        return iter(range(first, last + 1))

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        latest = _latest(stream)
        return None if latest is None else latest + self.width - 1


class Now(Range):
    """`[NOW]`: the elements whose time is t; times are whole, so that is (t - 1, t]."""

    def __init__(self) -> None:
        super().__init__(1)


@dataclass(frozen=True)
class Landmark(Window):
    """All elements from an instant on, that included (RSEP-QL, section 3); with None, all."""

    since: int | None = None

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return [
            e for e in stream if e.time_ms <= t and (self.since is None or self.since <= e.time_ms)
        ]

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return {e.time_ms for e in stream}

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        return _latest([e for e in stream if self.since is None or self.since <= e.time_ms])


@dataclass(frozen=True)
class Interval(Window):
    """The elements with first <= time <= last, so far (RSEP-QL, section 3); it closes once, at `last`."""

    closes_apart: ClassVar[bool] = True
    first: int
    last: int

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return between(stream, self.first - 1, min(self.last, t))

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return {e.time_ms for e in stream}

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        return iter([self.last] if first <= self.last <= last else [])

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        held = any(self.first <= e.time_ms <= self.last for e in stream)
        return self.last if held else None


@dataclass(frozen=True)
class Elements(Window):
    """`[ELEMENTS count STEP step]`: the last `count` elements with times up to t.

    With a step, it closes at each instant by which another `step` elements have come.
    """

    count: int
    step: int | None = None

    @property
    def closes_apart(self) -> bool:  # type: ignore[override]
        """Only with a step."""
        return self.step is not None

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return list(stream[: bisect_right(stream, t, key=_time)][-self.count :])

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return {e.time_ms for e in stream}

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        step = self.step or 1
        come = 0
        for t, at_once in groupby(stream, key=_time):
            before = come
            come += len(list(at_once))
            if first <= t <= last and come // step > before // step:
                yield t

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        return _latest(stream)


@dataclass(frozen=True)
class Delayed(Window):
    """A past window: at t, what the window inside shows at t - delay."""

    inside: Window
    delay: int

    @property
    def closes_apart(self) -> bool:  # type: ignore[override]
        """As the window inside."""
        return self.inside.closes_apart

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return self.inside.content(stream, t - self.delay)

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return {t + self.delay for t in self.inside.changes(stream)}

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        inside = self.inside.closings(stream, first - self.delay, last - self.delay)
        return (t + self.delay for t in inside)

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        last = self.inside.last_instant(stream)
        return None if last is None else last + self.delay


@dataclass(frozen=True)
class ClosedOpen(Window):
    """[open, close) instead of (open, close]: an element on the opening edge is in, one on the closing edge is not.

    Times being whole, an element counts as one millisecond later than it is.
    """

    inside: Window

    @property
    def closes_apart(self) -> bool:  # type: ignore[override]
        """As the window inside."""
        return self.inside.closes_apart

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return [moved.element for moved in self.inside.content(_later(stream), t)]  # type: ignore[misc]

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return self.inside.changes(_later(stream))

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        return self.inside.closings(_later(stream), first, last)

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        return self.inside.last_instant(_later(stream))


@dataclass(frozen=True)
class Composed(Window):
    """W1 . W2: W1 applied to what W2 lets through at the same instant (RSEP-QL, section 3); it closes as W1."""

    outer: Window
    inner: Window

    @property
    def closes_apart(self) -> bool:  # type: ignore[override]
        """As the outer window."""
        return self.outer.closes_apart

    def content(self, stream: Sequence[T], t: int) -> list[T]:
        return self.outer.content(self.inner.content(stream, t), t)

    def changes(self, stream: Sequence[Timed]) -> set[int]:
        return self.outer.changes(stream) | self.inner.changes(stream)

    def closings(self, stream: Sequence[Timed], first: int, last: int) -> Iterator[int]:
        return self.outer.closings(stream, first, last)

    def last_instant(self, stream: Sequence[Timed]) -> int | None:
        changes = sorted(self.changes(stream))
        for place in range(len(changes) - 1, -1, -1):
            held = self.content(stream, changes[place])
            if held and place + 1 < len(changes):
                return changes[place + 1] - 1
            if held:
                # They stay for good.
                ends = [w.last_instant(held) for w in (self.outer, self.inner)]
                return max(end for end in ends if end is not None)
        return None


@dataclass(frozen=True)
class _Moved:
    element: Timed

    @property
    def time_ms(self) -> int:
        return self.element.time_ms + 1


def _later(stream: Sequence[Timed]) -> list[_Moved]:
    return [_Moved(element) for element in stream]
