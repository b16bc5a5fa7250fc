"""Streams of rows for the commands: files of CSV, JSON or Parquet with a mapping, as columns in order of time."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from sparkext.errors import InputFileError
from sparkext.recorded_streams import RecordedStream, StreamElement
from sparkext.runtime.streams.mapped_columns import TIME, columns_of
from sparkext.runtime.streams.stream_mapping import (
    ElementMapping,
    MappingOptions,
    element_mapping,
)
from sparkext.s2r.event_time import GREATEST_TIME, parse_date_time
from static_data.errors import MappedRowError
from static_data.mappings.materialise import Materialiser, Quad
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import rows_of_file, rows_of_source

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.runtime.streams.mapped_stream import MappedStream

_CHUNK_ROWS = 8192
_NO_TIME = np.iinfo(np.int64).min


def mapping_options(arguments: Namespace, streams: Iterable[str]) -> dict[str, MappingOptions]:
    """The mappings of streams by IRI; what is given without an IRI is for all streams that have none of their own."""
    mappings, times = dict(arguments.mapping), dict(arguments.time_column)
    found = {}
    for iri in streams:
        file = mappings.get(iri, mappings.get(None))
        if file is not None:
            found[iri] = MappingOptions(file, times.get(iri, times.get(None)))
    return found


@dataclass(frozen=True)
class RowFile:
    """The rows of one file of a stream: columns in order of time (or as they come), and the time of each."""

    iri: str
    columns: pa.Table
    times: np.ndarray


@dataclass(frozen=True)
class RowStream:
    """A stream of rows: what its mapping says, and the rows of its files."""

    iri: str
    mapping: ElementMapping
    files: Sequence[ArrowRows | JsonRows]

    def columns(self, in_time_order: bool = True) -> list[RowFile]:
        """What is pushed of each file."""
        found = []
        for rows in self.files:
            columns = columns_of(rows, self.mapping.program.columns, self.mapping.time)
            times = _times(columns.column(TIME))
            if in_time_order and np.any(times[1:] < times[:-1]):
                order = np.argsort(times, kind="stable")
                columns, times = columns.take(pa.array(order)), times[order]
            found.append(RowFile(self.iri, columns, times))
        return found

    def elements(self, options: MappingOptions) -> tuple[list[StreamElement], list[str]]:
        """The elements as an oracle reads them, in order of time, and what is wrong with each other row.

        Raises InputFileError for rows with quads of several named graphs.
        """
        mapped = self.mapping.rows
        others = [source for source in mapped.parents() if source != mapped.source]
        parents = {s: rows_of_source(s, str(options.file), _nothing) for s in others}
        elements: list[StreamElement] = []
        flaws: list[str] = []
        for rows in self.files:
            materialiser = Materialiser(mapped, parents)
            times = rows.values(self.mapping.time)
            for number, quads in enumerate(materialiser.quads_by_row(rows)):
                texts = times[number]
                time = None if not texts else _millis(texts[0].lexical)
                if time is None:
                    flaws.append(f"row {number + 1}: no time")
                elif isinstance(quads, MappedRowError):
                    flaws.append(f"row {number + 1}: {quads.message}")
                else:
                    elements.append(_element(str(options.file), time, quads))
        elements.sort(key=lambda element: element.time_ms)
        return elements, flaws


def read_row_stream(iri: str, files: Sequence[str], options: MappingOptions) -> RowStream:
    """Read the mapping and the files of a stream; raises what `element_mapping` does, and for files that are none."""
    mapping = element_mapping(options, _nothing)
    rows = [rows_of_file(Path(file), mapping.rows.source) for file in files]
    return RowStream(iri, mapping, cast("list[ArrowRows | JsonRows]", rows))


def _nothing(name: str) -> None:
    return None


def replay_rows(
    engine: Engine,
    streams: Iterable[RowStream],
    recordings: Mapping[str, RecordedStream],
    arrival_order: bool = False,
    after_each: Callable[[], object] = lambda: None,
) -> None:
    """Push the rows of streams, and the elements of recordings, in order of time, and end their streams.

    They are pushed in chunks, each of all streams up to a time, and what lies before a chunk is evaluated first. In
    arrival order they are pushed one by one instead, each stream in the order of its files.
    """
    parts: list[_Part] = []
    for stream in streams:
        for file in stream.columns(not arrival_order):
            parts.append(_RowPart(engine, file))
    for iri, recording in recordings.items():
        parts.append(_ElementPart(engine, iri, recording.elements))
    known = (part.times[part.times != _NO_TIME] for part in parts)
    engine.parts.horizon.begin_replay(t for times in known for t in times.tolist())
    if arrival_order:
        arriving = [np.maximum.accumulate(part.times) for part in parts]
        placed = sorted(
            (int(time), n, row)
            for n, times in enumerate(arriving)
            for row, time in enumerate(times)
        )
        for _, n, row in placed:
            parts[n].push(row, row + 1)
            after_each()
    else:
        _in_chunks(engine, parts, after_each)
    engine.finish()
    after_each()


def row_reports(streams: Iterable[RowStream]) -> dict[str, RecordedStream]:
    """What there is to report of streams of rows beside what the streams count themselves: nothing."""
    return {stream.iri: RecordedStream() for stream in streams}


def _in_chunks(engine: Engine, parts: Sequence[_Part], after_each: Callable[[], object]) -> None:
    places = [0] * len(parts)
    while any(place < len(part.times) for place, part in zip(places, parts, strict=True)):
        left = [
            (part, place)
            for part, place in zip(parts, places, strict=True)
            if place < len(part.times)
        ]
        begin = min(int(part.times[place]) for part, place in left)
        last = min(
            int(part.times[min(place + _CHUNK_ROWS, len(part.times)) - 1]) for part, place in left
        )
        if begin > -GREATEST_TIME and engine.parts.horizon.passes(begin):
            engine.advance_to(begin - 1)
        for number, part in enumerate(parts):
            until = int(np.searchsorted(part.times, last, side="right"))
            if until > places[number]:
                part.push(places[number], until)
                places[number] = until
        after_each()


class _Part:
    """A sequence of elements with their times."""

    times: np.ndarray

    def push(self, begin: int, end: int) -> None:
        raise NotImplementedError


class _RowPart(_Part):
    def __init__(self, engine: Engine, file: RowFile) -> None:
        self.times = file.times
        self._columns = file.columns
        self._stream = cast("MappedStream", engine.stream(file.iri))

    def push(self, begin: int, end: int) -> None:
        self._stream.push_columns(self._columns.slice(begin, end - begin))


class _ElementPart(_Part):
    def __init__(self, engine: Engine, iri: str, elements: Sequence[StreamElement]) -> None:
        self.times = np.array([element.time_ms for element in elements], np.int64)
        self._elements = elements
        self._stream = engine.stream(iri)

    def push(self, begin: int, end: int) -> None:
        self._stream.push_elements(self._elements[begin:end])


def _times(column: pa.ChunkedArray) -> np.ndarray:
    """Milliseconds by which rows are put in order; what is no time comes first, and is set aside when it is pushed."""
    if pa.types.is_string(column.type):
        coded = column.dictionary_encode().unify_dictionaries().combine_chunks()
        known = [_millis(text) for text in coded.dictionary.to_pylist()]
        numbers = pa.array([_NO_TIME if time is None else time for time in known], pa.int64())
        column = pa.chunked_array([numbers.take(coded.indices)])
    return cast("np.ndarray", column.fill_null(_NO_TIME).to_numpy())


def _millis(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return parse_date_time(text)
    except ValueError:
        return None


def _element(file: str, time: int, quads: Sequence[Quad]) -> StreamElement:
    names = {quad.graph.n3() for quad in quads if quad.graph is not None}
    if len(names) > 1:
        said = ", ".join(sorted(names))
        raise InputFileError(
            file, None, None, f"a row makes quads of several graphs ({said}): not to be checked"
        )
    inside = tuple(q._replace(graph=None).nquads() for q in quads if q.graph is not None)
    outside = tuple(q.nquads() for q in quads if q.graph is None)
    if not names:
        return StreamElement(time, None, outside)
    return StreamElement(time, next(iter(names)), inside, None, outside)
