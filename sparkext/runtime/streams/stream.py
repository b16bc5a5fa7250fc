"""A live stream: elements pushed in, encoded at once, kept in panes until every window has passed them."""

from __future__ import annotations

import itertools
import json
import logging
import re
from collections import Counter, deque
from collections.abc import Container, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from sparkext.argument_checks import check, lone_surrogate
from sparkext.errors import StreamElementError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.parts.pushed_times import ahead_of, milliseconds, promised_time, time_flaw
from sparkext.runtime.parts.pushed_triples import ABSOLUTE_IRI, Triple, triple_lines
from sparkext.s2r.watermark import NEVER, StreamWatermark
from static_data.files.on_error import OnError
from static_data.files.rdf_version import RdfVersion
from static_data.jvm import extension

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from sparkext.runtime.parts.engine_parts import EngineParts

logger = logging.getLogger(__name__)

_KEPT_REASONS = 100
# Elements that go over to the JVM as one text, which is held several times on the way.
_BLOCK = 20_000
_SPACE = re.compile(r"\s", re.ASCII)


@dataclass(frozen=True)
class PushReport:
    """What became of pushed elements: taken in, set aside as malformed, too late."""

    accepted: int = 0
    malformed: int = 0
    late: int = 0


class Evaluations(Protocol):
    """Who evaluates queries over a stream: told what arrives, and when to look what is due."""

    def settled_up_to(self, iri: str) -> int: ...
    def note_arrivals(self, iri: str, times: Sequence[int], counts: Sequence[int]) -> None: ...
    def evaluate_due(self) -> None: ...


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
        self.log: Any = parts.room.stream(iri)
        if parts.settings.duplicates == "bag":
            self.log.countOccurrences()
        self._parts = parts
        self._evaluations = evaluations
        self._derived = derived
        self.accepted_count = 0
        self.malformed_count = 0
        self.late_count = 0
        self.newest_time = NEVER  # of the elements that were taken in
        self.set_aside: deque[str] = deque(maxlen=_KEPT_REASONS)
        self.sources: list[StreamingQuery] = []
        self._applied: dict[Hashable, int] = {}

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
        element = StreamElement(
            moment, None if graph is None else f"<{graph}>", tuple(lines), None, ()
        )
        with self._fed():
            return self._append([element], self.rdf is RdfVersion.RDF_1_2)

    def push_elements(self, elements: Sequence[StreamElement]) -> PushReport:
        """Push many elements, in order of time or not, and evaluate what becomes due when all are in.

        A stream that does not skip what is malformed raises StreamElementError, with nothing taken in.
        """
        elements = self._elements("elements", elements)
        with self._fed():
            return self._append(elements)

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
                if set_aside:
                    logger.warning("stream <%s>: set aside %d element(s)", self.iri, len(set_aside))
                self._append(elements)
                self.malformed_count += len(set_aside)
                self.set_aside.extend(set_aside)
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
        if self.on_error is not OnError.SKIP:
            self._check(elements, strict)
        sound = []
        for element in elements:
            flaw = _flaw(element)
            if flaw is None:
                sound.append(element)
            else:
                self._set_aside(f"element at {element.time_ms} ms: {flaw}")
        in_order = sorted(sound, key=lambda element: element.time_ms)
        if not believed:
            in_order = self._within_horizon(in_order)
        ahead = len(sound) - len(in_order)
        # A sorted batch is judged by the watermark before it; what is malformed must not move it.
        floor = max(self._evaluations.settled_up_to(self.iri), self.watermark.complete_up_to)
        late = sum(element.time_ms <= floor for element in in_order)
        if late:
            self.late_count += late
            logger.warning("stream <%s>: %d element(s) came too late", self.iri, late)
        too_late, in_order = in_order[:late], in_order[late:]
        rejected = self._hand_over(in_order, strict)
        refused = {number for number, _, _ in rejected}
        for number, place, message in rejected:
            self._set_aside(f"element at {in_order[number].time_ms} ms, column {place}: {message}")
        taken = [e.time_ms for n, e in enumerate(in_order) if n not in refused]
        times = Counter([e.time_ms for e in too_late] + taken)
        self.watermark.observe(times, list(times.values()), settled=floor)
        if taken:
            if not believed:
                self._parts.horizon.note(taken[-1])
            self.newest_time = max(taken[-1], self.newest_time)
        self.accepted_count += len(taken)
        arrived = Counter(taken)  # in order, as they are
        self._evaluations.note_arrivals(self.iri, list(arrived), list(arrived.values()))
        malformed = len(elements) - len(sound) + ahead + len(refused)
        return PushReport(len(taken), malformed, late)

    def _within_horizon(self, in_order: list[StreamElement]) -> list[StreamElement]:
        """Those of the elements, which are in order of time, whose time can be right; the others are set aside."""
        horizon = self._parts.horizon
        count = horizon.believed([element.time_ms for element in in_order])
        beyond = in_order[count:]
        if beyond:
            # One warning for all: there may be as many as there are elements.
            self.malformed_count += len(beyond)
            reasons = [
                f"element at {element.time_ms} ms: {ahead_of(horizon)}" for element in beyond
            ]
            self.set_aside.extend(reasons)
            logger.warning(
                "stream <%s>: set aside %d element(s) whose time cannot be right; the first: %s",
                self.iri,
                len(beyond),
                reasons[0],
            )
        return in_order[:count]

    def _check(self, elements: Sequence[StreamElement], strict: bool) -> None:
        """Raise StreamElementError for the first malformed element, before any of them is taken in."""
        on_error = (OnError.ACCEPT if self.accepts else OnError.FAIL).value
        reader = extension(self._parts.spark).loading.CanonicalLines(True, strict, on_error)
        for element in elements:
            flaw = _flaw(element)
            if flaw is not None:
                raise StreamElementError(f"element at {element.time_ms} ms: {flaw}")
        for first in range(0, len(elements), _BLOCK):
            block = elements[first : first + _BLOCK]
            texts = [_lines_of(element) for element in block]
            reader.read("\n".join(itertools.chain.from_iterable(texts)))
            problem = reader.problem()
            if problem is not None:
                ends = itertools.accumulate(map(len, texts))
                place = next(n for n, end in enumerate(ends) if problem.line() <= end)
                raise StreamElementError(
                    f"element at {block[place].time_ms} ms, column {problem.column()}: {problem.message()}"
                )

    def _hand_over(
        self, elements: Sequence[StreamElement], strict: bool
    ) -> list[tuple[int, int, str]]:
        """Write elements into the log; those that are malformed: number, column and what is wrong."""
        rejected = []
        for first in range(0, len(elements), _BLOCK):
            block = block_of(elements[first : first + _BLOCK])
            outcome = json.loads(self.log.append(block, strict, self.accepts))
            rejected += [(first + number, *flaw) for number, *flaw in outcome["rejected"]]
        return rejected

    def _set_aside(self, reason: str) -> None:
        self.malformed_count += 1
        self.set_aside.append(reason)
        logger.warning("stream <%s>: set aside %s", self.iri, reason)

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


