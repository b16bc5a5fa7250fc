"""Evaluates the queries of an engine at their instants, in order of time."""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from sparkext.errors import ClosedEngineError, EvaluationError, LimitError, first_line
from sparkext.runtime.lateness.corrected_queries import CorrectedQueries
from sparkext.runtime.pane_release import PaneRelease
from sparkext.runtime.parts.held_interrupts import whole
from sparkext.s2r.schedule import Schedule
from sparkext.s2r.stream_times import StreamTimes
from sparkext.s2r.watermark import NEVER, milliseconds_now

if TYPE_CHECKING:
    from sparkext.runtime.derived_streams import DerivedStreams
    from sparkext.runtime.graph_versions import GraphVersions
    from sparkext.runtime.parts.engine_lock import EngineLock
    from sparkext.runtime.registered_query import RegisteredQuery
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)

_SHOWN_FAILURES = 3
_Waiting: TypeAlias = "list[tuple[int, int, RegisteredQuery]]"
"""Instants that are due with the number of their query, as a heap."""


class EvaluationLoop:
    """The queries and streams of an engine, which it shares with it; called under the engine's lock."""

    def __init__(
        self,
        streams: Mapping[str, Stream],
        derived: DerivedStreams,
        graphs: GraphVersions,
        lock: EngineLock,
        hand_over: Callable[[], None],
        together: Callable[[Sequence[str]], Sequence[str]] | None,
        restarts: bool = False,
    ) -> None:
        self._queries: dict[int, RegisteredQuery] = {}
        self._derived = derived
        self._graphs = graphs
        self._hand_over = hand_over
        self._lock = lock
        self._together = together  # None: queries are evaluated one after the other
        self._ahead_at: int | None = None  # the instant for which it was asked last
        self._schedule = Schedule()
        self._streams = streams
        self.corrected = CorrectedQueries()
        self._panes = PaneRelease(
            streams, self._schedule, self._queries, self.corrected, self.settled_up_to, restarts
        )
        self._evaluating = False
        self._news = False  # whether something has arrived since the queries were asked what is due
        self._moved: dict[str, None] = {}  # streams that are complete further than before
        self._makers: dict[int, RegisteredQuery] = {}  # of streams, asked since these were moved
        self._now: int | None = None
        self._failures: list[str] = []
        self._waiting: _Waiting = []  # kept where a loop was interrupted: its instants are still due
        self._in_hand: tuple[int, int, RegisteredQuery] | None = None  # that is evaluated now
        self._stopped = False
        self._cut_off = False  # whether instants that were due will not be evaluated
        self.turns = 0  # evaluations so far
        self.at_rest: Callable[[], object] | None = None  # called where nothing is due any more

    def stop(self) -> None:
        """Have nothing evaluated any more; a loop under way in another thread ends before its next instant."""
        self._stopped = True

    # ---- queries

    def times(self, iri: str) -> StreamTimes:
        """The times of a stream, for the scheduler of a query that is to be added."""
        self._hand_over()
        return self._schedule.times(iri)

    def add(self, query: RegisteredQuery) -> None:
        """Evaluate a query from now on."""
        self._queries[query.number] = query
        query.pause_by(self._pause)
        if query.corrections is not None:
            self.corrected.add(query)
        self._schedule.add(query.number, query.scheduler, eager=query.makes_stream)
        if query.makes_stream:
            self._makers[query.number] = query

    def remove(self, query: RegisteredQuery) -> None:
        """Evaluate a query no more."""
        del self._queries[query.number]
        self._schedule.remove(query.number)
        self.corrected.remove(query)
        self._panes.query_ended(query)
        self._makers.pop(query.number, None)

    def is_read(self, iri: str) -> bool:
        """Whether a query has a window on the stream."""
        return bool(self._schedule.readers(iri))

    # ---- what arrives

    def watch(self, iri: str) -> Callable[[], object]:
        """What a stream's watermark is to call when it moves."""
        return partial(self._moved.setdefault, iri)

    def note_arrivals(self, iri: str, times: Sequence[int], counts: Sequence[int]) -> None:
        """Tell the queries over a stream at which times elements came, which are in order, and how many at each."""
        self._schedule.note(iri, times, counts)
        self._panes.arrived(iri, times)
        for query in self.corrected.arrived(iri, times):
            if query.scheduler.settled_up_to >= times[0]:
                self._roll_back(query.number, times[0])
            else:
                self._schedule.concern(query.number)

    def _roll_back(self, number: int, time: int) -> None:
        """Have a query come to its instants from a time on once more: an element of then has come."""
        query = self._queries[number]
        query.roll_back(time)
        self._schedule.replace(number, query.scheduler)
        self._ahead_at = None
        # One that is being evaluated stays the first, and is taken out when that ends.
        now = self._in_hand
        kept = [entry for entry in self._waiting if entry[2] is not query or entry is now]
        self._waiting[:] = kept
        heapq.heapify(self._waiting)

    def settled_up_to(self, iri: str) -> int:
        """The greatest instant of a stream that some query has evaluated for good: older elements come too late."""
        stream = self._streams.get(iri)
        if stream is not None and stream.watermark.corrects:
            return self.corrected.final_up_to(iri)
        return self._schedule.settled_up_to(iri)

    def idle_changed(self) -> bool:
        """Whether other streams are idle than when queries were asked last."""
        return self._schedule.idle_changed()

    def due_bound(self, iri: str) -> int:
        """The least time up to which the stream must be complete for an instant of any query to become due by what it
        brings; FOREVER where none reads it."""
        if self._waiting:
            return NEVER
        bounds = [self._schedule.due_bound(iri)]
        bounds += [self.due_bound(made) for made in self._derived.made_from(iri)]
        stream = self._streams.get(iri)
        if stream is not None and stream.lateness.late_stream is not None:
            # What comes too late is complete up to the newest element, and waits for nothing.
            late = self.due_bound(stream.lateness.late_stream)
            bounds.append(late - stream.watermark.allowed_lateness)
        return min(bounds)

    def passed(self) -> int:
        """The greatest instant that some query has passed: none is evaluated at it or before any more."""
        if not (self._evaluating or self._waiting):
            self._hand_over()
            self._schedule.catch_up(self._queries)
        return max((q.scheduler.settled_up_to for q in self._queries.values()), default=NEVER)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being evaluated, nor due."""
        return not (self._evaluating or self._waiting or self._cut_off)

    def oldest_time(self, iri: str) -> int:
        """The oldest time of a stream's elements that a query still asks for; FOREVER where none does."""
        return self._schedule.oldest_time(iri)

    def restore_times(self, iri: str, times: list[int], counts: list[int], settled: int) -> None:
        """Have a new stream be one that had elements of these times, and of which an instant was evaluated last."""
        self._schedule.restore(iri, times, counts, settled)

    def restore_corrected(self, iri: str, newest: int, settled: int) -> None:
        """Have a new stream whose late elements correct be one of which this was the newest time, and final so far."""
        self.corrected.restore(iri, newest, settled)

    def restored(self, query: RegisteredQuery) -> None:
        """Note that a query that was added goes on where another one was."""
        self._schedule.asked(query.number, due=False)

    # ---- what is due

    def evaluate_due(self) -> None:
        """Evaluate every query at every instant that is due, in order of time.

        Raises EvaluationError when some failed, after all others have been evaluated; it tells of the first ones. An
        interruption (Ctrl-C) leaves the instants that follow due; `stop` has it raise ClosedEngineError where some are.
        """
        self._news = True
        if self._evaluating:
            return  # A subscriber pushed: the loop below takes it up.
        with whole:
            self._evaluate_all()
        if self._failures:
            failures, self._failures = self._failures, []
            raise EvaluationError(_summary(failures))

    def _evaluate_all(self) -> None:
        self._evaluating = True
        try:
            self._evaluate_in_order()
            self.corrected.look()
            self._panes.look()
            self._schedule.forget(self.corrected.settle)
            self._graphs.apply_complete(self._failures)
        finally:
            self._evaluating = False
            self._in_hand = None
            self._now = None
            self._ahead_at = None
        if self.at_rest is not None:
            self.at_rest()

    def _evaluate_in_order(self) -> None:
        """Evaluate the earliest instant of all queries until none is due, also of those that a subscriber brings about.

        Windows are shared and move forwards only, so all that news concern must be asked before any goes on after them.
        """
        waiting = self._waiting
        while self._news or waiting:
            if self._stopped and not self._queries:
                self._cut_off = bool(waiting)
                waiting.clear()
                return  # A subscriber has closed the engine.
            self._pause()
            if self._news:
                self._news = False
                self._now = milliseconds_now()
                self._ask_concerned()
            elif waiting:
                self._evaluate_first(waiting)

    def _evaluate_first(self, waiting: _Waiting) -> None:
        instant, number, query = self._in_hand = waiting[0]
        if query.active:
            query.scheduler.settle(instant)
            self._graphs.apply_until(instant, self._failures)
            if self._together is not None and self._ahead_at != instant:
                self._ahead_at = instant
                self._go_ahead(instant)
            if query.begun < instant:  # else an interruption ended this
                self._evaluate(query, instant)
            self._panes.evaluated(query)
        if query.active:
            self._schedule.concern(number)
        heapq.heappop(waiting)
        self._in_hand = None
        if query.active:
            self._ask(query)
            self._news |= number in self._makers

    def _go_ahead(self, instant: int) -> None:
        """Have queries that are due at an instant find answers side by side, where they do not concern each other.

        Each takes them over when its turn comes, so that subscribers are told in the same order as without.
        """
        due = [query for time, _, query in self._waiting if time == instant and query.active]
        if len(due) < 2 or self._together is None:
            return
        ready = [query for query in sorted(due, key=lambda q: q.number) if _may_go(query, instant)]
        if len(ready) > 1:
            try:
                told = self._together([query.asked(instant) for query in ready])
            except Exception:
                logger.debug("evaluated one by one at %d ms", instant, exc_info=True)
                return
            for query, outcome in zip(ready, told, strict=True):
                query.expect(instant, outcome)

    def _pause(self) -> None:
        """Between two instants: end where the engine is closed or Ctrl-C was pressed, and let others stop a query."""
        if self._stopped:
            self._cut_off = bool(self._waiting)
            self._waiting.clear()
            raise ClosedEngineError("the engine was closed before all that is due was evaluated")
        whole.let_in()
        self._lock.give_way()

    def _ask_concerned(self) -> None:
        """Ask the queries that news concern and that are not to be evaluated anyway, and move the streams they make."""
        self._hand_over()
        for iri in list(self._moved):
            self._schedule.moved(iri)
            self._panes.promised(iri)
            del self._moved[iri]
        due = {number for _, number, _ in self._waiting}
        for number in self._schedule.concerned():
            query = self._queries.get(number)
            if query is None or number in due:
                self._schedule.concern_no_more(number)
            else:
                self._ask(query)
        if self._makers:
            asked = [self._makers[number] for number in sorted(self._makers)]
            self._news |= self._derived.pass_on(asked, {q: time for time, _, q in self._waiting})
            self._makers.clear()

    def _ask(self, query: RegisteredQuery) -> None:
        # A thread that is interrupted anywhere here leaves the instant among those that wait, or to be asked for again.
        instant = query.scheduler.next_due()
        if not query.active:
            return
        if instant is not None:
            heapq.heappush(self._waiting, (instant, query.number, query))
            query.scheduler.settle(instant)
        elif query.corrections is not None:
            query.corrections.nothing_due(query)
        self._schedule.asked(query.number, due=instant is not None)
        if query.makes_stream:
            self._makers[query.number] = query

    def clock(self) -> int:
        """Milliseconds now; it stands still while queries are asked, so that all find the same streams idle."""
        return milliseconds_now() if self._now is None else self._now

    def _evaluate(self, query: RegisteredQuery, instant: int) -> None:
        self.turns += 1
        query.turn = self.turns
        try:
            query.evaluate(instant)
        except Exception as error:
            # The other queries and instants come first; whoever pushed hears of it afterwards.
            query.progress.failures += 1
            logger.exception("%s failed at %d ms", query.name, instant)
            said = first_line(error) or type(error).__name__
            self._failures.append(f"{query.name} at {instant} ms: {said}")
            query.tell_failure(instant, error)
            if isinstance(error, LimitError):
                query.stop()


def _may_go(query: RegisteredQuery, instant: int) -> bool:
    try:
        return query.begun < instant and query.may_go_ahead(instant)
    except Exception:  # It says so when its turn comes.
        return False


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
