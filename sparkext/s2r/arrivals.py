"""The element times of one window, and the next instant at which a report strategy holds for it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from sparkext.s2r.report import Strategy
from sparkext.s2r.windows import ElementsWindow, WindowSpec


def arrivals_of(window: WindowSpec) -> WindowArrivals:
    """What keeps the arrivals of a window of this kind."""
    if isinstance(window, ElementsWindow):
        return CountedArrivals(window)
    return WindowArrivals(window)


class WindowArrivals:
    """The distinct times of the elements that entered one window and have not been forgotten.

    Every answer is found by bisection over what arrived; no instant in between is looked at.
    """

    def __init__(self, window: WindowSpec) -> None:
        self.window = window
        self.latest: int | None = None
        self._times: list[int] = []

    def add(self, times: Iterable[int], counts: Sequence[int] | None = None) -> None:
        """Take in element times, in any order, `counts` elements of each; those that enter no
        window (gaps, before the start) are passed over."""
        for time in times:
            if not self.window.holds(time):
                continue
            if self.latest is None or time > self.latest:
                self._times.append(time)
                self.latest = time
                continue
            place = bisect_left(self._times, time)
            if place == len(self._times) or self._times[place] != time:
                self._times.insert(place, time)

    def forget(self, settled: int) -> None:
        """Drop the times of elements that are no longer in the content at an instant that has been
        decided."""
        low, high = self.window.present_bounds(settled)
        gone = bisect_right(self._times, low)
        if gone < len(self._times) and self.window.leaves_at(self._times[gone]) is None:
            # What stays for ever is there as long as one of its times is.
            gone = max(gone, bisect_right(self._times, high) - 1)
        if gone * 2 > len(self._times):  # amortised: a deletion at the front moves what stays
            del self._times[:gone]

    def __len__(self) -> int:
        return len(self._times)

    def is_empty_at(self, t: int) -> bool:
        """Whether the window shows no element at `t`."""
        low, high = self.window.present_bounds(t)
        return bisect_right(self._times, low) == bisect_right(self._times, high)

    def next_holding(self, strategy: Strategy, t: int) -> int | None:
        """The first instant from `t` on at which the strategy holds, by the elements known so far;
        None if there is none."""
        if strategy is Strategy.WINDOW_CLOSE:
            return self._next_close(t)
        if strategy is Strategy.NON_EMPTY:
            return self._next_entering(t) if self.is_empty_at(t) else t
        if strategy is Strategy.CONTENT_CHANGE:
            return self._next_entering(t)
        changes = [at for at in (self._next_entering(t), self._next_leaving(t)) if at is not None]
        return min(changes, default=None)

    def _next_close(self, t: int) -> int | None:
        return self.window.next_close(t - 1)

    def _next_entering(self, t: int) -> int | None:
        # Elements enter in the order of their times; those up to here were in before.
        place = bisect_right(self._times, self.window.present_bounds(t - 1)[1])
        return self.window.enters_at(self._times[place]) if place < len(self._times) else None

    def _next_leaving(self, t: int) -> int | None:
        # Elements leave in the order of their times; the first still there at t - 1 is the next to
        # go.
        place = bisect_right(self._times, self.window.present_bounds(t - 1)[0])
        return self.window.leaves_at(self._times[place]) if place < len(self._times) else None


class CountedArrivals(WindowArrivals):
    """The arrivals of a window of the last elements: what closes it, and what pushes elements out,
    is that others come."""

    def __init__(self, window: ElementsWindow) -> None:
        super().__init__(window)
        self._step = window.step or 1
        self._counts: dict[int, int] = {}
        self._forgotten = 0  # elements up to the last settled instant
        self._front = 0  # where the times after it begin

    def add(self, times: Iterable[int], counts: Sequence[int] | None = None) -> None:
        arrived = list(times)
        for place, time in enumerate(arrived):
            count = 1 if counts is None else counts[place]
            self._counts[time] = self._counts.get(time, 0) + count
        super().add(arrived)

    def forget(self, settled: int) -> None:
        while self._front < len(self._times) and self._times[self._front] <= settled:
            self._forgotten += self._counts.pop(self._times[self._front])
            self._front += 1
        if self._front * 2 > len(self._times):
            del self._times[: self._front]
            self._front = 0

    def is_empty_at(self, t: int) -> bool:
        return not self._forgotten and super().is_empty_at(t)

    def _next_close(self, t: int) -> int | None:
        before = self._forgotten
        for place in range(self._front, len(self._times)):
            time = self._times[place]
            now = before + self._counts[time]
            if time >= t and now // self._step > before // self._step:
                return time
            before = now
        return None

    def _next_leaving(self, t: int) -> int | None:
        return None  # with the arrival of another, which is a change already
