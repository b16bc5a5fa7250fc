"""Windows made from other windows: closed at the opening, last closed, delayed, composed."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.s2r.windows import SlidingWindow, WindowError, WindowSpec


@dataclass(frozen=True, slots=True)
class LastClosedWindow(WindowSpec):
    """The sliding window that closed last: at t the one with the greatest close up to t, or, if
    `strictly`, before t (RSP-QL*, Definition 15).

    Empty before the first close (slip S-002-2). Definition 15 prints close < t, which at a closing
    instant gives the window before; a report on window close is made just after it and takes the
    window that closes (S-002-1).

    >>> LastClosedWindow(SlidingWindow(10, 5), strictly=True).present_bounds(20)
    (5, 15)
    >>> LastClosedWindow(SlidingWindow(10, 5)).present_bounds(20)
    (10, 20)
    """

    windows: SlidingWindow
    strictly: bool = False

    @property
    def closes_apart(self) -> bool:
        return True

    @property
    def span(self) -> int:
        return self.windows.width

    @property
    def start(self) -> int:
        return self.windows.start

    def present_bounds(self, t: int) -> tuple[int, int]:
        width, slide, start = self.windows.width, self.windows.slide, self.windows.start
        passed = (t - self.strictly - start - width) // slide
        if passed < 0:
            return (start, start)
        opening = start + passed * slide
        return (opening, opening + width)

    def next_close(self, after: int) -> int:
        return self.windows.next_close(after)

    def enters_at(self, time: int) -> int:
        return self.windows.next_close(time - 1) + self.strictly

    def leaves_at(self, time: int) -> int:
        # The last window that opens before the element gives way to the next one's close.
        last = -((self.windows.start - time) // self.windows.slide) - 1
        closing = self.windows.start + last * self.windows.slide + self.windows.width
        if last < 0 or time > closing:
            return self.enters_at(time)
        return closing + self.windows.slide + self.strictly

    def held_from(self, time: int) -> int:
        return self.windows.held_from(time)

    def held_until(self, time: int) -> int:
        return self.windows.held_until(time)


@dataclass(frozen=True, slots=True)
class ClosedOpenWindow(WindowSpec):
    """``[open, close)`` where the window inside has ``(open, close]`` (RSP-QL*, Definition 5).

    An instant sees the elements before it: an element on the opening edge is in, one on the
    closing edge is not. Times being whole, that is the window inside one millisecond back.

    >>> ClosedOpenWindow(SlidingWindow(10, 10)).present_bounds(20)
    (9, 19)
    """

    inside: WindowSpec

    @property
    def closes_apart(self) -> bool:
        return self.inside.closes_apart

    @property
    def span(self) -> int | None:
        return self.inside.span

    @property
    def start(self) -> int | None:
        return self.inside.start

    @property
    def shown_until(self) -> int:
        return self.inside.shown_until - 1

    def present_bounds(self, t: int) -> tuple[int, int]:
        low, high = self.inside.present_bounds(t)
        return (low - 1, high - 1)

    def next_close(self, after: int) -> int | None:
        return self.inside.next_close(after)

    def enters_at(self, time: int) -> int:
        return self.inside.enters_at(time + 1)

    def leaves_at(self, time: int) -> int | None:
        return self.inside.leaves_at(time + 1)

    def held_from(self, time: int) -> int:
        return self.inside.held_from(time + 1) - 1

    def held_until(self, time: int) -> int:
        return self.inside.held_until(time + 1) - 1

    def last_instant(self, time: int) -> int:
        return self.inside.last_instant(time + 1)


@dataclass(frozen=True, slots=True)
class DelayedWindow(WindowSpec):
    """A past window: at t it shows what the window inside shows at t - delay, and it closes that
    much later.

    >>> from sparkext.s2r.windows import RangeWindow
    >>> DelayedWindow(RangeWindow(5), 10).present_bounds(100)  # [NOW-15 TO NOW-10]
    (85, 90)
    """

    inside: WindowSpec
    delay: int

    def __post_init__(self) -> None:
        if self.delay <= 0:
            raise WindowError(f"the delay of a window must be at least 1 ms, not {self.delay}")

    @property
    def closes_apart(self) -> bool:
        return self.inside.closes_apart

    @property
    def span(self) -> int | None:
        return self.inside.span

    @property
    def start(self) -> int | None:
        return self.inside.start

    @property
    def shown_until(self) -> int:
        return self.inside.shown_until

    def present_bounds(self, t: int) -> tuple[int, int]:
        return self.inside.present_bounds(t - self.delay)

    def next_close(self, after: int) -> int | None:
        close = self.inside.next_close(after - self.delay)
        return None if close is None else close + self.delay

    def enters_at(self, time: int) -> int:
        return self.inside.enters_at(time) + self.delay

    def leaves_at(self, time: int) -> int | None:
        leaving = self.inside.leaves_at(time)
        return None if leaving is None else leaving + self.delay

    def held_from(self, time: int) -> int:
        return self.inside.held_from(time)

    def held_until(self, time: int) -> int:
        return self.inside.held_until(time)

    def last_instant(self, time: int) -> int:
        return self.inside.last_instant(time) + self.delay


@dataclass(frozen=True, slots=True)
class ComposedWindow(WindowSpec):
    """W1 . W2: W1 applied to what W2 lets through, both at the same instant (RSEP-QL, section 3).

    Windows of time choose by time alone, so that is their intersection. It closes as W1 does.

    >>> from sparkext.s2r.windows import IntervalWindow, LandmarkWindow
    >>> ComposedWindow(IntervalWindow(0, 5), LandmarkWindow(1)).present_bounds(8)
    (0, 5)
    """

    outer: WindowSpec
    inner: WindowSpec

    @property
    def closes_apart(self) -> bool:
        return self.outer.closes_apart

    @property
    def span(self) -> int | None:
        return min((s for s in (self.outer.span, self.inner.span) if s is not None), default=None)

    @property
    def start(self) -> int | None:
        return self.outer.start

    @property
    def shown_until(self) -> int:
        return min(self.outer.shown_until, self.inner.shown_until)

    def present_bounds(self, t: int) -> tuple[int, int]:
        (low, high), (inner_low, inner_high) = (
            self.outer.present_bounds(t),
            self.inner.present_bounds(t),
        )
        lowest = max(low, inner_low)
        return (lowest, max(lowest, min(high, inner_high)))

    def next_close(self, after: int) -> int | None:
        return self.outer.next_close(after)

    def enters_at(self, time: int) -> int:
        return max(self.outer.enters_at(time), self.inner.enters_at(time))

    def leaves_at(self, time: int) -> int | None:
        ends = (self.outer.leaves_at(time), self.inner.leaves_at(time))
        return min((end for end in ends if end is not None), default=None)

    def held_from(self, time: int) -> int:
        return max(self.outer.held_from(time), self.inner.held_from(time))

    def held_until(self, time: int) -> int:
        return min(self.outer.held_until(time), self.inner.held_until(time))

    def last_instant(self, time: int) -> int:
        leaving = self.leaves_at(time)
        if leaving is not None:
            return leaving - 1
        return max(self.outer.last_instant(time), self.inner.last_instant(time))
