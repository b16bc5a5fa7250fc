"""The recent answers of a query, kept for whoever follows them: a bounded ring, in which each has its place."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparkext.s2r.event_time import format_date_time
from sparkext.serving.problems import ProblemError

if TYPE_CHECKING:
    from sparkext.runtime.answering.answers import Answers
    from sparkext.serving.options import Kept

_ID = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,18}))?")


@dataclass
class Entry:
    """Something that happened to a query: answers, or a notice of that name with data; `place` counts from 0."""

    place: int
    kind: str
    answers: Answers | None = None
    data: dict[str, Any] = field(default_factory=dict)
    size: int = 0
    _texts: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def id(self) -> str | None:
        """The number of the answers, with their revision where they were corrected; None for a notice."""
        found = self.answers
        if found is None:
            return None
        return f"{found.sequence}.{found.revision}" if found.revision else str(found.sequence)

    def text(self, format: str) -> str:
        """The answers in a result format, written once for all who want them so; of a notice its data.

        In JSON they are one line, with the instant and the number beside what the format has.
        """
        if self.answers is None:
            return json.dumps(self.data)
        known = self._texts.get(format)
        if known is None:
            known = self._texts[format] = (
                _json_line(self.answers) if format == "json" else self.answers.to_text(format)
            )
        return known


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
    """What a query has answered lately, at most `kept.answers` of `kept.answer_bytes` together.

    `offer`, `notice` and `end` are called by threads of the engine and never wait for anybody; all else is for the
    event loop. Who follows has a place in the ring and no queue of its own: one that is too slow finds its place gone,
    and `on_cut_off` is called. `before` is the number of the last answers before those that it keeps.
    """

    def __init__(
        self,
        kept: Kept,
        loop: asyncio.AbstractEventLoop,
        before: int = 0,
        on_cut_off: Callable[[], object] = int,
    ) -> None:
        self.before = before
        self.on_cut_off = on_cut_off
        self.ended: str | None = None
        self.subscribers = 0
        self._kept = kept
        self._loop = loop
        self._entries: deque[Entry] = deque()
        self._next = 0
        self._bytes = 0
        self._lock = threading.Lock()
        self._waiting: set[asyncio.Event] = set()

    # -- from the engine ----------------------------------------------------------------------------------

    def offer(self, answers: Answers) -> None:
        """Keep answers."""
        self._add("answers", answers, {}, int(answers.table.nbytes))

    def notice(self, kind: str, **data: Any) -> None:
        """Keep a notice for those who follow."""
        self._add(kind, None, data, 0)

    def end(self, reason: str) -> None:
        """Say that nothing more will come, and why."""
        if self.ended is None:
            self.ended = reason
            self._wake()

    def _add(self, kind: str, answers: Answers | None, data: dict[str, Any], size: int) -> None:
        with self._lock:
            self._entries.append(Entry(self._next, kind, answers, data, size))
            self._next += 1
            self._bytes += size
            while len(self._entries) > 1 and (
                len(self._entries) > self._kept.answers or self._bytes > self._kept.answer_bytes
            ):
                self._bytes -= self._entries.popleft().size
        self._wake()

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
        """How many entries are kept, and the bytes of their tables."""
        return len(self._entries), self._bytes

    def latest(self) -> Entry | None:
        """The newest answers that are kept."""
        with self._lock:
            return next((e for e in reversed(self._entries) if e.answers is not None), None)

    def at(self, place: int) -> Entry | None:
        """The entry at a place, None where there is none yet; raises LookupError, with the oldest, if it is gone."""
        with self._lock:
            if place >= self._next:
                return None
            first = self._entries[0].place
            if place < first:
                raise LookupError(first)
            return self._entries[place - first]

    def place_after(self, last_id: str) -> tuple[int, dict[str, Any] | None]:
        """The place after the answers of an id, and what is missing between where these are not kept any more.

        Raises ProblemError for what is no id.
        """
        match = _ID.fullmatch(last_id.strip())
        if match is None:
            raise ProblemError(400, f"Last-Event-ID: the number of answers, not {last_id!r:.40}")
        wanted = (int(match.group(1)), int(match.group(2) or 0))
        with self._lock:
            told = [entry for entry in self._entries if entry.answers is not None]
            start = self._entries[0].place if self._entries else self._next
        for entry in reversed(told):
            if entry.id == last_id.strip():
                return entry.place + 1, None
        numbers = [entry.answers.sequence for entry in told if entry.answers is not None]
        if not numbers:
            return start, None if wanted[0] == self.before else {"after": last_id, "first": None}
        if wanted[0] + 1 == min(numbers) and wanted[1] == 0:
            return start, None
        return start, {"after": last_id, "first": min(numbers)}

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
