"""Streams made by queries: what a registered CONSTRUCT answers at an instant is one element of the stream of its name.

The element is a named graph, ``<query IRI#milliseconds>``, with the time triple ``prov:generatedAtTime``. Queries that
read each other this way are evaluated in order of time: such a stream is complete just before the next instant of the
query that makes it, or as far as that query's own streams are. Where late elements correct what the query answers, an
answer is an element once it is final.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from sparkext.errors import RecursiveQueryError
from sparkext.recorded_streams import StreamElement
from sparkext.s2r.event_time import format_date_time
from sparkext.s2r.watermark import FOREVER, StreamWatermark

if TYPE_CHECKING:
    from sparkext.language.query import Query
    from sparkext.runtime.answering.answers import Answers
    from sparkext.runtime.registered_query import RegisteredQuery
    from sparkext.runtime.streams.stream import Stream

_TIME_TRIPLE = (
    "<{0}> <http://www.w3.org/ns/prov#generatedAtTime>"
    ' "{1}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
)


def stream_made_by(query: Query) -> str | None:
    """The IRI of the stream that a continuous query makes, None for one that makes none."""
    if query.form != "CONSTRUCT" or query.registration is None:
        return None
    name = query.registration.name
    return None if name is None else name.value


class DerivedStreams:
    """The streams that the queries of one engine make, by their IRI.

    `is_read` tells whether any query has a window on a stream; without one, answers are not pushed.
    """

    def __init__(self, streams: Mapping[str, Stream], is_read: Callable[[str], bool]) -> None:
        self._streams = streams
        self._is_read = is_read
        self._makers: dict[str, RegisteredQuery] = {}
        self._made_from: dict[str, list[str]] = {}

    def __contains__(self, iri: object) -> bool:
        return iri in self._makers

    def __len__(self) -> int:
        return len(self._makers)

    def check(self, iri: str, query: Query) -> None:
        """Raises RecursiveQueryError when `query` reads, directly or through others, the stream it is to make."""
        seen: set[str] = set()
        waiting = [window.stream.value for window in query.windows]
        while waiting:
            read = waiting.pop()
            if read == iri:
                raise RecursiveQueryError(iri)
            if read in self._makers and read not in seen:
                seen.add(read)
                waiting.extend(w.stream for w in self._makers[read].windows.values())

    def add(self, iri: str, maker: RegisteredQuery) -> None:
        """Have the answers of `maker` pushed into the stream from now on."""
        self._makers[iri] = maker
        for read in maker.scheduler.watermarks:
            self._made_from.setdefault(read, []).append(iri)
        if maker.corrections is None:
            maker.subscribe(lambda answers: self._push(iri, answers))
        else:
            maker.corrections.passes_on = True

    def remove(self, maker: RegisteredQuery) -> None:
        """End the stream that `maker` makes, if it makes one: its readers wait no longer."""
        iri = stream_made_by(maker.query)
        if iri is not None and self._makers.get(iri) is maker:
            del self._makers[iri]
            for read in maker.scheduler.watermarks:
                self._made_from[read].remove(iri)
            self._streams[iri].watermark.finish()

    def made_from(self, iri: str) -> Iterable[str]:
        """The streams made of what arrives on a stream, by one query."""
        return self._made_from.get(iri, ())

    def pass_on(
        self, asked: Iterable[RegisteredQuery], next_instants: Mapping[RegisteredQuery, int]
    ) -> bool:
        """Move the watermarks as far as the makers allow that have been asked what is due.

        `next_instants` are those that are due and not yet evaluated. Tells whether any watermark has moved.
        """
        found: list[tuple[str, list[Answers], int]] = []
        for maker in asked:
            iri = stream_made_by(maker.query)
            if iri is None or self._makers.get(iri) is not maker:
                continue
            limit = next_instants[maker] - 1 if maker in next_instants else FOREVER
            if maker.corrections is None:
                found.append((iri, [], min(maker.scheduler.decided_up_to, limit)))
            else:
                found.append((iri, *maker.corrections.finished(maker, limit)))
        # Only now: one that reads another's has been asked before that moved.
        moved = False
        for iri, final, complete in found:
            for answers in final:
                self._push(iri, answers)
            moved |= bool(final) | _advance(self._streams[iri].watermark, complete)
        return moved

    def _push(self, iri: str, answers: Answers) -> None:
        if answers.empty or not self._is_read(iri):
            return
        triples = tuple(f"{s} {p} {o} ." for s, p, o in answers.triples())
        name = f"{iri}#{answers.time}"
        time_triple = _TIME_TRIPLE.format(name, format_date_time(answers.time))
        element = StreamElement(answers.time, f"<{name}>", triples, time_triple, ())
        self._streams[iri].take_answers(element)


def _advance(watermark: StreamWatermark, complete: int) -> bool:
    before = watermark.complete_up_to
    if complete >= FOREVER:
        watermark.finish()
    else:
        watermark.advance_to(complete)
    return watermark.complete_up_to > before
