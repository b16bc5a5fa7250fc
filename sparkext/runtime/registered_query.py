"""A registered continuous query: evaluated at its instants, listened to."""

from __future__ import annotations

import logging
import time as clock
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkext.language.query import Query
from sparkext.runtime.answer_feed import AnswerFeed
from sparkext.runtime.answering.answers import Answers, empty_table
from sparkext.runtime.answering.answers_file import empty_mappings
from sparkext.runtime.answering.revised_answers import told_again
from sparkext.runtime.lateness.corrections import Corrections, Told
from sparkext.runtime.lateness.recollection import Recollection
from sparkext.runtime.progress import QueryProgress
from sparkext.runtime.queries.jvm_query import answering_nothing
from sparkext.runtime.queries.prepared_query import PreparedQuery
from sparkext.runtime.queries.report_choice import ReportWish, policy_of
from sparkext.runtime.queries.template_instances import TemplateInstances
from sparkext.runtime.queries.window_registry import QueryWindow, WindowRegistry
from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.stream_times import StreamTimes
from sparkext.s2r.watermark import NEVER, StreamWatermark

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.streams.stream import Stream

logger = logging.getLogger(__name__)


class RegisteredQuery(AnswerFeed, PreparedQuery):
    """A continuous query of an engine; made by `Engine.register_query`.

    `name` is the IRI it is registered under, or query-n for the n-th of the engine; `progress` counts
    evaluations, answers, time and lag; `policy` says when it is evaluated.
    """

    def __init__(
        self,
        parts: EngineParts,
        registry: WindowRegistry,
        name: str,
        query: Query,
        windows: Mapping[str, QueryWindow],
        streams: Mapping[str, Stream],
        stop: Callable[[str], None],
        times: Callable[[str], StreamTimes],
        report: ReportWish | None = None,
        instances: TemplateInstances | None = None,
        crowded: Callable[[int], object] | None = None,
    ) -> None:
        AnswerFeed.__init__(self, parts)
        self.progress = QueryProgress()
        self.active = True
        self.number = 0  # queries with the same instant are evaluated in this order
        self.makes_stream = False
        self._streams = streams
        self._stop = stop
        self._previous: int | None = None
        self.begun = NEVER  # the instant that was evaluated last, also one whose evaluation failed
        self.turn = (
            0  # how many evaluations of all queries there had been with the last of this one
        )
        self._restored: dict[str, Any] | None = None
        self._to_find: list[Recollection] = []
        self.moved_to = NEVER  # the instant to which an evaluation has moved the windows
        self._known: pa.Table | None = None
        self._differs = True
        specs = [window.spec for window in windows.values()]
        start = parts.settings.starting_at
        self.policy = policy_of(query, specs, parts.profile, start, report)
        PreparedQuery.__init__(self, parts, registry, name, query, windows, instances)
        self._times = times
        self.scheduler = self._make_scheduler()
        self.corrections: Corrections | None = None
        if crowded is not None:
            self._begin_corrections(crowded)
        logger.info("%s: %s", name, self.evaluation)
        for text in self._compiler.matches.unbounded():
            logger.warning("%s: its state is not bounded: %s", name, text)

    @property
    def _watermarks(self) -> dict[str, StreamWatermark]:
        return {w.stream: self._streams[w.stream].watermark for w in self._window_order}

    def _begin_corrections(self, crowded: Callable[[int], object]) -> None:
        """Have late elements correct what was answered; `crowded` is told of a query with much to forget."""
        self._compiler.matches.go_back()
        final = self._make_scheduler(final=True)
        self.corrections = Corrections(
            final, self._watermarks, self._differs_only, lambda: crowded(self.number)
        )
        self.scheduler = self.corrections.branch()
        for window in self._window_order:
            self._streams[window.stream].log.correct()

    def _make_scheduler(self, final: bool = False) -> InstantScheduler:
        """One that begins now: what has arrived so far is no reason to evaluate."""
        watermarks = self._watermarks
        if final:
            watermarks = {iri: mark.final for iri, mark in watermarks.items()}
        made = InstantScheduler(
            [(window.stream, window.spec) for window in self._window_order],
            self.policy,
            watermarks,
            {stream: self._times(stream) for stream in watermarks},
        )
        for window in self._window_order:
            newest = self._streams[window.stream].newest_time
            if newest > NEVER:
                made.began_with(window.stream, newest)
        return made

    def lags_behind(self, time: int | None) -> bool:
        """Whether an instant before `time` may still be evaluated, with the static data of then."""
        if time is None:
            return bool(self._versions)
        return self.scheduler.decided_up_to < time - 1

    def evaluate(self, instant: int) -> Answers:
        """Evaluate at an instant, the windows moved there, and tell the subscribers."""
        self.begun = instant
        if self.corrections is not None:
            self.corrections.begin(instant, self)
        started = clock.perf_counter()
        step = None if self._previous is None else instant - self._previous
        table = self._known_answers(instant)
        if table is None:
            table, outcome = self.run(self._bounds(instant), instant)
            self.moved_to = instant
            self._keep(table)
            self._previous = instant
            seconds = clock.perf_counter() - started
            self.progress.note(outcome, seconds, step, self.name)
        else:
            self._previous = instant
            seconds = clock.perf_counter() - started
            self.progress.note_repeated(table.num_rows, seconds, step, self.name)
        answers = self.answers(instant, table, seconds, self.progress.evaluations)
        if self.corrections is None:
            self.tell(answers)
        else:
            self.corrections.tell(answers, self)
        return answers

    # -- late elements ------------------------------------------------------------------------------

    def pause_by(self, pause: Callable[[], None]) -> None:
        """Have `pause` called once in a while in the midst of a long search for instants."""
        self.scheduler.pause_by(pause)
        if self.corrections is not None:
            self.corrections.final.pause_by(pause)

    def roll_back(self, time: int) -> None:
        """Come to all instants from a time on once more."""
        assert self.corrections is not None
        self._match_anew(self.corrections.consumed_before(time))
        self.scheduler = self.corrections.roll_back(time)
        self.begun = min(self.begun, time - 1)
        self._previous = None
        self._running.forget_expected()

    def start_over(self, instant: int | None) -> None:
        """Go on as if this were the last instant that was evaluated; None: as if none was."""
        self._jvm.forget()
        if instant is not None:
            assert self.corrections is not None
            self._match_anew(self.corrections.consumed_before(instant))
            self.run(self._bounds(instant), instant)

    @property
    def consumed(self) -> int:
        """How much its events have used up so far."""
        return self._compiler.matches.consumed_count

    def _match_anew(self, consumed: int | None) -> None:
        """Have events be matched anew from what windows show, with so much used up of all that is; None: with all."""
        for match in self._plans.matches:
            match.restart()
        if consumed is not None:
            self._compiler.matches.take_back(consumed)

    def forget_consumed(self) -> None:
        """Forget what events have used up of elements that no evaluation shows, nor one done again."""
        corrections = self.corrections
        if corrections is None or not self._compiler.matches.consume:
            return
        first = corrections.final.settled_up_to
        if corrections.before is not None:
            first = min(first, corrections.before)
        if first > NEVER:
            bounds = [window.spec.present_bounds(first)[0] for window in self._window_order]
            corrections.forgot_consumed(self._compiler.matches.forget_consumed(min(bounds)))

    def tell_new(self, answers: Answers, among: bool) -> object:
        """Tell the answers of an instant for the first time, `among` others that were told before."""
        self.tell(told_again(answers, 0) if among else answers)
        return None

    def tell_revised(self, told: Told, answers: Answers) -> object:
        """Tell the answers of an instant that was told before, where they differ."""
        made = told.revised(told.answers, answers)
        if made is not None:
            self.tell(made)
        return None

    def retract(self, told: Told) -> None:
        """Tell that an instant that was told is none."""
        self.progress.evaluations += 1
        self.tell(told.taken_back(told.answers, self.progress.evaluations))

    def may_go_ahead(self, instant: int) -> bool:
        """Whether an instant can be evaluated beside those of other queries, before it comes to its turn."""
        if self._known_answers(instant) is not None:
            return False
        self.refresh(instant)
        return self.stands_alone

    def asked(self, instant: int) -> str:
        """What `EngineRoom.evaluate_together` is told of it."""
        return self._running.asked(self._bounds(instant))

    def expect(self, instant: int, told: str) -> None:
        """Take over what was told, when the instant comes to its turn and nothing has changed."""
        self._running.expect(self._bounds(instant), told)

    def _known_answers(self, instant: int) -> pa.Table | None:
        """The answers of an instant at which nothing differs that they depend on; None where they must be found.

        A long silence is a stretch of such instants: they cost microseconds each. After a change nothing is known until
        `_keep`, so that an evaluation that fails is followed by one that finds its answers.
        """
        changed = self.scheduler.changed or self.refreshes(instant)
        if changed:
            self._known, self._differs = None, True
            self.scheduler.note_content()
        return self._known

    def _keep(self, table: pa.Table) -> None:
        """Note what the instants answer until something differs.

        ISTREAM and DSTREAM tell differences from the evaluation before, so their first answers after a change are not
        those of the instants after it; the second are.
        """
        differed, self._differs = self._differs, False
        computed = self._parts.settings.enabled  # stock Spark is there to compare with
        if (
            computed
            and self.repeatable
            and (self.query.stream_operator == "RSTREAM" or not differed)
        ):
            self._known = table

    def _bounds(self, instant: int) -> str:
        return ",".join(
            f"{open_},{close}"
            for open_, close in (w.spec.present_bounds(instant) for w in self._window_order)
        )

    @property
    def policy_streams(self) -> Collection[str]:
        """The streams that it reads."""
        return self.scheduler.watermarks

    # -- for another process ----------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """As plain data, what `restore` has a query of the same text go on with."""
        consumed = self._compiler.matches.consumed()
        corrections = self.corrections
        return {
            "scheduler": self.scheduler.state(),
            "previous": self._previous,
            "begun": self.begun,
            "turn": self.turn,
            "progress": asdict(self.progress),
            "consumed": consumed,
            "remembered": self._jvm.remembered() if consumed and self._differs_only else None,
            "corrections": None if corrections is None else corrections.state(self._named()),
        }

    @property
    def _differs_only(self) -> bool:
        """Whether differences from the instant before are told."""
        return self.query.stream_operator != "RSTREAM"

    def _named(self) -> Mapping[int, str]:
        """The names of the queries whose answers its own are, by number as `Told` has them."""
        return {0: self.name}

    def _whose(self) -> object:
        """Whose the rows are that were found last, as `Told` has it."""
        return None

    def evaluated_as(self) -> dict[str, Any]:
        """Which evaluated query's answers are its own: plain data."""
        return {"evaluated_as": self.name}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on where the query was whose state this is; what it told is found again by `recollections`."""
        self.scheduler.restore(state["scheduler"])
        if self.corrections is not None:
            known = state.get("corrections")
            self.corrections.final.restore(state["scheduler"] if known is None else known["final"])
        self._previous, self.begun, self.turn = state["previous"], state["begun"], state["turn"]
        self.progress = QueryProgress(**state["progress"])
        self._compiler.matches.restore_consumed(state["consumed"])
        self._restored = dict(state)

    @property
    def remembers(self) -> int | None:
        """The instant of which the answers are to be found again in another process; None where none are.

        What a query consumed then it would not find again.
        """
        return self._previous if self._differs_only and not self._compiler.matches.consume else None

    @property
    def remembers_since(self) -> int | None:
        """How many evaluations there had been with the oldest one whose answers are to be found again; None: none."""
        found = [] if self.corrections is None else self.corrections.to_find()
        turns = [turn for _, turn in found]
        if self.remembers is not None:
            turns.append(self.turn)
        return min(turns, default=None)

    @property
    def to_recall(self) -> bool:
        """Whether the query was restored, and has not found again what it answered last."""
        return self._restored is not None

    def recollections(self) -> list[Recollection]:
        """What it has told before the restart and is still to find again, in order."""
        state, self._restored = self._restored, None
        if state is not None:
            self._to_find += self._all_to_find(state)
        return list(self._to_find)

    def _all_to_find(self, state: Mapping[str, Any]) -> Iterator[Recollection]:
        corrections = self.corrections
        if corrections is None:
            yield Recollection(self.turn, self._to_find, partial(self._recall, state))
            return
        known = state.get("corrections")
        if known is None:  # late elements corrected nothing there
            corrections.began_after(state["previous"], self.turn)
        else:
            named = self._named()
            numbers = {name: number for number, name in named.items()}
            corrections.restore(known, numbers, 0 not in named, self._nothing_at)
        for instant, turn in corrections.to_find():
            yield Recollection(turn, self._to_find, partial(self._find_again, instant))

    def _nothing_at(self, instant: int) -> Answers:
        table = empty_table(self.variables) if self.variables else empty_mappings(0)
        return self.answers(instant, table, 0.0)

    def _recall(self, state: Mapping[str, Any]) -> None:
        """Know again what was answered at the last instant before the restart, of which the next answers differ."""
        if state["remembered"] is not None:
            self._jvm.recall(state["remembered"])
        elif self.remembers is not None:
            with answering_nothing(self._jvm):
                self.run(self._bounds(self.remembers), self.remembers)
            self.moved_to = self.remembers

    def _find_again(self, instant: int) -> None:
        """Know again what was told of an instant that late elements may correct."""
        corrections = self.corrections
        assert corrections is not None
        try:
            if corrections.starts_over_at(instant):
                self.start_over(corrections.last_before(instant))
            self._match_anew(corrections.consumed_before(instant))
            table, _ = self.run(self._bounds(instant), instant)
        except Exception:
            logger.exception("%s: what was told of %d ms cannot be found again", self.name, instant)
            corrections.lost(instant)
            return
        self.moved_to = instant
        corrections.found(self.answers(instant, table, 0.0), self._whose())

    def stop(self) -> None:
        """End the query; its windows go when no other query uses them. A second time it does nothing.

        In the midst of what another thread evaluates, that is after the instant that is evaluated now.
        """
        with self._parts.lock.urgently():
            if self.active:  # else another query may have the name by now
                self._stop(self.name)

    def __repr__(self) -> str:
        return f"RegisteredQuery({self.name!r}, {self.progress})"
