"""Time windows over a stream: which stretch of time a window shows at an instant, and when it
closes.

All times are integers, milliseconds since the epoch; every stretch ``(lo, hi]`` leaves its lower
end out. Everything here is constant-time arithmetic: nothing walks over windows.

The panes rely on one property of every kind of window: neither end of `WindowSpec.present_bounds`
ever decreases as the instant grows. Hence an element that has left a window never comes back, and
what lies at or below the lower end can be dropped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sparkext.errors import CqelsError


class WindowError(CqelsError):
    """A window was given a width, a slide or a start that makes no window."""


class WindowKind(Enum):
    """The kinds of window; landmark, interval and count windows take their places here."""

    SLIDING = "sliding"
    RANGE = "range"
    NOW = "now"


class WindowSpec(ABC):
    """What a query says about one window, without its stream.

    A kind of window is one frozen subclass. It answers for its present content (`present_bounds`),
    its closings (`closes_at`, `next_close`, `closing_instants`) and for how long an element stays
    (`holds`, `leaves_at`).
    """

    kind: ClassVar[WindowKind]

    @property
    def slides(self) -> bool:
        """Whether the window has a STEP, so that its closings are spaced instants."""
        return self.kind is WindowKind.SLIDING

    @abstractmethod
    def present_bounds(self, t: int) -> tuple[int, int]:
        """The stretch ``(lo, hi]`` of element times that the window shows at instant `t`; empty as
        ``(t, t)``."""

    @abstractmethod
    def next_close(self, after: int) -> int:
        """The first instant greater than `after` at which one of the windows closes."""

    @abstractmethod
    def closing_instants(self, after: int, upto: int) -> range:
        """The closing instants c with ``after < c <= upto``, as a range (nothing is enumerated)."""

    @abstractmethod
    def leaves_at(self, time: int) -> int:
        """The first instant from `time` on at which an element of that time is not, or no longer,
        in the content."""

    def closes_at(self, t: int) -> bool:
        """Whether one of the windows closes at `t` (strategy WC of RSP-QL, Definition 23)."""
        return self.next_close(t - 1) == t

    def holds(self, time: int) -> bool:
        """Whether an element of that time enters the content when it arrives; if not then, it never
        does."""
        return self.present_bounds(time)[0] < time


@dataclass(frozen=True, slots=True)
class SlidingWindow(WindowSpec):
    """``[RANGE width STEP slide]``: window i >= 0 is ``(start + i*slide, start + i*slide + width]``
    (RSP-QL, Definition 12).

    The present window at t is, of the windows with ``open < t <= close``, the one that opened
    first, up to t (Definition 13 as Example 7 uses it, slip S-001-1). None is open up to the start,
    and in the gaps that ``width < slide`` leaves (S-001-6).

    >>> SlidingWindow(5, 2, 1).present_bounds(9)
    (5, 9)
    >>> list(SlidingWindow(5, 2, 1).closing_instants(0, 10))
    [6, 8, 10]
    """

    kind: ClassVar[WindowKind] = WindowKind.SLIDING
    width: int
    slide: int
    start: int = 0

    def __post_init__(self) -> None:
        _require_duration("width", self.width)
        _require_duration("slide", self.slide)

    def present_bounds(self, t: int) -> tuple[int, int]:
        # The first window with t <= close; it shows its content only if it has opened.
        opening = self.start + max(0, -((self.start + self.width - t) // self.slide)) * self.slide
        return (opening, t) if opening < t else (t, t)

    def next_close(self, after: int) -> int:
        first = self.start + self.width
        return first if after < first else after + self.slide - (after - first) % self.slide

    def closing_instants(self, after: int, upto: int) -> range:
        return range(self.next_close(after), upto + 1, self.slide)

    def leaves_at(self, time: int) -> int:
        # The last window that opens before the element; it is the last to hold it, if it does.
        last = -((self.start - time) // self.slide) - 1
        closing = self.start + last * self.slide + self.width
        return closing + 1 if last >= 0 and time <= closing else time


@dataclass(frozen=True, slots=True)
class RangeWindow(WindowSpec):
    """``[RANGE width]`` without STEP: at every instant t the content is ``(t - width, t]``.

    It behaves as a sliding window whose slide is one millisecond and that has always been there, so
    it closes at every instant.

    >>> RangeWindow(30_000).present_bounds(100_000)
    (70000, 100000)
    """

    kind: ClassVar[WindowKind] = WindowKind.RANGE
    width: int

    def __post_init__(self) -> None:
        _require_duration("width", self.width)

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (t - self.width, t)

    def next_close(self, after: int) -> int:
        return after + 1

    def closing_instants(self, after: int, upto: int) -> range:
        return range(after + 1, upto + 1)

    def leaves_at(self, time: int) -> int:
        return time + self.width


@dataclass(frozen=True, slots=True)
class NowWindow(WindowSpec):
    """``[NOW]``: at every instant t, the elements whose time is t.

    >>> NowWindow().present_bounds(7)
    (6, 7)
    """

    kind: ClassVar[WindowKind] = WindowKind.NOW

    def present_bounds(self, t: int) -> tuple[int, int]:
        return (t - 1, t)

    def next_close(self, after: int) -> int:
        return after + 1

    def closing_instants(self, after: int, upto: int) -> range:
        return range(after + 1, upto + 1)

    def leaves_at(self, time: int) -> int:
        return time + 1


def _require_duration(name: str, milliseconds: int) -> None:
    if milliseconds <= 0:
        raise WindowError(f"the {name} of a window must be at least 1 ms, not {milliseconds}")
