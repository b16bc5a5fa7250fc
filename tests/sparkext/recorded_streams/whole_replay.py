"""A replay of recordings that are in memory, element by element: what a streamed one must answer like."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from sparkext.recorded_streams import RecordedStream, StreamElement, merge_streams
from sparkext.s2r.event_time import GREATEST_TIME

if TYPE_CHECKING:
    from sparkext.engine import Engine

Placed = tuple[str, StreamElement]


def replay_whole(
    engine: Engine,
    recordings: Mapping[str, RecordedStream],
    arrival_order: bool = False,
    after_each: Callable[[], object] = lambda: None,
) -> None:
    """Push the elements of all recordings and end their streams.

    Elements of one time are pushed together, time by time over all streams, and what lies before them is evaluated
    first. In arrival order they are pushed one by one instead.
    """
    elements = {iri: recording.elements for iri, recording in recordings.items()}
    engine.parts.horizon.begin_replay(e.time_ms for recorded in elements.values() for e in recorded)
    if arrival_order:
        for iri, element in in_arrival_order(elements):
            engine.stream(iri).push_elements([element])
            after_each()
    else:
        for time, at_once in groupby(merge_streams(elements), key=lambda placed: placed[1].time_ms):
            # What is set aside tells nothing of others; before the first time there is nothing.
            if time > -GREATEST_TIME and engine.parts.horizon.passes(time):
                engine.advance_to(time - 1)
            for iri, placed in groupby(at_once, key=lambda placed: placed[0]):
                engine.stream(iri).push_elements([element for _, element in placed])
            after_each()
    engine.finish()
    after_each()


def in_arrival_order(streams: Mapping[str, Iterable[StreamElement]]) -> Iterator[Placed]:
    """The elements of several streams as one sequence in which each stream keeps its order.

    An element counts as arriving at the greatest time that its stream has shown until then; at equal times the streams
    come in the order of the mapping.
    """

    def arriving(iri: str, elements: Iterable[StreamElement]) -> Iterator[tuple[int, Placed]]:
        newest = None
        for element in elements:
            newest = element.time_ms if newest is None else max(newest, element.time_ms)
            yield newest, (iri, element)

    parts = [arriving(iri, elements) for iri, elements in streams.items()]
    return (placed for _, placed in heapq.merge(*parts, key=lambda part: part[0]))
