"""Recorded streams pushed into an engine in a fixed order, and what became of their elements."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from sparkext.recorded_streams import RecordedStream, StreamElement, merge_streams
from sparkext.s2r.event_time import GREATEST_TIME
from sparkext.setting_types import show_duration

if TYPE_CHECKING:
    from sparkext.engine import Engine

_SHOWN_REASONS = 5

Placed = tuple[str, StreamElement]


def replay(
    engine: Engine,
    recordings: Mapping[str, RecordedStream],
    arrival_order: bool = False,
    after_each: Callable[[], object] = lambda: None,
) -> None:
    """Push the elements of all recordings and end their streams.

    Elements of one time are pushed together, time by time over all streams, and what lies before
    them is evaluated first: so only what the windows need is held. In arrival order they are pushed
    one by one instead. `after_each` is called after each push. A time too far after the newest one before it is not
    believed (`spark.cqels.maxAhead`): its elements are set aside.
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

    An element counts as arriving at the greatest time that its stream has shown until then; at
    equal times the streams come in the order of the mapping.
    """

    def arriving(iri: str, elements: Iterable[StreamElement]) -> Iterator[tuple[int, Placed]]:
        newest = None
        for element in elements:
            newest = element.time_ms if newest is None else max(newest, element.time_ms)
            yield newest, (iri, element)

    parts = [arriving(iri, elements) for iri, elements in streams.items()]
    return (placed for _, placed in heapq.merge(*parts, key=lambda part: part[0]))


def report_lines(engine: Engine, recordings: Mapping[str, RecordedStream]) -> list[str]:
    """What to say at the end: how many elements were not used, and the first reasons."""
    lines = []
    for iri, recording in recordings.items():
        stream = engine.stream(iri)
        count = len(recording.set_aside) + stream.malformed_count
        if count:
            reasons = [*map(str, recording.set_aside), *stream.set_aside]
            lines.append(f"stream <{iri}>: {count} malformed, set aside:")
            lines.extend(f"  {reason}" for reason in reasons[:_SHOWN_REASONS])
            if count > _SHOWN_REASONS:
                lines.append(f"  ... and {count - _SHOWN_REASONS} more")
        if stream.late_count:
            allowed = show_duration(stream.watermark.allowed_lateness)
            lines.append(
                f"stream <{iri}>: {stream.late_count} too late (spark.cqels.allowedLateness is"
                f" {allowed}), not answered"
            )
        if recording.ignored_triples:
            lines.append(
                f"stream <{iri}>: {recording.ignored_triples} triple(s) outside any element, ignored"
            )
    return lines
