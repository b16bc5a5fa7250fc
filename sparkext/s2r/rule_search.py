"""The first instant at which a rule of a report policy holds, by what arrived in the windows of its query."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkext.s2r.arrivals import WindowArrivals
from sparkext.s2r.report import Rule
from sparkext.s2r.watermark import FOREVER

_PAUSE = 4096
_TRIED = 16


class RuleSearch:
    """Looks for instants: each condition of a rule in turn moves the candidate on, until all agree on it.

    `steps` counts the moves. `pause` is called once in a while in a long search, which it may end by an exception.
    """

    def __init__(self, arrivals: Sequence[WindowArrivals]) -> None:
        self.steps = 0
        self.pause: Callable[[], None] = lambda: None
        self._arrivals = arrivals

    def first(self, rule: Rule, start: int, limit: int) -> int | None:
        """The first instant in [start, limit] at which all of the rule holds, by the elements known so far."""
        t, agreed, place = start, 0, 0
        parts = len(rule.conditions) + (rule.every is not None)
        while t <= limit:
            self.steps += 1
            if self.steps % _PAUSE == 0:
                self.pause()
            if place < len(rule.conditions):
                condition = rule.conditions[place]
                moved = self._arrivals[condition.window].next_holding(condition.strategy, t)
            else:
                moved = _next_period(rule, t)
            if moved is None:
                return None
            agreed = agreed + 1 if moved == t else 1
            t = moved
            if agreed == parts and t <= limit:
                return t
            place = (place + 1) % parts
        return None

    def bound(self, rule: Rule, start: int, coming: Sequence[int]) -> int:
        """An instant from `start` on before which the rule holds at none, whatever elements may still come to each
        window's stream from the times `coming` on; FOREVER where it never will."""
        t, agreed, place = start, 0, 0
        parts = len(rule.conditions) + (rule.every is not None)
        for _ in range(_TRIED):  # they may never agree, and any candidate is a bound
            if place < len(rule.conditions):
                condition = rule.conditions[place]
                arrivals = self._arrivals[condition.window]
                moved = arrivals.may_hold(condition.strategy, t, coming[condition.window])
            else:
                moved = _next_period(rule, t)
            if moved is None:
                return FOREVER
            agreed = agreed + 1 if moved == t else 1
            t = moved
            if agreed == parts:
                break
            place = (place + 1) % parts
        return t


def _next_period(rule: Rule, t: int) -> int:
    assert rule.every is not None
    return t + (rule.start - t) % rule.every
