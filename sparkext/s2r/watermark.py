"""Watermarks: up to which time a stream's elements are known to be complete.

An instant t is complete on a stream when no element of time t or earlier can still be taken in. An
element of the same time as the latest one may come with the next push, so the latest time itself is
not complete: with latest time m and allowed lateness L the stream is complete up to ``m - L - 1``.
`StreamWatermark.advance_to` and `StreamWatermark.finish` are promises from outside.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sparkext.errors import CqelsError

# Before every time and after every time; both leave room for a window's width.
NEVER = -(1 << 62)
FOREVER = 1 << 62


class WatermarkError(CqelsError):
    """An allowed lateness or an idle timeout below zero."""


@dataclass(slots=True)
class Arrivals:
    """What became of a batch: the times taken in (with the elements of each), and those that came
    too late, both in the order of arrival."""

    on_time: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    on_time_counts: list[int] = field(default_factory=list)
    on_time_elements: int = 0
    late_elements: int = 0


def milliseconds_now() -> int:
    """Processing time in milliseconds, from a clock that never goes back."""
    return time.monotonic_ns() // 1_000_000


class StreamWatermark:
    """How far one stream is complete; shared by all queries over the stream.

    `clock` gives processing time in milliseconds and is asked only when there is an `idle_timeout`:
    a stream from which nothing has come for that long (since it was made, if never) is idle, and
    instants no longer wait for it. `on_move` is called when the stream is complete further than before.

    >>> stream = StreamWatermark(allowed_lateness=2)
    >>> stream.observe([10, 11]).on_time, stream.complete_up_to
    ([10, 11], 8)
    >>> stream.observe([9, 8]).late
    [8]
    """

    def __init__(
        self,
        allowed_lateness: int = 0,
        idle_timeout: int | None = None,
        clock: Callable[[], int] = milliseconds_now,
    ) -> None:
        if allowed_lateness < 0 or (idle_timeout is not None and idle_timeout < 0):
            raise WatermarkError("the allowed lateness and the idle timeout cannot be below 0 ms")
        self.allowed_lateness = allowed_lateness
        self.idle_timeout = idle_timeout
        self.on_time_count = 0
        self.late_count = 0
        self.on_move: Callable[[], object] | None = None
        self._clock = clock
        self._complete = NEVER
        self._last_sign = clock() if idle_timeout is not None else 0

    @property
    def final(self) -> StreamWatermark:
        """Up to where answers do not change any more; another one where late elements correct."""
        return self

    @property
    def corrects(self) -> bool:
        """Whether elements are taken in after instants of their time were evaluated, see `CorrectingWatermark`."""
        return self.final is not self

    @property
    def complete_up_to(self) -> int:
        """The greatest time up to which no element can still be taken in; NEVER before the first,
        FOREVER after the end. Where late elements correct, that is so up to `final.complete_up_to` only."""
        return self._complete

    @property
    def finished(self) -> bool:
        """Whether the stream has ended."""
        return self._complete >= FOREVER

    @property
    def idle(self) -> bool:
        """Whether nothing has come for the idle timeout; a finished stream is never idle, it is
        complete."""
        if self.idle_timeout is None or self.finished:
            return False
        return self._clock() - self._last_sign >= self.idle_timeout

    def is_late(self, time: int) -> bool:
        """Whether an element of that time would come too late now."""
        return time <= self._complete

    def observe(
        self, times: Iterable[int], counts: Sequence[int] | None = None, settled: int = NEVER
    ) -> Arrivals:
        """Take in elements of these times, one after the other, and say which of them came too
        late.

        The order matters only between a time and those before it in `times`: a sorted batch is
        judged by the watermark before it. `counts` gives the number of elements of each time (1
        each without it). Times up to `settled` are late as well.
        """
        arrivals = Arrivals()
        for place, element_time in enumerate(times):
            count = 1 if counts is None else counts[place]
            if element_time <= self._complete or element_time <= settled:
                arrivals.late.append(element_time)
                arrivals.late_elements += count
                continue
            arrivals.on_time.append(element_time)
            arrivals.on_time_counts.append(count)
            arrivals.on_time_elements += count
            self._move_to(element_time - self.allowed_lateness - 1)
        self.on_time_count += arrivals.on_time_elements
        self.late_count += arrivals.late_elements
        if arrivals.on_time or arrivals.late:
            self._note_sign()
        return arrivals

    def note(self, newest: int, on_time: int, late: int = 0) -> None:
        """Note elements that have been judged: so many on time, the newest of that time, and so many too late."""
        self.on_time_count += on_time
        self.late_count += late
        if on_time:
            self._move_to(newest - self.allowed_lateness - 1)
        if on_time or late:
            self._note_sign()

    def advance_to(self, t: int) -> None:
        """Promise that no further element has time `t` or an earlier one; going back has no
        effect."""
        self._move_to(min(t, FOREVER - 1))
        self._note_sign()

    def finish(self) -> None:
        """Say that the stream has ended: it is complete for ever, and what still comes is late."""
        self._move_to(FOREVER)

    def restore(self, complete: int, final: int, on_time: int, late: int) -> None:
        """Be as far as another one was that had counted so many elements."""
        self._complete, self.on_time_count, self.late_count = complete, on_time, late

    def _move_to(self, complete: int) -> None:
        if complete > self._complete:
            self._complete = complete
            if self.on_move is not None:
                self.on_move()

    def _note_sign(self) -> None:
        if self.idle_timeout is not None:
            self._last_sign = self._clock()


class CorrectingWatermark(StreamWatermark):
    """The watermark of a stream whose late elements correct: instants wait for no lateness, but are final after it.

    >>> stream = CorrectingWatermark(allowed_lateness=5)
    >>> stream.note(20, 1); stream.complete_up_to, stream.final.complete_up_to
    (19, 14)
    """

    def __init__(
        self,
        allowed_lateness: int = 0,
        idle_timeout: int | None = None,
        clock: Callable[[], int] = milliseconds_now,
    ) -> None:
        super().__init__(0, idle_timeout, clock)
        self._final = StreamWatermark(allowed_lateness, idle_timeout, clock)

    @property
    def final(self) -> StreamWatermark:
        return self._final

    def note(self, newest: int, on_time: int, late: int = 0) -> None:
        self._final.note(newest, on_time, late)
        super().note(newest, on_time, late)

    def advance_to(self, t: int) -> None:
        self._final.advance_to(t)
        super().advance_to(t)

    def finish(self) -> None:
        self._final.finish()
        super().finish()

    def restore(self, complete: int, final: int, on_time: int, late: int) -> None:
        self._final.restore(final, final, on_time, late)
        super().restore(complete, final, on_time, late)


class LateWatermark(StreamWatermark):
    """The watermark of a stream of what comes too late on another one: it is idle where that one is.

    >>> now = [0]
    >>> source = StreamWatermark(idle_timeout=5, clock=lambda: now[0])
    >>> late = LateWatermark(source); now[0] = 5; late.advance_to(10); late.idle
    True
    """

    def __init__(self, source: StreamWatermark) -> None:
        super().__init__(0, source.idle_timeout, source._clock)
        self._source = source

    @property
    def idle(self) -> bool:
        return not self.finished and self._source.idle


def complete_up_to(watermarks: Iterable[StreamWatermark]) -> int:
    """The time up to which instants need wait for none of the streams.

    Idle streams are not waited for; when all are idle, the one that is furthest ahead counts.

    >>> a, b = StreamWatermark(), StreamWatermark()
    >>> a.advance_to(10); b.advance_to(20)
    >>> complete_up_to([a, b])
    10
    """
    streams = list(watermarks)
    awaited = [stream.complete_up_to for stream in streams if not stream.idle]
    if awaited:
        return min(awaited)
    return max((stream.complete_up_to for stream in streams), default=NEVER)
