"""Which evaluations a sink has stored, so that one that is answered again after a restart is stored once."""

from __future__ import annotations

from collections import deque


class Delivered:
    """Of one query, the last instant that was stored, and the revisions of instants that were answered anew.

    Instants of a query come in order of time, except that late elements have one that is past answered again, with a
    revision above 0. So one that is not after the last is known, unless its revision is new. The newest hundred revised
    instants are remembered.

    >>> stored = Delivered()
    >>> [stored.take(time, revision) for time, revision in ((5, 0), (7, 0), (5, 0), (5, 1), (5, 1))]
    [True, True, False, True, False]
    >>> [Delivered.of_text(stored.text()).has(*one) for one in ((5, 1), (7, 0), (7, 1), (8, 0))]
    [True, True, False, False]
    """

    _MOST = 100

    def __init__(self, last: int | None = None) -> None:
        self._last = last
        self._revisions: dict[int, int] = {}
        self._order: deque[int] = deque()

    @classmethod
    def of_text(cls, text: str) -> Delivered:
        """What `text` wrote."""
        last, _, revised = text.partition(";")
        made = cls(int(last) if last else None)
        for part in filter(None, revised.split(",")):
            time, _, revision = part.partition(":")
            made.note(int(time), int(revision))
        return made

    def text(self) -> str:
        """All of it in a short text."""
        revised = ",".join(f"{time}:{self._revisions[time]}" for time in self._order)
        return f"{'' if self._last is None else self._last};{revised}"

    def has(self, time: int, revision: int = 0) -> bool:
        """Whether this revision of an instant, or a later one, has been stored."""
        if self._last is None or time > self._last:
            return False
        return revision <= self._revisions.get(time, 0)

    def note(self, time: int, revision: int = 0) -> None:
        """Note what has been stored."""
        if self._last is None or time > self._last:
            self._last = time
        if revision > self._revisions.get(time, 0):
            if time not in self._revisions:
                self._order.append(time)
                if len(self._order) > self._MOST:
                    del self._revisions[self._order.popleft()]
            self._revisions[time] = revision

    def take(self, time: int, revision: int = 0) -> bool:
        """Note it, and tell whether it is new."""
        new = not self.has(time, revision)
        self.note(time, revision)
        return new
