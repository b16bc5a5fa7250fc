"""Windows over a stream: which stretch of time each shows at an instant, and when it closes.

All times are integers, milliseconds since the epoch; every stretch ``(lo, hi]`` leaves its lower
end out. Everything here is constant-time arithmetic: nothing walks over windows.

The panes rely on one property of every kind of window: neither end of `WindowSpec.present_bounds`
ever decreases as the instant grows. Hence an element that has left a window never comes back, and
what lies at or below the lower end, or after `WindowSpec.shown_until`, can be dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from sparkext.errors import CqelsError
from sparkext.s2r.watermark import FOREVER, NEVER


class WindowError(CqelsError):
    """A window was given a width, a slide or a start that makes no window."""


class WindowSpec(ABC):
    """What a query says about one window, without its stream.

    A kind of window is one frozen subclass. It answers for its present content (`present_bounds`),
    its closings (`next_close`) and for how long an element stays (`enters_at`, `leaves_at`).
    """

    __slots__ = ()

    @property
    def closes_apart(self) -> bool:
        """Whether closing is an event of its own; the others change, and so report, with every
        element that enters."""
        return False

    @property
    def span(self) -> int | None:
        """For how many milliseconds an element stays, about; None where that is no length of time."""
        return None

    @property
    def start(self) -> int | None:
        """t0, where the first of the windows opens; None for a kind without one."""
        return None

    @property
    def shown_until(self) -> int:
        """No element of a greater time is ever in the content; FOREVER where there is no such time."""
        return FOREVER

    @abstractmethod
    def present_bounds(self, t: int) -> tuple[int, int]:
        """The stretch ``(lo, hi]`` of element times that the window shows at instant `t`; empty
        where both ends are equal."""

    @abstractmethod
    def next_close(self, after: int) -> int | None:
        """The first instant greater than `after` at which one of the windows closes; None: never."""

    def enters_at(self, time: int) -> int:
        """The first instant at which an element of that time is in the content, if it ever is."""
        return time

    @abstractmethod
    def leaves_at(self, time: int) -> int | None:
        """The first instant at which an element of that time is no longer in the content (not after
        `enters_at` if it never is); None: it stays."""

    def last_instant(self, time: int) -> int:
        """The last instant worth looking at when no element after one of that time comes: where it
        is shown last, or, where it stays, where the content has become final."""
        leaving = self.leaves_at(time)
        return self.enters_at(time) if leaving is None else leaving - 1

    def closes_at(self, t: int) -> bool:
        """Whether one of the windows closes at `t` (strategy WC of RSP-QL, Definition 23)."""
        return self.next_close(t - 1) == t

    def holds(self, time: int) -> bool:
        """Whether an element of that time is ever in the content."""
        leaving = self.leaves_at(time)
        return leaving is None or leaving > self.enters_at(time)

    def held_from(self, time: int) -> int:
        """A time from `time` on such that no element between is ever in the content: over a gap, in one step; FOREVER
        where none is any more."""
        return time

    def held_until(self, time: int) -> int:
        """As `held_from`, backwards: NEVER where none was before."""
        return time


@dataclass(frozen=True, slots=True)
class SlidingWindow(WindowSpec):
    """``[RANGE width STEP slide]``: window i >= 0 is ``(start + i*slide, start + i*slide + width]``
    (RSP-QL, Definition 12).

    The present window at t is, of the windows with ``open < t <= close``, the one that opened
    first, up to t (Definition 13 as Example 7 uses it, slip S-001-1). None is open up to the start,
    and in the gaps that ``width < slide`` leaves (S-001-6).

    >>> SlidingWindow(5, 2, 1).present_bounds(9)
    (5, 9)
    >>> [SlidingWindow(5, 2, 1).next_close(after) for after in (0, 6)]
    [6, 8]
    """

    width: int
    slide: int
    start: int = 0

    def __post_init__(self) -> None:
        _require_duration("width", self.width)
        _require_duration("slide", self.slide)

    @property
    def closes_apart(self) -> bool:
        return True

    @property
    def span(self) -> int:
        return self.width

    def present_bounds(self, t: int) -> tuple[int, int]:
        # The first window with t <= close; it shows its content only if it has opened.
        opening = self.start + max(0, -((self.start + self.width - t) // self.slide)) * self.slide
        return (opening, t) if opening < t else (t, t)

    def next_close(self, after: int) -> int:
        first = self.start + self.width
        return first if after < first else after + self.slide - (after - first) % self.slide

    def leaves_at(self, time: int) -> int:
        last, closing = self._last_to_hold(time)
        return closing + 1 if last >= 0 and time <= closing else time

    def held_from(self, time: int) -> int:
        last, closing = self._last_to_hold(time)
        if last >= 0 and time <= closing:
            return time
        return self.start + max(0, last + 1) * self.slide + 1

    def held_until(self, time: int) -> int:
        last, closing = self._last_to_hold(time)
        return min(time, closing) if last >= 0 else NEVER

    def _last_to_hold(self, time: int) -> tuple[int, int]:
        """The last window that opens before the time, which is the last to hold it if any does, and its close."""
        last = -((self.start - time) // self.slide) - 1
        return last, self.start + last * self.slide + self.width


@dataclass(frozen=True, slots=True)
class RangeWindow(WindowSpec):
    """``[RANGE width]`` without STEP: at every instant t the content is ``(t - width, t]``.

    It behaves as a sliding window whose slide is one millisecond and that has always been there, so
    it closes at every instant.

    >>> RangeWindow(30_000).present_bounds(100_000)
    (70000, 100000)
    """

    width: int

    def __post_init__(self) -> None:
        _require_duration("width", self.width)

    @property
    def span(self) -> int:
        return self.width

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (t - self.width, t)

    def next_close(self, after: int) -> int:
        return after + 1

    def leaves_at(self, time: int) -> int:
        return time + self.width


@dataclass(frozen=True, slots=True)
class NowWindow(WindowSpec):
    """``[NOW]``: at every instant t, the elements whose time is t.

    >>> NowWindow().present_bounds(7)
    (6, 7)
    """

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (t - 1, t)

    def next_close(self, after: int) -> int:
        return after + 1

    def leaves_at(self, time: int) -> int:
        return time + 1


@dataclass(frozen=True, slots=True)
class LandmarkWindow(WindowSpec):
    """``[LANDMARK t0]``: at t, every element with ``t0 <= time <= t`` (RSEP-QL, section 3); without
    a landmark, the identity: all elements so far.

    Nothing ever leaves, so the stream's panes are kept from the landmark on.

    >>> LandmarkWindow(1).present_bounds(8)
    (0, 8)
    """

    since: int | None = None

    def present_bounds(self, t: int) -> tuple[int, int]:
        low = NEVER if self.since is None else self.since - 1
        return (low, max(low, t))

    def next_close(self, after: int) -> None:
        return None

    def leaves_at(self, time: int) -> int | None:
        return None if self.since is None or time >= self.since else time

    def held_from(self, time: int) -> int:
        return time if self.since is None else max(time, self.since)

    def held_until(self, time: int) -> int:
        return time if self.since is None or time >= self.since else NEVER


@dataclass(frozen=True, slots=True)
class IntervalWindow(WindowSpec):
    """``[INTERVAL a b]``: at t, the elements with ``a <= time <= b`` up to t; it closes once, at b
    (RSEP-QL, section 3).

    >>> IntervalWindow(0, 5).present_bounds(8)
    (-1, 5)
    """

    first: int
    last: int

    def __post_init__(self) -> None:
        if self.last < self.first:
            raise WindowError(
                f"an interval cannot end ({self.last}) before it begins ({self.first})"
            )

    @property
    def closes_apart(self) -> bool:
        return True

    @property
    def shown_until(self) -> int:
        return self.last

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (self.first - 1, max(self.first - 1, min(self.last, t)))

    def next_close(self, after: int) -> int | None:
        return self.last if after < self.last else None

    def leaves_at(self, time: int) -> int | None:
        return None if self.first <= time <= self.last else time

    def held_from(self, time: int) -> int:
        return max(time, self.first) if time <= self.last else FOREVER

    def held_until(self, time: int) -> int:
        return min(time, self.last) if time >= self.first else NEVER

    def last_instant(self, time: int) -> int:
        return self.last


@dataclass(frozen=True, slots=True)
class ElementsWindow(WindowSpec):
    """``[ELEMENTS count STEP step]``: at t, the last `count` elements of the stream with times up
    to t, those of one time in the order of their arrival.

    An instant sees all elements of its time. With a step, a window closes at each instant by which
    another `step` elements have come; without, at each at which an element comes. How many elements
    there are is not known here, so `present_bounds` leaves the lower end open, and closings are
    found among the arrivals (`CountedArrivals`).
    """

    count: int
    step: int | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or (self.step is not None and self.step < 1):
            raise WindowError("a window of elements holds, and steps by, at least one element")

    @property
    def closes_apart(self) -> bool:
        return self.step is not None

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (NEVER, t)

    def next_close(self, after: int) -> None:
        return None

    def leaves_at(self, time: int) -> None:
        return None


def _require_duration(name: str, milliseconds: int) -> None:
    if milliseconds <= 0:
        raise WindowError(f"the {name} of a window must be at least 1 ms, not {milliseconds}")
