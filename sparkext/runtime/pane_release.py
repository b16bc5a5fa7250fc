"""Has the panes of streams go that no window shows or may still show."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sparkext.s2r.retention import still_shown
from sparkext.s2r.schedule import Schedule
from sparkext.s2r.watermark import FOREVER, NEVER
from sparkext.s2r.windows import ElementsWindow

if TYPE_CHECKING:
    from sparkext.runtime.lateness.corrected_queries import CorrectedQueries
    from sparkext.runtime.queries.window_registry import QueryWindow
    from sparkext.runtime.registered_query import RegisteredQuery
    from sparkext.runtime.streams.stream import Stream

_LAST = 1 << 53  # after every time that an element can have
_Stretches = dict[str, tuple[int, int]]  # (lo, hi] by the key of a window


@dataclass
class _Kept:
    """What has happened to a stream since its panes were looked at."""

    news: int = 0
    evaluated: int = 0
    surely: bool = False
    moved: dict[int, int] = field(default_factory=dict)  # the instant of a query's windows here
    said: object = None  # what the log was told last

    def worth_a_look(self, readers: int, panes: int) -> bool:
        """A look asks all who read the stream, and the log about all panes: what has happened since must pay for it,
        but among few nothing is kept for long."""
        share = max(1, readers // 8)
        return self.surely or self.evaluated >= share or self.news >= max(share, panes // 16)


class PaneRelease:
    """What the streams of an engine keep, and when it is looked at; called under the engine's lock."""

    def __init__(
        self,
        streams: Mapping[str, Stream],
        schedule: Schedule,
        queries: Mapping[int, RegisteredQuery],
        corrected: CorrectedQueries,
        settled_up_to: Callable[[str], int],
        restarts: bool = False,
    ) -> None:
        self._corrected = corrected
        self._settled_up_to = settled_up_to
        self._streams = streams
        self._schedule = schedule
        self._queries = queries
        self._restarts = restarts
        self._kept: dict[str, _Kept] = {}
        self._changed: dict[str, None] = {}

    def arrived(self, iri: str, times: Sequence[int]) -> None:
        """Note elements of these times, which are distinct and in order."""
        self._of(iri).news += len(times)

    def promised(self, iri: str) -> None:
        """Note that a stream is complete further than before."""
        if iri in self._kept:  # else there is nothing of it
            self._of(iri).news += 1

    def evaluated(self, query: RegisteredQuery) -> None:
        """Note an instant of a query."""
        for iri in query.scheduler.watermarks:
            self._of(iri).evaluated += 1

    def query_ended(self, query: RegisteredQuery) -> None:
        """Note that the windows of a query are gone."""
        for iri in query.scheduler.watermarks:
            kept = self._of(iri)
            kept.moved.pop(query.number, None)
            kept.surely = True

    def _of(self, iri: str) -> _Kept:
        self._changed[iri] = None
        return self._kept.setdefault(iri, _Kept())

    def look(self) -> None:
        """Move windows that were not evaluated lately, and drop panes, where it is worth it; called when nothing is
        due."""
        for iri in list(self._changed):
            stream, kept = self._streams[iri], self._kept[iri]
            kept.surely |= stream.watermark.finished
            if kept.worth_a_look(len(self._schedule.readers(iri)), stream.panes):
                self._release(stream, kept)
                kept.news, kept.evaluated, kept.surely = 0, 0, False
            del self._changed[iri]

    def _release(self, stream: Stream, kept: _Kept) -> None:
        complete = min(stream.watermark.complete_up_to, _LAST)
        if complete <= NEVER:
            return
        present: _Stretches = {}
        awaited: _Stretches = {}
        behind = False
        readers = self._schedule.readers(stream.iri)
        self._schedule.catch_up(readers)
        self._corrected.settle(readers)
        again: list[str] = []
        for number in readers:
            query = self._queries[number]
            settled = min(query.scheduler.settled_up_to, complete)
            corrections = query.corrections
            follows = query.scheduler if corrections is None else corrections.final
            emptied = min(follows.emptied_up_to, _LAST)
            if self._restarts and (remembered := query.remembers) is not None:
                # After a restart it finds again what it answered last.
                settled, emptied = min(settled, remembered), min(emptied, remembered - 1)
            for window in query.windows.values():
                if window.stream != stream.iri:
                    continue
                low, high = still_shown(window.spec, emptied)
                if corrections is not None:
                    if isinstance(window.spec, ElementsWindow):  # the log counts back from there
                        low = min(corrections.complete, _LAST)
                    if corrections.before is not None:
                        again.append(_again(window, corrections.before))
                other_low, other_high = awaited.get(window.key, (low, high))
                awaited[window.key] = (min(low, other_low), max(high, other_high))
                if settled > NEVER:
                    bounds = window.spec.present_bounds(settled)
                    present[window.key] = min(present.get(window.key, bounds), bounds)
            behind |= settled > max(query.moved_to, kept.moved.get(number, NEVER))
            kept.moved[number] = settled
        parts = [_lines(present) if behind else ""]
        # What is too late for the stream or for a query over it is not taken in any more.
        final = stream.watermark.final.complete_up_to
        passed = min(max(final, self._settled_up_to(stream.iri)), _LAST)
        # Where all is awaited that is newer than something, only what is awaited decides.
        onwards = awaited and all(
            low <= passed and high >= FOREVER for low, high in awaited.values()
        )
        # Where a window of the last elements opens is known to the log alone: it moves with where the window closes.
        opened = {key: close if low <= NEVER else low for key, (low, close) in present.items()}
        said = (awaited, opened, None if onwards else passed, again)
        if said != kept.said:
            parts += [str(passed), "\n".join([_lines(awaited), *again])]
            kept.said = said
        if any(parts):
            stream.settle("\f".join(parts))


def _again(window: QueryWindow, instant: int) -> str:
    """What a window shows at an instant, as StreamLog reads it: it may be moved back to there."""
    low, high = window.spec.present_bounds(instant)
    counted = isinstance(window.spec, ElementsWindow)
    return f"{window.key}|{high if counted else low}|{high}"


def _lines(stretches: _Stretches) -> str:
    """As StreamLog reads them."""
    return "\n".join(f"{key}|{low}|{high}" for key, (low, high) in stretches.items())
