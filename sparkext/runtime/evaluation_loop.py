"""Evaluates the queries of an engine at their instants, in order of time."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from sparkext.errors import ClosedEngineError, EvaluationError, first_line
from sparkext.s2r.retention import still_shown
from sparkext.s2r.watermark import NEVER, milliseconds_now

if TYPE_CHECKING:
    from sparkext.runtime.derived_streams import DerivedStreams
    from sparkext.runtime.graph_versions import GraphVersions
    from sparkext.runtime.registered_query import RegisteredQuery
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)

_SHOWN_FAILURES = 3
_LAST = 1 << 53  # after every time that an element can have
_Waiting: TypeAlias = "list[tuple[int, int, RegisteredQuery]]"
"""Instants that are due with the number of their query, as a heap."""
_Stretches = dict[str, tuple[int, int]]  # (lo, hi] by the key of a window


class EvaluationLoop:
    """The queries and streams of an engine, which it shares with it; called under the engine's lock."""

    def __init__(
        self,
        queries: Mapping[str, RegisteredQuery],
        streams: Mapping[str, Stream],
        derived: DerivedStreams,
        graphs: GraphVersions,
        hand_over: Callable[[], None],
    ) -> None:
        self._queries = queries
        self._streams = streams
        self._derived = derived
        self._graphs = graphs
        self._hand_over = hand_over
        self._evaluating = False
        self._news = False  # whether something has arrived since the queries were asked what is due
        self._now: int | None = None
        self._failures: list[str] = []
        self._waiting: _Waiting = []  # kept where a loop was interrupted: its instants are still due
        self._stopped = False

    def stop(self) -> None:
        """Have nothing evaluated any more; a loop under way in another thread ends before its next instant."""
        self._stopped = True

    def settled_up_to(self, iri: str) -> int:
        """The greatest instant of a stream that some query has evaluated: older elements come too late."""
        return max(
            (q.scheduler.settled_up_to for q in self._queries.values() if q.scheduler.reads(iri)),
            default=NEVER,
        )

    def due_bound(self, iri: str) -> int:
        return NEVER

    def note_arrivals(self, iri: str, times: Sequence[int], counts: Sequence[int]) -> None:
        """Tell the queries over a stream at which times elements came, and how many at each."""
        for query in self._queries.values():
            if query.scheduler.reads(iri):
                query.scheduler.add(iri, times, counts)

    def evaluate_due(self) -> None:
        """Evaluate every query at every instant that is due, in order of time.

        Raises EvaluationError when some failed, after all others have been evaluated; it tells of the first ones. An
        interruption (Ctrl-C) leaves the instants that follow due; `stop` has it raise ClosedEngineError where some are.
        """
        self._news = True
        if self._evaluating:
            return  # A subscriber pushed: the loop below takes it up.
        self._evaluating = True
        try:
            self._evaluate_in_order()
            self._let_panes_go()
            self._graphs.apply_complete(self._failures)
        finally:
            self._evaluating = False
            self._now = None
        if self._failures:
            failures, self._failures = self._failures, []
            raise EvaluationError(_summary(failures))

    def _evaluate_in_order(self) -> None:
        """Evaluate the earliest instant of all queries until none is due, also of those that a subscriber brings about.

        Windows are shared and move forwards only, so all queries must be asked again before any goes on after news.
        """
        waiting = self._waiting
        while self._news or waiting:
            if self._stopped:
                waiting.clear()
                if not self._queries:
                    return  # A subscriber has closed the engine.
                raise ClosedEngineError(
                    "the engine was closed before all that is due was evaluated"
                )
            if self._news:
                self._news = False
                self._hand_over()
                self._now = milliseconds_now()
                asked = {query for _, _, query in waiting}
                for query in self._queries.values():
                    if query not in asked:
                        self._wait(query, waiting)
                self._news |= self._derived.pass_on({query: time for time, _, query in waiting})
            elif waiting:
                instant, _, query = heapq.heappop(waiting)
                if query.active:
                    self._graphs.apply_until(instant, self._failures)
                    self._evaluate(query, instant)
                    self._wait(query, waiting)
                    self._news |= len(self._derived) > 0

    def clock(self) -> int:
        """Milliseconds now; it stands still while queries are asked, so that all find the same streams idle."""
        return milliseconds_now() if self._now is None else self._now

    def _wait(self, query: RegisteredQuery, waiting: _Waiting) -> None:
        instant = next(query.scheduler.due(), None)
        if instant is not None:
            heapq.heappush(waiting, (instant, query.number, query))

    def _evaluate(self, query: RegisteredQuery, instant: int) -> None:
        try:
            query.evaluate(instant)
        except Exception as error:
            # The other queries and instants come first; whoever pushed hears of it afterwards.
            query.progress.failures += 1
            logger.exception("%s failed at %d ms", query.name, instant)
            said = first_line(error) or type(error).__name__
            self._failures.append(f"{query.name} at {instant} ms: {said}")

    def _let_panes_go(self) -> None:
        """Move windows that were not evaluated lately, and drop the panes that none shows or may still show."""
        for iri, stream in self._streams.items():
            complete = min(stream.watermark.complete_up_to, _LAST)
            if complete <= NEVER:
                continue
            present: _Stretches = {}
            awaited: _Stretches = {}
            for query in self._queries.values():
                if not query.scheduler.reads(iri):
                    continue
                settled = min(query.scheduler.settled_up_to, complete)
                emptied = min(query.scheduler.emptied_up_to, _LAST)
                for window in query.windows.values():
                    if window.stream != iri:
                        continue
                    low, high = still_shown(window.spec, emptied)
                    other_low, other_high = awaited.get(window.key, (low, high))
                    awaited[window.key] = (min(low, other_low), max(high, other_high))
                    if settled > NEVER:
                        bounds = window.spec.present_bounds(settled)
                        present[window.key] = min(present.get(window.key, bounds), bounds)
            if present:
                stream.log.advanceAll(_lines(present))
            # What is too late for the stream or for a query over it is not taken in any more.
            passed = min(max(complete, self.settled_up_to(iri)), _LAST)
            stream.log.dropExpired(passed, _lines(awaited))


def _lines(stretches: _Stretches) -> str:
    """As StreamLog reads them."""
    return "\n".join(f"{key}|{low}|{high}" for key, (low, high) in stretches.items())


def _summary(failures: Sequence[str]) -> str:
    """The first failures and how many others there were; the log has all of them.

    >>> _summary(["q at 1 ms: / by zero"])
    'q at 1 ms: / by zero'
    >>> _summary([f"q at {time} ms: / by zero" for time in range(1, 8)])
    'q at 1 ms: / by zero; q at 2 ms: / by zero; q at 3 ms: / by zero; and 4 other failures'
    """
    others = len(failures) - _SHOWN_FAILURES
    more = [f"and {others} other failure{'s' * (others > 1)}"] if others > 0 else []
    return "; ".join([*failures[:_SHOWN_FAILURES], *more])
