"""What a stream takes in: blocks, each by one call of the JVM, their elements judged by time, noted and counted."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sparkext.errors import EvaluationError, StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.lateness.late_elements import LateElements
from sparkext.runtime.lateness.stream_lateness import HOLD, StreamLateness
from sparkext.runtime.parts.held_interrupts import whole
from sparkext.runtime.parts.pushed_times import ahead_of
from sparkext.runtime.streams.element_text import (
    PushedElements,
    block_of,
    parts_of,
    sound_of,
    trimmed,
)
from sparkext.runtime.streams.numbered_batches import AppliedBatches, BatchFeed, Entry, Taking
from sparkext.runtime.streams.push_report import Evaluations, PushReport, reason_of
from sparkext.s2r.watermark import NEVER, StreamWatermark
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.r2r.leaves.scopes import RecordTriple
    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.streams.numbered_batches import BegunBatch

logger = logging.getLogger(__name__)

_KEPT_REASONS = 100
# Of bounds that wait to be told the log: a call of its own costs more than what they let go.
_MOST_UNSETTLED = 3


class StreamIntake:
    """How elements get into the log of a stream, whatever they come from; see `Stream`."""

    def __init__(
        self,
        parts: EngineParts,
        iri: str,
        watermark: StreamWatermark,
        evaluations: Evaluations,
        derived: Container[str],
        on_error: OnError = OnError.SKIP,
        lateness: StreamLateness | None = None,
    ) -> None:
        self.lateness = lateness or StreamLateness(0, None, HOLD)
        self.made_late_by: StreamIntake | None = None  # the stream whose late elements its own are
        self._late = LateElements(iri)
        self.iri = iri
        self.on_error = on_error
        self.accepts = on_error is OnError.ACCEPT
        self.rdf = parts.rdf
        self.watermark = watermark
        self._log: Any = parts.room.stream(iri)
        self._buffer = PushedElements()
        self._unsettled: list[str] = []
        if parts.settings.duplicates == "bag":
            self._log.countOccurrences()
        self._parts = parts
        self._evaluations = evaluations
        # The triples that a record of the stream has of each of its subjects, where there are records.
        self.record_stars: tuple[tuple[RecordTriple, ...], ...] = ()
        self._derived = derived
        self.accepted_count = self.malformed_count = self.late_count = 0
        self.panes = 0  # as the log has told last
        self.newest_time = NEVER  # of the elements that were taken in
        self.set_aside: deque[str] = deque(maxlen=_KEPT_REASONS)
        self.sources: list[StreamingQuery] = []
        self.feeds: list[BatchFeed] = []
        self.batches = AppliedBatches()
        self.position: Any = None
        """How far the source of what is pushed had been read, as the newest `position` says: also after a restart."""
        # Of a stream with a mapping, what tells it from other mappings.
        self.record_layout: str | None = None

    @property
    def log(self) -> Any:
        """The stream's log in the JVM, with all that was pushed in it; see StreamLog.scala."""
        self.hand_over()
        self._settle_now()
        return self._log

    def held(self) -> dict[str, Any]:
        """What the log holds now, told at once, also while an evaluation runs: `panes`, `quads`, `records`, `windows`.

        A window is a list: its key, the times after which and up to which it shows elements, how many these are, and
        the rows that patterns find in it.
        """
        return dict(json.loads(self._log.held()))

    @property
    def newest_predicates(self) -> list[str]:
        """The IRIs of predicates of the newest elements that are held, at most 500."""
        return [text.strip("<>") for text in self._log.predicates(500).splitlines()]

    def _wait(
        self, moment: int, graph: str | None, lines: Sequence[str], position: object = None
    ) -> bool:
        """Keep a sound element until something may become due, or reads the stream; False where its time is not right.

        It counts as taken in: what is asked of the stream before is handed over first.
        """
        if moment <= self.late_up_to or not self._parts.horizon.passes(moment):
            return False
        comes_late = moment <= self.watermark.complete_up_to  # within what is allowed for
        self._buffer.add(moment, graph, lines)
        if position is not None:
            self.position = position
        self._parts.waiting.add(self)
        if self._parts.keeper is not None:
            self._parts.keeper.note()
        self._note_taken(moment, 1)
        told = self._evaluations
        if (
            self._buffer.is_full
            or self.watermark.complete_up_to >= told.due_bound(self.iri)
            or comes_late
        ):
            told.evaluate_due()
        return True

    @property
    def late_up_to(self) -> int:
        """The time up to which elements come too late now."""
        settled = self._evaluations.settled_up_to(self.iri)
        return max(settled, self.watermark.final.complete_up_to)

    def hand_over(self) -> None:
        """Have the log take in the elements that were pushed one by one and wait."""
        block = self._buffer.take()
        self._parts.waiting.discard(self)
        if block is None:
            return
        strict = self.rdf is RdfVersion.RDF_1_2
        # What is in it has been judged.
        outcome = json.loads(self._take_text(block, strict, self._rules(""), all_or_nothing=False))
        self.panes = outcome["panes"]
        self._evaluations.note_arrivals(self.iri, outcome["times"], outcome["counts"])

    def settle(self, bounds: str) -> None:
        """Have windows move and panes go as StreamLog.settle reads it: with the next block, or the next calls."""
        self._unsettled.append(bounds)
        if len(self._unsettled) > _MOST_UNSETTLED:
            self._settle_now()

    def _settle_now(self) -> None:
        if self._unsettled:
            self._log.settle(self._bounds())

    def _bounds(self) -> str:
        bounds = "\v".join(self._unsettled)
        self._unsettled.clear()
        return bounds

    def _rules(self, times: str) -> str:
        """What the log is told with a block: which times it takes in, and what is to go before."""
        return f"{times}\f{self._bounds()}"

    @contextmanager
    def _fed(self, position: object = None) -> Iterator[None]:
        """Hold the engine's lock while the stream gets news from outside, then evaluate what became due.

        With a `position`, that is how far its source has been read by then.
        """
        with self._parts.in_use(), whole:
            self._check_nobody_makes_it()
            self._parts.ready()
            with self._parts.taking_in():
                yield
            if position is not None:
                self.position = position
            self._evaluations.evaluate_due()

    def _check_nobody_makes_it(self) -> None:
        if self.iri in self._derived:
            raise StreamElementError(
                f"the elements of <{self.iri}> come from the query of that name"
            )
        if self.made_late_by is not None:
            raise StreamElementError(
                f"the elements of <{self.iri}> are those that come too late on <{self.made_late_by.iri}>"
            )

    def batch(self, source: Hashable, number: int, read: Callable[[EngineRoom], Any]) -> Taking:
        """What takes in a batch of a numbered source, unless this one or a later one was taken in before.

        `read` has tasks read it, now; see BatchRows.scala. An evaluation that fails does not undo the batch: its
        elements are in.
        """
        rows = read(self._parts.room)  # not under the engine's lock: that may take long

        def take() -> None:
            try:
                self._taken(lambda rules: [self._take_batch(rows, rules)])
            except StreamElementError as error:
                raise StreamElementError(f"stream <{self.iri}>: {error}") from None

        return self._once(source, number, take)

    def batch_of_elements(self, source: Hashable, number: int, batch: DataFrame) -> Taking:
        """As `batch`, of rows that are elements, or reasons why something is none."""
        rows = batch.toArrow().to_pylist()  # tasks decode it here, not under the engine's lock
        elements = [
            StreamElement(
                row["time"], row["graph"], tuple(row["triples"]), None, tuple(row["about"] or ())
            )
            for row in rows
            if row["flaw"] is None
        ]
        flaws = [row["flaw"] for row in rows if row["flaw"] is not None]

        def take() -> None:
            self._refuse(flaws)
            self._append(elements)

        return self._once(source, number, take)

    def _once(self, source: Hashable, number: int, take: Callable[[], object]) -> Taking:
        def taking(entry: Entry) -> bool:
            fresh = False
            failed = None
            try:
                with self._fed():
                    fresh = entry.enter() and not self.batches.has(source, number)
                    if fresh:
                        self.batches.check_next(source, number)
                        take()
                        self.batches.note(source, number)
            except EvaluationError as error:  # the elements are in, and are to be kept
                failed = error
            self._parts.wait_kept()
            if failed is not None:
                raise failed
            return fresh

        return taking

    def wait_kept(self) -> None:
        """Return when all that has come in is in the engine's checkpoint, at once where there is none."""
        self._parts.wait_kept()

    def set_aside_messages(self, reasons: Sequence[str]) -> None:
        """Count messages that were malformed before they were elements, with their reasons.

        A stream that does not skip what is malformed raises StreamElementError.
        """
        with self._parts.in_use():
            self._refuse(reasons)

    def _refuse(self, reasons: Sequence[str]) -> None:
        if reasons and self.on_error is not OnError.SKIP:
            raise StreamElementError(f"stream <{self.iri}>: {reasons[0]}")
        self._note_flaws(len(reasons), reasons[:_KEPT_REASONS])

    def take_live(self, source: Hashable, rows: Any) -> int:
        """Take in the rows that tasks have handed over, see `sparkext.runtime.streams.real_time`; how many there were.

        An evaluation that fails is logged: the rows are in, and must not take the stream from other queries.
        """
        read = rows.take(self.rdf is RdfVersion.RDF_1_2, self.accepts)
        try:
            with self._fed():
                if read.rows():
                    self._taken(lambda rules: [self._take_batch(read, rules)])
                self.batches.begin(source, rows.position())
        except EvaluationError as error:
            logger.error("stream <%s>: %s", self.iri, error)
        return int(read.rows())

    def begun_by(self, source: Hashable) -> tuple[int, BegunBatch]:
        """The batch of a source in real-time mode that was begun last, when nothing of it is being taken in."""
        with self._parts.in_use():
            return self.batches.begun_by(source)

    def restore_counts(self, counts: Sequence[int], newest: int, position: Any) -> None:
        """Have counted what the stream had of which this is the state."""
        self.accepted_count, self.malformed_count, self.late_count = counts
        self.newest_time = newest
        self.position = position

    def _append(
        self, elements: Sequence[StreamElement], strict: bool = False, believed: bool = False
    ) -> PushReport:
        """Take elements in; with `strict` their texts are as somebody wrote them for RDF 1.2, else canonical.

        With `believed` their times are not judged.
        """
        whole = self.on_error is not OnError.SKIP
        # All parts are judged as if they were one.
        parts = [elements] if whole else parts_of(elements)

        def take(rules: str) -> Iterator[str]:
            for part in parts:
                block = block_of(part)
                if block is None:
                    block = block_of([trimmed(element) for element in sound_of(part, self._flawed)])
                assert block is not None
                yield self._take_text(block, strict, rules, whole)

        malformed = self.malformed_count
        report = self._taken(take, believed)
        return PushReport(report.accepted, self.malformed_count - malformed, report.late)

    def _flawed(self, flaw: str) -> None:
        if self.on_error is not OnError.SKIP:
            raise StreamElementError(flaw)
        self._note_flaws(1, [flaw])

    def _take_text(self, block: bytes, strict: bool, rules: str, all_or_nothing: bool) -> str:
        """Have the log take in a block of text; what became of it, as Intake.scala writes it."""
        handover = self._parts.room.handover
        outcome: str = self._log.takeText(
            handover.write(block), strict, self.accepts, all_or_nothing, rules
        )
        return handover.answer(outcome)

    def _take_columns(self, block: memoryview, rules: str, all_or_nothing: bool) -> str:
        handover = self._parts.room.handover
        strict = self.rdf is RdfVersion.RDF_1_2
        outcome: str = self._log.takeColumns(
            handover.write(block), strict, self.accepts, all_or_nothing, rules
        )
        return handover.answer(outcome)

    def _take_batch(self, rows: Any, rules: str) -> str:
        outcome: str = self._log.takeBatch(rows, self.on_error is not OnError.SKIP, rules)
        return self._parts.room.handover.answer(outcome)

    def _taken(self, take: Callable[[str], Iterable[str]], believed: bool = False) -> PushReport:
        """Note what has become of blocks of elements that the JVM takes in.

        `take` is told which times are taken in, as TimeRules.scala reads it, and gives what Intake.scala writes of each
        block. With `believed` no time is taken to be out of bounds.
        """
        # A batch is judged by the watermark before it; what is malformed must not move it.
        floor = self.late_up_to
        horizon = self._parts.horizon
        rules = self._rules(f"{floor}|{'' if believed else horizon.rules}")
        accepted = malformed = late = 0
        told_late: list[Any] = []
        for outcome in map(json.loads, take(rules)):
            rejected, reasons = outcome["rejected"]
            if rejected and self.on_error is not OnError.SKIP:
                raise StreamElementError(reason_of(*reasons[0]))
            beyond, ahead = outcome["ahead"]
            self._note_flaws(rejected, [reason_of(*flaw) for flaw in reasons])
            if beyond:
                said = ahead_of(horizon)
                self._note_flaws(beyond, [f"element at {time} ms: {said}" for time in ahead])
            malformed += rejected + beyond
            late += outcome["late"]
            told_late += outcome.get("late_elements", ())
            accepted += outcome["accepted"]
            times = outcome["times"]
            self.panes = outcome["panes"]
            if times:
                if not believed:
                    horizon.note(times[-1])
                self._note_taken(times[-1], outcome["accepted"])
                self._evaluations.note_arrivals(self.iri, times, outcome["counts"])
        if late:
            self.late_count += late
            logger.warning("stream <%s>: %d element(s) came too late", self.iri, late)
        self.watermark.note(NEVER, 0, late)
        self._late.note(told_late)
        return PushReport(accepted, malformed, late)

    def note_intake(self, outcome: str) -> PushReport:
        """Note what became of a block that the log has taken in, as Intake.scala writes it; nothing is evaluated."""
        return self._taken(lambda _: (outcome,))

    def _note_taken(self, newest: int, count: int) -> None:
        """Note that elements were taken in, the newest of this time."""
        self.accepted_count += count
        self._parts.taken_in += count
        self.newest_time = max(newest, self.newest_time)
        self.watermark.note(newest, count)

    def _note_flaws(self, count: int, first: Sequence[str]) -> None:
        if not count:
            return
        self.malformed_count += count
        self.set_aside.extend(first)
        logger.warning(
            "stream <%s>: set aside %d element(s); the first: %s", self.iri, count, first[0]
        )
