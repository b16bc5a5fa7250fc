"""The recent answers of a query, kept for whoever follows them: a bounded ring, in which each has its place."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkext.runtime.answering.revised_answers import for_keeping
from sparkext.s2r.event_time import format_date_time
from sparkext.serving.problems import ProblemError

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers
    from sparkext.serving.options import Kept

_ID = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?(?:@([0-9a-z]{1,18}))?")


@dataclass(eq=False)
class Entry:
    """Something that happened to a query: answers, or a notice of that name with data; `place` counts from 0.

    The `id` of answers is their number, with their revision where they were corrected, and the mark of the ring; a
    notice has none.
    """

    place: int
    kind: str
    answers: Answers | None = None
    data: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    size: int = 0
    texts: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def number(self) -> tuple[int, int]:
        """Number and revision of the answers."""
        assert self.answers is not None
        return self.answers.sequence, self.answers.revision


def about(answers: Answers) -> dict[str, Any]:
    """What there is to know of answers beside them."""
    return {
        "time": format_date_time(answers.time),
        "sequence": answers.sequence,
        "revision": answers.revision,
        "rows": len(answers),
    }


def _json_line(answers: Answers) -> str:
    numbers = f'"sequence": {answers.sequence}, "revision": {answers.revision}'
    return f"{{{numbers}, {answers.to_json()[1:]}"


class AnswerRing:
    """What a query has answered lately, at most `kept.answers` of `kept.answer_bytes` together, texts included.

    `offer`, `notice` and `end` are called by threads of the engine and never wait for anybody; `text` may be called by
    any thread; all else is for the event loop. Who follows has a place in the ring and no queue of its own: one that is
    too slow finds its place gone, and `on_cut_off` is called. `before` is the number of the last answers before those
    that it keeps. The `mark` is in the ids of a query that begins from nothing: those of another one of its name are
    told apart by it. Without one, as of a query that goes on from a checkpoint, ids with any mark are known.
    """

    def __init__(
        self,
        kept: Kept,
        loop: asyncio.AbstractEventLoop,
        before: int = 0,
        on_cut_off: Callable[[], object] = int,
        mark: str = "",
    ) -> None:
        self.before = before
        self.on_cut_off = on_cut_off
        self.mark = mark
        self.ended: str | None = None
        self.subscribers = 0
        self._kept = kept
        self._loop = loop
        self._entries: deque[Entry] = deque()
        self._next = 0
        self._count = 0  # of the entries with answers
        self._bytes = 0
        self._written: dict[int, Entry] = {}  # those with texts, by place, the first one first
        self._gone = -1  # the place of the last answers that were let go,
        self._gone_number: tuple[int, int] | None = None  # and their number
        self._lock = threading.Lock()
        self._waiting: set[asyncio.Event] = set()

    # -- from the engine ----------------------------------------------------------------------------------

    def offer(self, answers: Answers) -> None:
        """Keep answers."""
        kept = for_keeping(answers)
        revision = f".{kept.revision}" if kept.revision else ""
        id = f"{kept.sequence}{revision}{self.mark and f'@{self.mark}'}"
        size = kept.table.get_total_buffer_size()
        with self._lock:
            self._entries.append(Entry(self._next, "answers", kept, id=id, size=size))
            self._next += 1
            self._count += 1
            self._bytes += size
            self._make_room()
        self._wake()

    def notice(self, kind: str, **data: Any) -> None:
        """Keep a notice for those who follow; of those since the last answers, the newest of each kind is kept."""
        with self._lock:
            for back in range(1, len(self._entries) + 1):
                known = self._entries[-back]
                if known.answers is not None:
                    break
                if known.kind == kind:
                    del self._entries[-back]
                    break
            self._entries.append(Entry(self._next, kind, data=data))
            self._next += 1
        self._wake()

    def end(self, reason: str) -> None:
        """Say that nothing more will come, and why."""
        if self.ended is None:
            self.ended = reason
            self._wake()

    def _make_room(self) -> None:
        """Let go what is too much: texts first, which can be written again."""
        most, most_bytes = self._kept.answers, self._kept.answer_bytes
        while self._written and self._bytes > most_bytes:
            self._forget_texts(next(iter(self._written)))
        while self._count > 1 and (self._count > most or self._bytes > most_bytes):
            self._let_go_oldest()

    def _forget_texts(self, place: int) -> None:
        texts = self._written.pop(place).texts
        self._bytes -= sum(map(sys.getsizeof, texts.values()))
        texts.clear()

    def _let_go_oldest(self) -> None:
        """Let the oldest answers go, with the notices before those that are then the oldest."""
        while (gone := self._entries.popleft()).answers is None:
            pass
        if gone.place in self._written:
            self._forget_texts(gone.place)
        self._count -= 1
        self._bytes -= gone.size
        self._gone, self._gone_number = gone.place, gone.number
        while self._entries[0].answers is None:
            self._entries.popleft()

    def _wake(self) -> None:
        if self._waiting:
            try:
                self._loop.call_soon_threadsafe(self._wake_all)
            except RuntimeError:  # The loop has ended, and with it all who followed.
                return

    def _wake_all(self) -> None:
        for event in self._waiting:
            event.set()

    # -- for those who follow ------------------------------------------------------------------------------

    @property
    def size(self) -> tuple[int, int]:
        """How many answers are kept, and the bytes of their tables and texts."""
        return self._count, self._bytes

    def text(self, entry: Entry, format: str) -> str:
        """The answers of an entry in a result format, written once for all who want them so; of a notice its data.

        In JSON they are one line, with the instant and the number beside what the format has.
        """
        if entry.answers is None:
            return json.dumps(entry.data)
        known = entry.texts.get(format)
        if known is None:
            found = entry.answers
            known = _json_line(found) if format == "json" else found.to_text(format)
            with self._lock:
                if entry.place > self._gone and format not in entry.texts:
                    entry.texts[format] = known
                    self._written[entry.place] = entry
                    self._bytes += sys.getsizeof(known)
                    self._make_room()
        return known

    def at(self, place: int) -> Entry | None:
        """The entry at a place or the next one, None where there is none yet.

        Raises LookupError, with the oldest place, if answers that were there are gone.
        """
        with self._lock:
            if place >= self._next:
                return None
            if place <= self._gone:
                raise LookupError(self._entries[0].place)
            return self._entries[bisect_left(self._entries, place, key=lambda entry: entry.place)]

    def place_after(self, last_id: str) -> tuple[int, dict[str, Any] | None]:
        """The place after the answers of an id, and what is missing between where these are not kept any more.

        Raises ProblemError for what is no id.
        """
        match = _ID.fullmatch(last_id.strip())
        if match is None:
            raise ProblemError(400, f"Last-Event-ID: the id of answers, not {last_id!r:.40}")
        sequence, revision, mark = match.groups()
        wanted = (int(sequence), int(revision or 0))
        with self._lock:
            told = [entry for entry in self._entries if entry.answers is not None]
            start = self._entries[0].place if self._entries else self._next
            gone = self._gone_number
        if not self.mark or mark == self.mark:
            for entry in reversed(told):
                if entry.number == wanted:
                    return entry.place + 1, None
            if wanted == gone or (gone is None and wanted[0] == self.before):
                return start, None
        first = told[0].number[0] if told else None
        return start, {"after": last_id.strip().partition("@")[0], "first": first}

    def place_of_newest(self, count: int) -> int:
        """The place of so many of the newest answers, or of the oldest entry where fewer are kept."""
        with self._lock:
            places = [entry.place for entry in self._entries if entry.answers is not None]
        if count == 0:
            return self.newest
        return places[-count] if count <= len(places) else self.oldest

    @property
    def newest(self) -> int:
        """The place of what comes next."""
        return self._next

    @property
    def oldest(self) -> int:
        """The place of the oldest entry."""
        with self._lock:
            return self._entries[0].place if self._entries else self._next

    async def wait(self, place: int, seconds: float, more: Callable[[], bool]) -> bool:
        """Wait until there is something at a place, the end, or `more` holds; False where that takes longer."""
        event = asyncio.Event()
        self._waiting.add(event)
        try:
            if place < self._next or self.ended is not None or more():
                return True
            async with asyncio.timeout(seconds):
                await event.wait()
            return True
        except TimeoutError:
            return False
        finally:
            self._waiting.discard(event)
