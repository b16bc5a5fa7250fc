"""Which queries are to be asked what is due: those for which the news of their streams can have made an instant due.

A query waits for its slowest stream to be complete up to the next instant at which its policy may hold, whatever
comes meanwhile (`InstantScheduler.waits_for`). These bounds stand in order at each stream, so that what arrives costs
nothing for the queries that go on waiting, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from sortedcontainers import SortedList

from sparkext.s2r.instants import InstantScheduler
from sparkext.s2r.stream_times import StreamTimes
from sparkext.s2r.watermark import FOREVER, NEVER, StreamWatermark


@dataclass
class _ReadStream:
    """A stream that some query reads."""

    watermark: StreamWatermark
    times: StreamTimes
    readers: dict[int, InstantScheduler] = field(default_factory=dict)
    eager: set[int] = field(default_factory=set)
    bounds: SortedList = field(default_factory=SortedList)  # (complete up to, number)
    settled: int = NEVER


class Schedule:
    """The schedulers of the queries of an engine, by number; they share the times of their streams."""

    def __init__(self) -> None:
        self._streams: dict[str, _ReadStream] = {}
        self._times: dict[str, StreamTimes] = {}
        self._settled: dict[str, int] = {}  # restored, of streams that no query reads yet
        self._schedulers: dict[int, InstantScheduler] = {}
        self._placed: dict[int, dict[str, int]] = {}
        self._moved: dict[str, None] = {}  # streams with news
        self._grown: dict[str, None] = {}
        self._concerned: dict[int, None] = {}
        # Those that wait for several streams, of which some may be idle, by stream.
        self._clocked: dict[str, dict[int, None]] = {}
        self._were_idle: list[str] = []

    def times(self, iri: str) -> StreamTimes:
        """The times of a stream, for a scheduler that is to be added."""
        if iri in self._streams:
            return self._streams[iri].times
        return self._times.setdefault(iri, StreamTimes())

    def oldest_time(self, iri: str) -> int:
        """The oldest time of a stream's elements that a query still asks for; FOREVER where none does."""
        times = self.times(iri).times if iri in self._streams else ()
        return times[0] if times else FOREVER

    def restore(self, iri: str, times: Sequence[int], counts: Sequence[int], settled: int) -> None:
        """Have a stream that no query reads yet be one of which a schedule before this one had these times."""
        self.times(iri).add(times, counts)
        self._settled[iri] = settled

    def add(self, number: int, scheduler: InstantScheduler, eager: bool = False) -> None:
        """Take in a new query's scheduler, made with `times`; an `eager` one is asked after all news of its streams."""
        self._schedulers[number] = scheduler
        for iri, watermark in scheduler.watermarks.items():
            if iri not in self._streams:
                self._streams[iri] = _ReadStream(watermark, self._times.pop(iri))
                self._streams[iri].settled = self._settled.pop(iri, NEVER)
            stream = self._streams[iri]
            stream.readers[number] = scheduler
            if eager:
                stream.eager.add(number)
            if scheduler.clocked:
                self._clocked.setdefault(iri, {})[number] = None
        self.asked(number, due=False)

    def remove(self, number: int) -> None:
        """Forget a query; a stream that no other reads keeps no times."""
        self._displace(number)
        self._concerned.pop(number, None)
        scheduler = self._schedulers.pop(number)
        for iri in scheduler.watermarks:
            stream = self._streams[iri]
            del stream.readers[number]
            stream.eager.discard(number)
            if scheduler.clocked:
                del self._clocked[iri][number]
                if not self._clocked[iri]:
                    del self._clocked[iri]
            # Windows that others share with it have moved on: what it had passed stays passed.
            if not stream.readers:
                del self._streams[iri]
                self._moved.pop(iri, None)
                self._grown.pop(iri, None)

    def readers(self, iri: str) -> Collection[int]:
        """The queries over a stream."""
        return self._streams[iri].readers if iri in self._streams else ()

    # ---- what arrives

    def note(self, iri: str, times: Sequence[int], counts: Sequence[int]) -> None:
        """Take in elements of a stream: their times, distinct and in order, and how many there are of each."""
        if times and iri in self._streams:
            self._streams[iri].times.add(times, counts)
            self._moved[iri] = self._grown[iri] = None

    def moved(self, iri: str) -> None:
        """Say that a stream is complete further than before."""
        if iri in self._streams:
            self._moved[iri] = None

    def replace(self, number: int, scheduler: InstantScheduler) -> None:
        """Have a query that goes back to earlier instants be asked by another scheduler from now on."""
        self._displace(number)
        self._schedulers[number] = scheduler
        for iri in scheduler.watermarks:
            self._streams[iri].readers[number] = scheduler
        self.concern(number)

    def settled_up_to(self, iri: str) -> int:
        """The greatest instant of a stream that a query over it was asked for: older elements come too late."""
        if iri in self._streams:
            return self._streams[iri].settled
        return self._settled.get(iri, NEVER)

    def due_bound(self, iri: str) -> int:
        """The least time up to which a stream must be complete for an instant to become due by its elements."""
        clocked = iri in self._clocked and self._idle_streams()
        if self._concerned or clocked:
            return NEVER
        if iri not in self._streams or not self._streams[iri].bounds:
            return FOREVER
        return int(self._streams[iri].bounds[0][0])

    # ---- what is due

    def concerned(self) -> list[int]:
        """The queries that must be asked as there are news, in order; each until it was `asked`."""
        concerned = self._concerned
        for iri in self._moved:
            stream = self._streams[iri]
            bounds, complete = stream.bounds, stream.watermark.complete_up_to
            while bounds and bounds[0][0] <= complete:
                concerned[bounds[0][1]] = None
                del bounds[0]
            concerned.update(dict.fromkeys(stream.eager))
        self._moved.clear()
        if self._clocked:
            # An idle stream is not waited for, and may be behind what the others make due.
            idle = self._idle_streams()
            for iri in {*idle, *self._were_idle} & self._clocked.keys():
                concerned.update(self._clocked[iri])
            self._were_idle = idle
        return sorted(concerned)

    def _idle_streams(self) -> list[str]:
        return [iri for iri in self._clocked if self._streams[iri].watermark.idle]

    def idle_changed(self) -> bool:
        """Whether streams have fallen silent since queries were asked."""
        return bool(self._clocked) and self._idle_streams() != self._were_idle

    def concern(self, number: int) -> None:
        """Have a query be asked."""
        self._concerned[number] = None

    def concern_no_more(self, number: int) -> None:
        """Have a query not be asked."""
        self._concerned.pop(number, None)

    def asked(self, number: int, due: bool) -> None:
        """Say that a query has been asked; one that has nothing `due` waits from now on."""
        scheduler = self._schedulers[number]
        self._displace(number)
        if not due:
            placed = self._placed[number] = scheduler.waits_for()
            for iri, bound in placed.items():
                self._streams[iri].bounds.add((bound, number))
        for iri in scheduler.watermarks:
            stream = self._streams[iri]
            stream.settled = max(stream.settled, scheduler.settled_up_to)
        self._concerned.pop(number, None)

    def _displace(self, number: int) -> None:
        for iri, bound in self._placed.pop(number, {}).items():
            self._streams[iri].bounds.discard((bound, number))

    def catch_up(self, numbers: Collection[int]) -> None:
        """Have queries that wait settle what is complete by now."""
        for number in list(numbers):
            if number in self._schedulers:  # a pause in between may have ended it
                self._schedulers[number].next_due()

    def forget(
        self, behind: Callable[[Iterable[int]], Iterable[InstantScheduler]] = lambda numbers: ()
    ) -> None:
        """Let go of times that no query needs any more, where there are many; to be asked when nothing is due.

        `behind` gives schedulers of some queries that follow at earlier instants.
        """
        for iri in list(self._grown):
            stream = self._streams[iri]
            if stream.times.crowded(len(stream.readers)):
                self.catch_up(stream.readers)
                asked = [*stream.readers.values(), *behind(stream.readers)]
                needed = [query.needed_after(iri) for query in asked]
                stream.times.forget(min(needed, default=NEVER))
            self._grown.pop(iri, None)
