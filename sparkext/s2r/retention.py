"""How long the elements of a stream must be kept for the windows that look at it."""

from __future__ import annotations

from collections.abc import Iterable

from sparkext.s2r.windows import WindowSpec


def droppable_up_to(progress: Iterable[tuple[WindowSpec, int]]) -> int | None:
    """The greatest time such that no window shows an element of that time, or an earlier one, ever
    again.

    `progress` pairs each window on the stream with the instant up to which its query has been
    evaluated; every later evaluation lies after it. None when no window looks at the stream: then
    nothing need be kept at all.

    >>> from sparkext.s2r.windows import NowWindow, RangeWindow, SlidingWindow
    >>> droppable_up_to([(SlidingWindow(5, 2, 1), 10), (NowWindow(), 10)])
    7
    >>> droppable_up_to([(RangeWindow(30), 100), (SlidingWindow(5, 2, 1), 10)])
    7
    """
    # The lower end never decreases, so the next instant's decides for all that follow.
    return min(
        (window.present_bounds(settled + 1)[0] for window, settled in progress), default=None
    )
