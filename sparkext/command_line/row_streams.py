"""Streams of rows for the commands: files of CSV, JSON or Parquet with a mapping."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sparkext.errors import InputFileError
from sparkext.recorded_streams import (
    StreamElement,
)
from sparkext.runtime.streams.replayed_rows import RowsFile, check_rows
from sparkext.runtime.streams.stream_mapping import (
    ElementMapping,
    MappingOptions,
    element_mapping,
)
from sparkext.s2r.event_time import parse_date_time
from static_data.errors import MappedRowError
from static_data.mappings.lexical_forms import XSD_DATE, NaturalValue
from static_data.mappings.materialise import Materialiser, Quad
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import row_blocks, rows_of_source, whole_rows
from static_data.terms import XSD_DOUBLE


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
class RowStream:
    """A stream of rows: what its mapping says, and the rows of its files."""

    iri: str
    mapping: ElementMapping
    files: Sequence[Sequence[ArrowRows | JsonRows]]

    def elements(self, options: MappingOptions) -> tuple[list[StreamElement], list[str]]:
        """The elements as an oracle reads them, in order of time, and what is wrong with each other row.

        Raises InputFileError for rows with quads of several named graphs.
        """
        mapped = self.mapping.rows
        others = [source for source in mapped.parents() if source != mapped.source]
        parents = {s: rows_of_source(s, str(options.file), _nothing) for s in others}
        elements: list[StreamElement] = []
        flaws: list[str] = []
        for file in self.files:
            before = 0
            for rows in file:
                materialiser = Materialiser(mapped, parents)
                odd: dict[int, str] = {}
                times = rows.values(self.mapping.time, odd)
                for place, quads in enumerate(materialiser.quads_by_row(rows)):
                    time = _millis(times[place][0]) if times[place] else None
                    row = f"row {before + place + 1}"
                    if place in odd:
                        flaws.append(f"{row}: {odd[place]}")
                    elif time is None:
                        flaws.append(f"{row}: no time")
                    elif isinstance(quads, MappedRowError):
                        flaws.append(f"{row}: {quads.message}")
                    else:
                        elements.append(_element(str(options.file), time, quads))
                before += len(rows)
        elements.sort(key=lambda element: element.time_ms)
        return elements, flaws


def read_row_stream(
    iri: str, files: Sequence[str], options: MappingOptions, lenient: bool
) -> RowStream:
    """Read the mapping and the files of a stream; raises what `element_mapping` does, and for files that are none.

    For `lenient` see `row_blocks`.
    """
    mapping = element_mapping(options, _nothing)
    blocks = [list(row_blocks(Path(file), mapping.rows.source, lenient)) for file in files]
    return RowStream(iri, mapping, [whole_rows(found) for found in blocks])


def _nothing(name: str) -> None:
    return None


def checked_rows(
    mappings: Mapping[str, MappingOptions], files: Mapping[str, Sequence[str]], lenient: bool
) -> dict[str, list[RowsFile]]:
    """The files of streams that have a mapping, to be replayed; raises what is found wrong with their beginnings."""
    found = {}
    for iri, options in mappings.items():
        mapping = element_mapping(options, _nothing)
        # None of a live stream, nor where only a plan is asked for.
        found[iri] = [RowsFile(file, Path(file)) for file in files.get(iri, ())]
        for file in found[iri]:
            check_rows(file, mapping, lenient)
    return found


def _millis(value: NaturalValue) -> int | None:
    """Of a date midnight in UTC, of a number with a fraction what is before it; None for what is no time."""
    text = value.lexical
    if value.datatype == XSD_DOUBLE:
        number = float(text)
        return math.floor(number) if math.isfinite(number) else None
    if value.datatype == XSD_DATE:
        text += "T00:00:00Z"
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
