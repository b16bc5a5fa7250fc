"""Windows by their definitions, nothing clever: every window of a sliding one is looked at in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count, takewhile

from tests.oracle.recorded import Element


@dataclass(frozen=True)
class Sliding:
    """Window i >= 0 is (start + i step, start + i step + width]."""

    width: int
    step: int
    start: int = 0

    def windows(self, until: int) -> Iterator[tuple[int, int]]:
        """All windows that open before `until`, as (open, close)."""
        assert until < 10_000_000, "this walks over every window since the epoch"
        opened = (self.start + i * self.step for i in count())
        return ((o, o + self.width) for o in takewhile(lambda o: o < until, opened))

    def bounds(self, t: int) -> tuple[int, int] | None:
        """The present window at t, (open, t]: of those open at t the one that opened first."""
        openings = [o for o, c in self.windows(t) if o < t <= c]
        return (min(openings), t) if openings else None


@dataclass(frozen=True)
class Range:
    """(t - width, t]."""

    width: int

    def bounds(self, t: int) -> tuple[int, int] | None:
        """The stretch it shows at t."""
        return (t - self.width, t)


@dataclass(frozen=True)
class Now:
    """The elements whose time is t."""

    def bounds(self, t: int) -> tuple[int, int] | None:
        """Times are whole numbers, so {t} = (t - 1, t]."""
        return (t - 1, t)


Window = Sliding | Range | Now


def content(window: Window, t: int, elements: Sequence[Element]) -> list[Element]:
    """The elements that the window shows at t.

    >>> from tests.oracle.recorded import element
    >>> s_nearby = [element(t) for t in (2, 2, 5, 7, 12)]
    >>> [e.time for e in content(Sliding(5, 2, 1), 9, s_nearby)]  # RSP-QL, Example 7
    [7]
    """
    bounds = window.bounds(t)
    if bounds is None:
        return []
    return [e for e in elements if bounds[0] < e.time <= bounds[1]]


def last_instant_of(window: Window, elements: Sequence[Element]) -> int | None:
    """When the last window that holds an element closes; None if none holds any."""
    if not elements:
        return None
    latest = max(e.time for e in elements)
    match window:
        case Now():
            return latest
        case Range():
            return latest + window.width - 1
        case Sliding():
            closings = [
                c for o, c in window.windows(latest) if any(o < e.time <= c for e in elements)
            ]
            return max(closings, default=None)
