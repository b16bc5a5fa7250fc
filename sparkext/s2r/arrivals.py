"""The next instant at which a report strategy holds for one window, by what arrived on its stream."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

from sparkext.s2r.report import Strategy
from sparkext.s2r.stream_times import SeenTimes
from sparkext.s2r.watermark import FOREVER, NEVER
from sparkext.s2r.windows import ElementsWindow, WindowSpec


def arrivals_of(window: WindowSpec, seen: SeenTimes) -> WindowArrivals:
    """What finds the instants of a window of this kind among the times of its stream."""
    if isinstance(window, ElementsWindow):
        return CountedArrivals(window, seen)
    return WindowArrivals(window, seen)


class WindowArrivals:
    """A window over the times that its query has seen of a stream.

    Every answer is found by bisection over what arrived; no instant in between is looked at.
    """

    def __init__(self, window: WindowSpec, seen: SeenTimes) -> None:
        self.window = window
        self.latest: int | None = None
        self._seen = seen
        self._stays = False  # what has entered stays for ever

    def state(self) -> list[Any]:
        """What `restore` has another one of the same window know."""
        return [self.latest, self._stays]

    def restore(self, state: Sequence[Any]) -> None:
        """Know what the one knew whose state this is."""
        self.latest, self._stays = state[0], state[1]

    def over(self, seen: SeenTimes) -> WindowArrivals:
        """The same, over what another query has seen that has passed the same times."""
        made = copy(self)
        made._seen = seen
        return made

    def look(self) -> None:
        """Find the `latest` time that enters the window, after news."""
        time = self._seen.last()
        latest = NEVER if self.latest is None else self.latest
        while time is not None and time > latest:
            if self.window.holds(time):
                self.latest = time
                return
            time = self._seen.last(min(time - 1, self.window.held_until(time)))

    def settle(self, t: int) -> None:
        """Note that instants up to `t` are decided."""

    def needed_after(self, passed: int) -> int:
        """The time up to which no element decides on an instant after `passed`, by which it is decided."""
        self.settle(passed)
        low, high = self.window.present_bounds(passed)
        if not self._stays:
            time = self._seen.first(low)
            self._stays = time is not None and time <= high and self.window.leaves_at(time) is None
        return high if self._stays else low

    def is_empty_at(self, t: int) -> bool:
        """Whether the window shows no element at `t`."""
        if self._stays:
            return False
        low, high = self.window.present_bounds(t)
        time = self._seen.first(low)
        return time is None or time > high

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

    def may_hold(self, strategy: Strategy, t: int, coming: int) -> int | None:
        """As `next_holding`, but whatever elements of times from `coming` on may still come: not before this."""
        known = self.next_holding(strategy, t)
        entering = self.window.held_from(coming)
        if entering >= FOREVER or not self._moved_by_arrivals(strategy):
            return known
        new = max(t, self.window.enters_at(entering))
        return new if known is None else min(known, new)

    def _moved_by_arrivals(self, strategy: Strategy) -> bool:
        return strategy is not Strategy.WINDOW_CLOSE

    def _next_close(self, t: int) -> int | None:
        return self.window.next_close(t - 1)

    def _next_entering(self, t: int) -> int | None:
        # Elements enter in the order of their times; those up to here were in before.
        time = self._first_held(self.window.present_bounds(t - 1)[1])
        return None if time is None else self.window.enters_at(time)

    def _next_leaving(self, t: int) -> int | None:
        # Elements leave in the order of their times; the first still there at t - 1 is the next to
        # go.
        time = self._first_held(self.window.present_bounds(t - 1)[0])
        return None if time is None else self.window.leaves_at(time)

    def _first_held(self, after: int) -> int | None:
        time = self._seen.first(after)
        while time is not None and not self.window.holds(time):
            time = self._seen.first(max(time, self.window.held_from(time) - 1))
        return time


class CountedArrivals(WindowArrivals):
    """The arrivals of a window of the last elements: what closes it, and what pushes elements out,
    is that others come."""

    def __init__(self, window: ElementsWindow, seen: SeenTimes) -> None:
        super().__init__(window, seen)
        self._step = window.step or 1
        self._settled = NEVER
        self._passed = 0  # elements up to the settled instant

    def state(self) -> list[Any]:
        """As there."""
        return [*super().state(), self._settled, self._passed]

    def restore(self, state: Sequence[Any]) -> None:
        """As there."""
        super().restore(state)
        self._settled, self._passed = state[2], state[3]

    def settle(self, t: int) -> None:
        for time in self._seen.between(self._settled, t):
            self._passed += self._seen.count(time)
        self._settled = t

    def _moved_by_arrivals(self, strategy: Strategy) -> bool:
        return True

    def _next_close(self, t: int) -> int | None:
        before = self._passed
        for time in self._seen.between(self._settled, FOREVER):
            now = before + self._seen.count(time)
            if time >= t and now // self._step > before // self._step:
                return time
            before = now
        return None

    def _next_leaving(self, t: int) -> int | None:
        return None  # with the arrival of another, which is a change already
