"""How late a time may be and still be believed: beyond its horizon a stream's element is set aside.

An element in microseconds instead of milliseconds lies some 55,000 years ahead. Were it taken in, the watermark would
follow it, and every right element after it would come too late, for good. So no element is believed whose time lies
more than `spark.cqels.maxAhead` after the clock's; in a replay, which must not depend on the clock, after the newest
time so far.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from sparkext.s2r.event_time import GREATEST_TIME


def wall_clock() -> int:
    """Milliseconds since the epoch, now."""
    return time.time_ns() // 1_000_000


class TimeHorizon:
    """The greatest time that is believed now: `max_ahead` milliseconds after the clock's, for all streams of an engine.

    After `begin_replay`, it lies as far after the newest time that was taken in instead. A `max_ahead` of 0 believes
    every time.

    >>> live = TimeHorizon(10, lambda: 1000)
    >>> live.believed([5, 1010, 1011]), live.passes(1011)
    (2, False)
    >>> replay = TimeHorizon(10); replay.begin_replay([0, 5, 14, 100])
    >>> replay.believed([5, 14, 24, 100]), replay.believed([100])
    (3, 0)
    """

    def __init__(self, max_ahead: int, clock: Callable[[], int] = wall_clock) -> None:
        self.max_ahead = max_ahead
        self._clock = clock
        self._newest: int | None = None

    def begin_replay(self, times: Iterable[int]) -> None:
        """Believe by the newest time taken in, not by the clock, while elements of these times are replayed.

        Before the first element the horizon is that of where most of the times begin, so that no odd one silences the
        others, at whichever end of them it lies: see `begin_of_most`.
        """
        self._newest = begin_of_most(sorted(times), self.max_ahead)

    @property
    def newest(self) -> int | None:
        """The newest time taken in, in a replay; else None."""
        return self._newest

    @property
    def reference(self) -> str:
        """What the horizon is measured from, in words."""
        return "the clock" if self._newest is None else "the newest time before it"

    def believed(self, times: Sequence[int]) -> int:
        """How many of these times, which are in order, are to be taken in: those up to the first that is beyond.

        Each may lie `max_ahead` after the one before it in a replay.
        """
        if self.max_ahead == 0 or not times:
            return len(times)
        if self._newest is None:
            return bisect_right(times, self._clock() + self.max_ahead)
        newest = self._newest
        for place, moment in enumerate(times):
            if moment > newest + self.max_ahead:
                return place
            newest = max(newest, moment)
        return len(times)

    @property
    def rules(self) -> str:
        """Which times are believed now, as TimeRules.scala reads it: from when, how far ahead, whether it moves."""
        newest = self._clock() if self._newest is None else self._newest
        return f"{newest}|{self.max_ahead}|{0 if self._newest is None else 1}"

    def passes(self, moment: int) -> bool:
        """Whether a single time is to be believed."""
        return self.believed([moment]) == 1

    def note(self, newest: int) -> None:
        """Say what is the newest time that was taken in."""
        if self._newest is not None:
            self._newest = max(self._newest, newest)


def begin_of_most(times: Sequence[int], max_ahead: int) -> int:
    """Where, in ordered times, the longest run without a gap above `max_ahead` begins; the first of several.

    >>> begin_of_most([-50, 3, 4, 9, 1000, 1001], 10)
    3
    """
    best, longest, begin = -GREATEST_TIME, 0, 0
    for place, moment in enumerate(times):
        if place and moment - times[place - 1] > max_ahead:
            begin = place
        if place - begin + 1 > longest:
            longest, best = place - begin + 1, times[begin]
    return best
