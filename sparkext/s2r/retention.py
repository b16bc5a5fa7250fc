"""Which elements of a stream must be kept for the windows that look at it."""

from __future__ import annotations

from sparkext.s2r.watermark import NEVER
from sparkext.s2r.windows import WindowSpec


def still_shown(window: WindowSpec, emptied: int) -> tuple[int, int]:
    """The stretch ``(lo, hi]`` of element times that the window may show at an instant after `emptied`; empty where
    both ends are equal.

    >>> from sparkext.s2r.windows import IntervalWindow, SlidingWindow
    >>> still_shown(SlidingWindow(5, 2, 1), 10)[0], still_shown(SlidingWindow(5, 2, 100), 10)[0]
    (7, 11)
    >>> still_shown(IntervalWindow(20, 30), 10)
    (19, 30)
    """
    # Neither end ever decreases, so the next instant's lower end decides for all that follow.
    low = max(NEVER, window.present_bounds(emptied + 1)[0])
    return (low, max(low, window.shown_until))
