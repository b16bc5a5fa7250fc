"""A live stream: elements pushed in, encoded at once, kept in panes until every window has passed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from sparkext.argument_checks import check
from sparkext.errors import StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.parts.pushed_times import milliseconds, promised_time
from sparkext.runtime.parts.pushed_triples import ABSOLUTE_IRI, TermLike, Triple, triple_lines
from sparkext.runtime.streams.element_text import are_sound
from sparkext.runtime.streams.push_report import PushReport
from sparkext.runtime.streams.pushed_tables import GRAPH, PushedTable
from sparkext.runtime.streams.stream_intake import StreamIntake
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_ONE_TAKEN = PushReport(1)


class Stream(StreamIntake):
    """One registered stream; made by `Engine.register_stream`.

    Counts since the start: `accepted_count`, `malformed_count` (set aside, the newest reasons in `set_aside`) and
    `late_count` (older than the watermark: counted, not answered). `sources` are the streaming queries that feed it.
    With `on_error` FAIL or ACCEPT a malformed element is an error, and nothing of what comes with it is taken in;
    with ACCEPT, IRIs are taken as they stand.
    """

    def push(
        self,
        triples: str | Triple | Iterable[Triple],
        time: int | datetime | None = None,
        graph: str | None = None,
        position: object = None,
    ) -> PushReport:
        """Push one element: a set of triples with a time, in milliseconds since the epoch or as a datetime.

        `triples` is one triple, several, or N-Triples text, quoted triples as `spark.cqels.rdf` has them. Terms are
        `Iri`, `Literal` ..., Python numbers and booleans, rdflib's terms (an rdflib graph is several triples), or text
        in N-Triples syntax; a text that is an absolute IRI needs no brackets. `graph` is the IRI that names the
        element. Evaluations that become due are run before this returns. A malformed element is set aside and
        counted, or a StreamElementError, as the stream's `on_error` has it; an element without a time is now.
        `position` is plain data that a restarted program finds in `stream.position`: how far its source was read.
        """
        if position is not None:
            check.plain("position", position)
        if graph is not None and not (isinstance(graph, str) and ABSOLUTE_IRI.fullmatch(graph)):
            raise StreamElementError(
                f"graph: an element is named by an absolute IRI, not by {graph!r}"
            )
        if graph is not None:
            check.text("graph", graph)
        moment = None if time is None else milliseconds(time)
        lines = triple_lines(triples, self.rdf)
        name = None if graph is None else f"<{graph}>"
        if are_sound(lines, self.rdf):
            with self._parts.in_use(reads=False):
                self._check_nobody_makes_it()
                self._parts.ready()
                # Now is when its turn has come: dated before, it may be late by what others pushed meanwhile.
                at = milliseconds(None) if moment is None else moment
                if self._wait(at, name, lines, position):
                    return _ONE_TAKEN
        with self._fed(position):
            at = milliseconds(None) if moment is None else moment
            element = StreamElement(at, name, tuple(lines), None, ())
            return self._append([element], self.rdf is RdfVersion.RDF_1_2)

    @contextmanager
    def turn(self) -> Iterator[int]:
        """Hold the engine's lock, and tell the earliest time of elements that are dated by when they came.

        It is not after now. Others may have pushed since these came, so that they would be late.
        """
        with self._parts.in_use(reads=False):
            yield min(self.late_up_to + 1, milliseconds(None))

    def push_elements(
        self, elements: Sequence[StreamElement], position: object = None
    ) -> PushReport:
        """Push many elements, in order of time or not, and evaluate what becomes due when all are in; see `push`.

        A stream that does not skip what is malformed raises StreamElementError, with nothing taken in.
        """
        elements = self._elements("elements", elements)
        if position is not None:
            check.plain("position", position)
        with self._fed(position):
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
        position: object = None,
    ) -> PushReport:
        """Push the rows of a table, each of them a triple with a time, and evaluate what becomes due when all are in.

        `table` is a pyarrow Table or RecordBatch, a pandas, Polars or Spark DataFrame, or anything with
        `__arrow_c_stream__`. The others name columns, or are what all rows have, such as `predicate=Iri(...)`. Terms
        are text in N-Triples syntax, or absolute IRIs but as objects, which may be numbers, booleans, timestamps and
        dates. Times are timestamps (UTC if they have no zone) or milliseconds since the epoch; None is now. Rows of
        the same graph and time are one element, a row without a graph is one of its own; "graph" may be missing.
        A row that is no triple with a time costs its element, as `on_error` has it; rows are counted from 0. For
        `position` see `push`.
        """
        if position is not None:
            check.plain("position", position)
        rows = PushedTable(table, subject, predicate, object, time, graph)
        whole = self.on_error is not OnError.SKIP

        def take(rules: str) -> Iterator[str]:
            for block, numbers in rows.blocks(whole):
                yield numbers.told(self._take_columns(block, rules, whole))

        with self._fed(position):
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

    @property
    def late(self) -> tuple[StreamElement, ...]:
        """The newest elements that came too late to be answered, at most 1,000; `late_count` counts all of them."""
        return self._late.newest

    def subscribe_late(self, subscriber: Callable[[StreamElement], object]) -> Callable[[], None]:
        """Have `subscriber` called with each StreamElement that comes too late; returns a function that ends this.

        It is called while elements are taken in, and should be quick. Without one, or a `late_stream`, of a block of
        many late elements only the newest 100 are told of.
        """
        check.callable("subscriber", subscriber)
        with self._parts.in_use():
            self._log.tellAllLate()
            return self._late.subscribe(subscriber)

    def take_late_of(self, source: Stream) -> None:
        """Have the elements of this stream be those that come too late on another from now on."""
        self.made_late_by = source
        source._log.tellAllLate()
        source._late.goes_to = self._take_late

    def _take_late(self, elements: Sequence[StreamElement]) -> None:
        """Take in what came too late on the other stream, at the time which that one has come to."""
        source = self.made_late_by
        assert source is not None
        if not source.watermark.finished:
            now = max(source.newest_time, source.watermark.final.complete_up_to + 1)
            self._append([replace(element, time_ms=now) for element in elements], believed=True)

    def follow(self) -> None:
        """Come to where the stream is whose late elements these are."""
        source = self.made_late_by
        assert source is not None
        if source.watermark.finished:
            self.watermark.finish()
        else:
            complete = source.watermark.final.complete_up_to
            self.watermark.advance_to(max(source.newest_time - 1, complete))

    def stop_sources(self) -> None:
        """Stop the streaming queries and feeds of the stream; under the engine's lock it waits for no batch."""
        while self.feeds:  # first: a batch that is taken in is done for Spark, too
            self.feeds.pop().end(waits=not self.is_held_here)
        while self.sources:
            self.sources.pop().stop()

    @property
    def is_held_here(self) -> bool:
        """Whether this thread has the engine's lock, as in a subscriber: then no other one can push meanwhile."""
        return self._parts.lock.is_mine

    def advance_to(self, time: int | datetime) -> None:
        """Promise that no element of this time or an earlier one is to come, and evaluate what becomes due."""
        moment = promised_time(time, self._parts.horizon)
        with self._fed():
            self.watermark.advance_to(moment)

    def read(
        self,
        frame: DataFrame,
        checkpoint: str | None = None,
        format: str = "auto",
        real_time: str | None = None,
    ) -> StreamingQuery:
        """Feed the stream from a streaming DataFrame; see `sparkext.runtime.streams.structured_source`.

        With `real_time`, the duration of Spark's long batches, see `sparkext.runtime.streams.real_time`.
        """
        from sparkext.runtime.streams.real_time import read_real_time
        from sparkext.runtime.streams.structured_source import read_stream

        if checkpoint is not None:
            checkpoint = str(check.path("checkpoint", checkpoint))
        self._parts.check_open()
        self._check_nobody_makes_it()  # At once, not with the first batch.
        if real_time is not None:
            check.text("real_time", real_time)
            return read_real_time(self, frame, self._parts.room, real_time, checkpoint)
        return read_stream(self, frame, checkpoint, format)

    def __repr__(self) -> str:
        return f"Stream(<{self.iri}>, {self.accepted_count} elements)"
