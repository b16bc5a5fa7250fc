"""A live stream: elements pushed in, encoded at once, kept in panes until every window has passed them."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sparkext.argument_checks import check
from sparkext.errors import StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.parts.pushed_times import ahead_of, milliseconds, promised_time
from sparkext.runtime.parts.pushed_triples import ABSOLUTE_IRI, TermLike, Triple, triple_lines
from sparkext.runtime.streams.element_text import block_of, parts_of, sound_of, trimmed
from sparkext.runtime.streams.push_report import Evaluations, PushReport, reason_of
from sparkext.runtime.streams.pushed_elements import PushedElements, are_sound
from sparkext.runtime.streams.pushed_tables import GRAPH, PushedTable
from sparkext.s2r.watermark import NEVER, StreamWatermark
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.r2r.leaves.scopes import RecordTriple
    from sparkext.runtime.parts.engine_parts import EngineParts

logger = logging.getLogger(__name__)

_KEPT_REASONS = 100


_MOST_UNSETTLED = 3
_ONE_TAKEN = PushReport(1)


class Stream:
    """One registered stream; made by `Engine.register_stream`.

    Counts since the start: `accepted_count`, `malformed_count` (set aside, the newest reasons in `set_aside`) and
    `late_count` (older than the watermark: counted, not answered). `sources` are the streaming queries that feed it.
    With `on_error` FAIL or ACCEPT a malformed element is an error, and nothing of what comes with it is taken in;
    with ACCEPT, IRIs are taken as they stand.
    """

    def __init__(
        self,
        parts: EngineParts,
        iri: str,
        watermark: StreamWatermark,
        evaluations: Evaluations,
        derived: Container[str],
        on_error: OnError = OnError.SKIP,
    ) -> None:
        self.iri = iri
        self.on_error = on_error
        self.accepts = on_error is OnError.ACCEPT
        self.rdf = parts.rdf
        self.watermark = watermark
        self._log: Any = parts.room.stream(iri)
        self._buffer = PushedElements()
        self._unsettled: list[str] = []  # a call of its own would cost more than what waits
        if parts.settings.duplicates == "bag":
            self._log.countOccurrences()
        self._parts = parts
        self._evaluations = evaluations
        # The triples that a record of the stream has of each of its subjects, where there are records.
        self.record_stars: tuple[tuple[RecordTriple, ...], ...] = ()
        self._derived = derived
        self.accepted_count = 0
        self.malformed_count = 0
        self.late_count = 0
        self.panes = 0  # as the log has told last
        self.newest_time = NEVER  # of the elements that were taken in
        self.set_aside: deque[str] = deque(maxlen=_KEPT_REASONS)
        self.sources: list[StreamingQuery] = []
        self._applied: dict[Hashable, int] = {}

    @property
    def log(self) -> Any:
        """The stream's log in the JVM, with all that was pushed in it; see StreamLog.scala."""
        self.hand_over()
        self._settle_now()
        return self._log

    def push(
        self,
        triples: str | Triple | Iterable[Triple],
        time: int | datetime | None = None,
        graph: str | None = None,
    ) -> PushReport:
        """Push one element: a set of triples with a time, in milliseconds since the epoch or as a datetime.

        `triples` is one triple, several, or N-Triples text, quoted triples as `spark.cqels.rdf` has them. Terms are
        `Iri`, `Literal` ..., Python numbers and booleans, rdflib's terms (an rdflib graph is several triples), or text
        in N-Triples syntax; a text that is an absolute IRI needs no brackets. `graph` is the IRI that names the
        element. Evaluations that become due are run before this returns. A malformed element is set aside and
        counted, or a StreamElementError, as the stream's `on_error` has it; an element without a time is now.
        """
        if graph is not None and not (isinstance(graph, str) and ABSOLUTE_IRI.fullmatch(graph)):
            raise StreamElementError(
                f"graph: an element is named by an absolute IRI, not by {graph!r}"
            )
        if graph is not None:
            check.text("graph", graph)
        moment = milliseconds(time)
        lines = triple_lines(triples, self.rdf)
        name = None if graph is None else f"<{graph}>"
        if are_sound(lines, self.rdf):
            with self._parts.in_use(reads=False):
                self._check_nobody_makes_it()
                if self._wait(moment, name, lines):
                    return _ONE_TAKEN
        with self._fed():
            element = StreamElement(moment, name, tuple(lines), None, ())
            return self._append([element], self.rdf is RdfVersion.RDF_1_2)

    def _wait(self, moment: int, graph: str | None, lines: Sequence[str]) -> bool:
        """Keep a sound element until something may become due, or reads the stream; False where its time is not right.

        It counts as taken in: what is asked of the stream before is handed over first.
        """
        floor = max(self._evaluations.settled_up_to(self.iri), self.watermark.complete_up_to)
        if moment <= floor or not self._parts.horizon.passes(moment):
            return False
        self._buffer.add(moment, graph, lines)
        self._parts.waiting.add(self)
        self._note_taken(moment, 1)
        if self._buffer.is_full or self.watermark.complete_up_to >= self._evaluations.due_bound(
            self.iri
        ):
            self._evaluations.evaluate_due()
        return True

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

    def push_elements(self, elements: Sequence[StreamElement]) -> PushReport:
        """Push many elements, in order of time or not, and evaluate what becomes due when all are in.

        A stream that does not skip what is malformed raises StreamElementError, with nothing taken in.
        """
        elements = self._elements("elements", elements)
        with self._fed():
            return self._append(elements)

    def push_table(
        self,
        table: object,
        *,
        subject: TermLike = "subject",
        predicate: TermLike = "predicate",
        object: TermLike = "object",
        time: str | int | datetime | None = "time",
        graph: TermLike | None = GRAPH,
    ) -> PushReport:
        """Push the rows of a table, each of them a triple with a time, and evaluate what becomes due when all are in.

        `table` is a pyarrow Table or RecordBatch, a pandas, Polars or Spark DataFrame, or anything with
        `__arrow_c_stream__`. The others name columns, or are what all rows have, such as `predicate=Iri(...)`. Terms
        are text in N-Triples syntax, or absolute IRIs but as objects, which may be numbers, booleans, timestamps and
        dates. Times are timestamps (UTC if they have no zone) or milliseconds since the epoch; None is now. Rows of
        the same graph and time are one element, a row without a graph is one of its own; "graph" may be missing.
        A row that is no triple with a time costs its element, as `on_error` has it; rows are counted from 0.
        """
        rows = PushedTable(table, subject, predicate, object, time, graph)
        whole = self.on_error is not OnError.SKIP

        def take(rules: str) -> Iterator[str]:
            for block, numbers in rows.blocks(whole):
                yield numbers.told(self._take_columns(block, rules, whole))

        with self._fed():
            return self._taken(take)

    @staticmethod
    def _elements(name: str, given: Iterable[object]) -> list[StreamElement]:
        if isinstance(given, str | bytes | dict) or not isinstance(given, Iterable):
            raise check.wrong(name, "a list of StreamElements", given)
        elements: list[StreamElement] = []
        for element in given:
            if not isinstance(element, StreamElement):
                raise check.wrong(f"{name}[{len(elements)}]", "a StreamElement", element)
            elements.append(element)
        return elements

    def take_answers(self, element: StreamElement) -> None:
        """Push what the query that makes this stream has answered at an instant."""
        with self._parts.lock:
            self._append([element], believed=True)  # its time is an instant, no claim of a source
            self._evaluations.evaluate_due()

    @contextmanager
    def _fed(self) -> Iterator[None]:
        """Hold the engine's lock while the stream gets news from outside, then evaluate what became due."""
        with self._parts.in_use():
            self._check_nobody_makes_it()
            yield
            self._evaluations.evaluate_due()

    def _check_nobody_makes_it(self) -> None:
        if self.iri in self._derived:
            raise StreamElementError(
                f"the elements of <{self.iri}> come from the query of that name"
            )

    def apply_batch(
        self,
        source: Hashable,
        batch_id: int,
        elements: Sequence[StreamElement],
        set_aside: Sequence[str] = (),
    ) -> bool:
        """Push a batch of a numbered source, unless this one or a later one was pushed before; tells which.

        `set_aside` are the reasons of elements of the batch that are malformed already. An evaluation that fails does
        not undo the batch: its elements are in.
        """
        with self._fed():
            fresh = not self.is_applied(source, batch_id)
            if fresh:
                if set_aside and self.on_error is not OnError.SKIP:
                    raise StreamElementError(f"stream <{self.iri}>: {set_aside[0]}")
                self._append(elements)
                self._note_flaws(len(set_aside), set_aside)
                self._applied[source] = batch_id
        return fresh

    def apply_rows(self, source: Hashable, batch_id: int, batch: DataFrame) -> bool:
        """As `apply_batch`, of a batch with columns of terms, which tasks of Spark read."""
        strict, whole = self.rdf is RdfVersion.RDF_1_2, self.on_error is not OnError.SKIP
        # Not under the engine's lock: the rows may take long to compute.
        rows = self._parts.room.read_batch(batch, strict, self.accepts)
        with self._fed():
            fresh = not self.is_applied(source, batch_id)
            if fresh:
                self._taken(lambda rules: [self._log.takeBatch(rows, whole, rules)])
                self._applied[source] = batch_id
        return fresh

    def is_applied(self, source: Hashable, batch_id: int) -> bool:
        """Whether this batch of a numbered source, or a later one, has been pushed."""
        return batch_id <= self._applied.get(source, -1)

    def stop_sources(self) -> None:
        """Stop the streaming queries that feed the stream; must not be called under the engine's lock."""
        while self.sources:
            self.sources.pop().stop()

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
            handover.jvm, handover.write(block), strict, self.accepts, all_or_nothing, rules
        )
        return handover.answer(outcome)

    def _take_columns(self, block: memoryview, rules: str, all_or_nothing: bool) -> str:
        handover = self._parts.room.handover
        strict = self.rdf is RdfVersion.RDF_1_2
        outcome: str = self._log.takeColumns(
            handover.jvm, handover.write(block), strict, self.accepts, all_or_nothing, rules
        )
        return handover.answer(outcome)

    def _taken(self, take: Callable[[str], Iterable[str]], believed: bool = False) -> PushReport:
        """Note what has become of blocks of elements that the JVM takes in.

        `take` is told which times are taken in, as TimeRules.scala reads it, and gives what Intake.scala writes of each
        block. With `believed` no time is taken to be out of bounds.
        """
        # A batch is judged by the watermark before it; what is malformed must not move it.
        floor = max(self._evaluations.settled_up_to(self.iri), self.watermark.complete_up_to)
        horizon = self._parts.horizon
        rules = self._rules(f"{floor}|{'' if believed else horizon.rules}")
        accepted = malformed = late = 0
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
        return PushReport(accepted, malformed, late)

    def _note_taken(self, newest: int, count: int) -> None:
        """Note that elements were taken in, the newest of this time."""
        self.accepted_count += count
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

    def advance_to(self, time: int | datetime) -> None:
        """Promise that no element of this time or an earlier one is to come, and evaluate what becomes due."""
        moment = promised_time(time, self._parts.horizon)
        with self._fed():
            self.watermark.advance_to(moment)

    def read(
        self, frame: DataFrame, checkpoint: str | None = None, format: str = "auto"
    ) -> StreamingQuery:
        """Feed the stream from a streaming DataFrame; see `sparkext.runtime.streams.structured_source`."""
        from sparkext.runtime.streams.structured_source import read_stream

        if checkpoint is not None:
            checkpoint = str(check.path("checkpoint", checkpoint))

        self._parts.check_open()
        self._check_nobody_makes_it()  # At once, not with the first batch.
        return read_stream(self, frame, checkpoint, format)

    def __repr__(self) -> str:
        return f"Stream(<{self.iri}>, {self.accepted_count} elements)"
