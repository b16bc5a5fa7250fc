"""A replay of recordings that are in memory, element by element: what a streamed one must answer like."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from sparkext.command_line.replay import replay
from sparkext.recorded_streams import (
    TIME_PROPERTIES,
    RecordedStream,
    SetAside,
    StreamElement,
    merge_streams,
)
from sparkext.recorded_streams.elements import PROV_GENERATED_AT_TIME
from sparkext.recorded_streams.recording_files import recording_files, recording_folder
from sparkext.runtime.streams.replay import ReplayedStream, ReplayOptions
from sparkext.s2r.event_time import GREATEST_TIME
from static_data.files.reading import Reading
from tests.sparkext.listening import E

if TYPE_CHECKING:
    from sparkext.engine import Engine

XSD = "http://www.w3.org/2001/XMLSchema#"
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


def replay_files(
    engine: Engine,
    files: Mapping[str, Sequence[Path]],
    options: ReplayOptions | None = None,
    after_each: Callable[[], object] = lambda: None,
) -> dict[str, ReplayedStream]:
    """Replay files as `cqels run` does."""
    chosen = options or ReplayOptions()
    reading = Reading(chosen.version, chosen.on_error)
    with recording_folder() as folder:
        ready = {iri: recording_files(named, folder, reading) for iri, named in files.items()}
        return replay(engine, ready, chosen, after_each, show=False)


def write_elements(file: Path, elements: Iterable[StreamElement]) -> Path:
    """Write elements as a recording; those without a name get one."""
    lines = []
    for number, element in enumerate(elements):
        name = element.graph or f"<http://e/graph/{number}>"
        time = f'"{element.time_ms}"^^<{XSD}long>'
        dated = element.time_triple or f"{name} <{PROV_GENERATED_AT_TIME}> {time} ."
        lines += StreamElement(
            element.time_ms, name, element.triples, dated, element.about
        ).nquads()
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file


def quad(graph: str, subject: str = f"<{E}s>", object_: str = '"o"') -> str:
    """A line."""
    return f"{subject} <{E}p> {object_} <{E}{graph}> .\n"


def at(graph: str, time: int) -> str:
    return f'<{E}{graph}> <{TIME_PROPERTIES[0]}> "{time}"^^<{XSD}integer> .\n'


def element(graph: str, time: int) -> str:
    return quad(graph, f"<{E}{graph}>") + at(graph, time)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def told(aside: Sequence[SetAside]) -> list[tuple[str, int | None, str | None, str]]:
    """What was set aside; of malformed lines, readers differ in the words."""
    return [
        (
            one.file,
            one.line,
            one.graph,
            "column" if one.reason.startswith("column ") else one.reason,
        )
        for one in aside
    ]