def block_of(elements: Iterable[StreamElement]) -> str:
    """Elements as the block that StreamLog.append reads: a header and N-Triples lines each.

    >>> element = StreamElement(5, None, ("<http://e/s> <http://e/p> <http://e/o> .",), None, ())
    >>> print(block_of([element]))
    @5 - 1 0
    <http://e/s> <http://e/p> <http://e/o> .
    """
    parts = []
    for element in elements:
        texts, triples = _texts_of(element), len(element.triples)
        parts.append(f"@{element.time_ms} {element.graph or '-'} {triples} {len(texts) - triples}")
        for line in texts:
            parts.append(line.rstrip("\r\n"))
    return "\n".join(parts)


def _lines_of(element: StreamElement) -> list[str]:
    return [line.rstrip("\r\n") for line in _texts_of(element)]


def _texts_of(element: StreamElement) -> tuple[str, ...]:
    if element.time_triple is None and not element.about:
        return element.triples  # most that is pushed: as it is, for the sake of time
    times = () if element.time_triple is None else (element.time_triple,)
    return (*element.triples, *times, *element.about)


def _flaw(element: StreamElement) -> str | None:
    """Why an element cannot be part of a block, None if it can be; whether its lines are RDF is not asked."""
    try:
        for line in _texts_of(element):
            if "\n" in line and "\n" in line.rstrip("\r\n"):
                return f"a line break in {line!r}"
            place = None if line.isascii() else lone_surrogate(line)
            if place is not None:
                return f"column {place + 1}: a lone surrogate in {line!r}"
        graph = element.graph
        if graph is not None and (_SPACE.search(graph) or lone_surrogate(graph) is not None):
            return f"{graph!r} is no graph name"
    except (AttributeError, TypeError):
        return "its triples or its graph name are no texts"
    return time_flaw(element.time_ms)
