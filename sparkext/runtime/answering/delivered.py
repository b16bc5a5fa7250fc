"""Which evaluations a sink has stored, so that one that is answered again after a restart is stored once."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from sparkext.runtime.answering.revised_answers import RevisedAnswers

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers


def revision_of(answers: Answers) -> int | None:
    """The revision of answers that late elements have made, which may be 0; None of those that came in order."""
    late = answers.revision or isinstance(answers, RevisedAnswers)
    return answers.revision if late else None


class Delivered:
    """Of one query, the last instant that was stored, and the revisions of instants that late elements have changed.

    Instants of a query come in order of time, without a revision, but for those that late elements change or make. So
    one without a revision that is not after the last is known. Of the others, the newest 10,000 are remembered: a late
    element may change hundreds of instants, and all since the last commit come again.

    >>> stored = Delivered()
    >>> [stored.take(*one) for one in ((5, None), (7, None), (5, None), (5, 1), (5, 1), (6, 0), (6, 0))]
    [True, True, False, True, False, True, False]
    >>> again = Delivered.of_text(stored.text())
    >>> [again.has(*one) for one in ((5, 1), (7, None), (7, 1), (8, None), (6, 0))]
    [True, True, False, False, True]
    >>> stored.text(), stored.text(most=8)
    ('7;5:1,6:0', '7;6:0')
    """

    _MOST = 10_000

    def __init__(self, last: int | None = None) -> None:
        self._last = last
        self._revisions: OrderedDict[int, int] = OrderedDict()  # by instant, the newest last

    @classmethod
    def of_text(cls, text: str) -> Delivered:
        """What `text` wrote."""
        last, _, revised = text.partition(";")
        made = cls(int(last) if last else None)
        for part in filter(None, revised.split(",")):
            time, _, revision = part.partition(":")
            made.note(int(time), int(revision))
        return made

    def text(self, most: int | None = None) -> str:
        """All of it in a short text; with `most`, of as many characters at most, only the newest revisions that fit."""
        begun = f"{'' if self._last is None else self._last};"
        parts: list[str] = []
        left = None if most is None else most - len(begun)
        for time, revision in reversed(self._revisions.items()):
            part = f"{time}:{revision}"
            if left is not None:
                left -= len(part) + 1
                if left < 0:
                    break
            parts.append(part)
        return begun + ",".join(reversed(parts))

    def has(self, time: int, revision: int | None = None) -> bool:
        """Whether this revision of an instant, or a later one, has been stored."""
        if revision is None:
            return self._last is not None and time <= self._last
        return revision <= self._revisions.get(time, -1)

    def note(self, time: int, revision: int | None = None) -> None:
        """Note what has been stored."""
        if revision is None:
            self._last = time if self._last is None else max(time, self._last)
        elif revision > self._revisions.get(time, -1):
            self._revisions[time] = revision
            self._revisions.move_to_end(time)
            if len(self._revisions) > self._MOST:
                self._revisions.popitem(last=False)

    def take(self, time: int, revision: int | None = None) -> bool:
        """Note it, and tell whether it is new."""
        new = not self.has(time, revision)
        self.note(time, revision)
        return new
