"""The queries of an engine whose answers late elements correct."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from sparkext.runtime.lateness.corrections import CorrectedQuery, Corrections
from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.watermark import NEVER


class Correctable(CorrectedQuery, Protocol):
    """A query by number."""

    number: int
    corrections: Corrections | None

    def roll_back(self, time: int) -> None:
        """Come to all instants from a time on once more."""

    def forget_consumed(self) -> None:
        """Forget what events have used up that no instant asks for any more."""


class CorrectedQueries:
    """Which of them late elements roll back, and how far their answers are final; under the engine's lock."""

    def __init__(self) -> None:
        self._queries: dict[int, Correctable] = {}
        self._readers: dict[str, dict[int, Correctable]] = {}
        self._settled: dict[str, int] = {}
        self._newest: dict[str, int] = {}
        self._clocked: dict[str, dict[int, Correctable]] = {}
        self._crowded: dict[int, None] = {}

    def add(self, query: Correctable) -> None:
        """Take in a query that has corrections."""
        self._queries[query.number] = query
        for iri in query.scheduler.watermarks:
            self._readers.setdefault(iri, {})[query.number] = query
            if query.scheduler.clocked:
                self._clocked.setdefault(iri, {})[query.number] = query

    def remove(self, query: Correctable) -> None:
        """Forget a query, whatever it is."""
        if self._queries.pop(query.number, None) is not None:
            for iri in query.scheduler.watermarks:
                del self._readers[iri][query.number]
                self._clocked.get(iri, {}).pop(query.number, None)
            self._crowded.pop(query.number, None)

    def arrived(self, iri: str, times: Sequence[int]) -> list[Correctable]:
        """Note elements of these times, in order; the queries over the stream for which these may come late.

        Those that come after all others do so only for queries that have passed the stream over, as it was idle.
        """
        readers = self._readers.get(iri)
        if not readers or not times:
            return []
        newest = self._newest.get(iri, NEVER)
        self._newest[iri] = max(newest, times[-1])
        late = times[0] < newest
        return list((readers if late else self._clocked.get(iri, {})).values())

    def restore(self, iri: str, newest: int, settled: int) -> None:
        """Go on with a stream of which this was the newest time, and what was final."""
        self._newest[iri], self._settled[iri] = newest, settled

    def final_up_to(self, iri: str) -> int:
        """The greatest instant of a query over a stream that is known to be final: older elements come too late."""
        return self._settled.get(iri, NEVER)

    def note_crowded(self, number: int) -> None:
        """Note that there may be much to forget of a query."""
        self._crowded[number] = None

    def look(self) -> None:
        """Forget what is final of the queries where that is worth it; to be called when nothing is due."""
        if self._crowded:
            self.settle(list(self._crowded))
            self._crowded.clear()

    def settle(self, numbers: Iterable[int]) -> Iterator[InstantScheduler]:
        """Forget what is final of these queries; gives the schedulers that stand there."""
        behind = []
        for number in numbers:
            query = self._queries.get(number)
            if query is not None and query.corrections is not None:
                settled = query.corrections.settle(query)
                query.forget_consumed()
                for iri in query.scheduler.watermarks:
                    self._settled[iri] = max(settled, self._settled.get(iri, NEVER))
                behind.append(query.corrections.final)
        return iter(behind)
