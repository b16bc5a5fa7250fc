"""A stream whose elements are rows: a mapping says which triples a row makes, and which of its columns is the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sparkext.recorded_streams import TIME_PROPERTIES
from sparkext.runtime.streams.mapped_columns import columns_of
from static_data.jvm import extension
from static_data.mappings.program import RowProgram, program_of
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.row_mapping import (
    ConstantTerm,
    GeneratedTerm,
    MappedRows,
    Place,
    Reference,
)
from static_data.mappings.rows import ArrowRows, JsonRows
from static_data.mappings.source_rows import TableFinder, rows_of_source
from static_data.mappings.term_maps import reference_of
from static_data.terms import Iri

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class MappingOptions:
    """What is said of a stream's mapping: see `Engine.register_stream`."""

    file: str | Path
    time: str | None = None
    logical_source: str | None = None
    base_iri: str | None = None
    tables: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class ElementMapping:
    """What a row stands for as an element: its quads, and the reference to its time."""

    rows: MappedRows
    time: Reference
    program: RowProgram


def element_mapping(options: MappingOptions, tables: TableFinder) -> ElementMapping:
    """Read a mapping and the rows that it joins with.

    Raises MappingError, MissingFileError, UnsupportedFormatError, MalformedRdfError, and MappedRowError for a row to
    join with that is wrong.
    """
    rows = read_mapping(options.file, options.base_iri).of_source(options.logical_source)
    file = str(options.file)
    others = [source for source in rows.parents() if source != rows.source]
    parents = {source: rows_of_source(source, file, tables) for source in others}
    time = _time(rows, options.time, file)
    return ElementMapping(rows, time, program_of(rows, parents))


def _time(rows: MappedRows, stated: str | None, file: str) -> Reference:
    """The reference to the time: the one that is stated, or what is the object of prov:generatedAtTime or the like."""
    place = Place(file)
    if stated is not None:
        return reference_of(rows.source, stated, place, "time")
    found: dict[Reference, None] = {}
    for quad in rows.quads:
        predicate = quad.predicate
        if not isinstance(predicate, ConstantTerm) or not isinstance(predicate.term, Iri):
            continue
        if predicate.term.value not in TIME_PROPERTIES:
            continue
        value = quad.object
        if isinstance(value, GeneratedTerm) and not value.template:
            found.update(dict.fromkeys(value.references))
    if len(found) != 1:
        said = "several columns" if found else "no column"
        raise place.error(
            f"{said} of {rows.source.name} may be the time of an element, by prov:generatedAtTime or"
            " sosa:resultTime: say which (time=)"
        )
    return next(iter(found))


class StreamMapping:
    """The mapping of one stream, compiled; `log` is its StreamLog in the JVM."""

    def __init__(
        self, spark: SparkSession, log: Any, mapping: ElementMapping, distinct: bool
    ) -> None:
        self._mapping = mapping
        self._jvm = extension(spark).mapped.MappedStream(log, mapping.program.json, distinct)

    def columns(self, given: pa.Table | JsonRows) -> pa.Table:
        """What the JVM reads of rows; raises MappingError for columns that are not there."""
        mapping = self._mapping
        source = mapping.rows.source
        rows = given if isinstance(given, JsonRows) else ArrowRows(given, source, source.place)
        return columns_of(rows, mapping.program.columns, mapping.time)

    def take(self, columns: pa.Table, handover: Any, rules: str, all_or_nothing: bool) -> str:
        """Have the log take in rows; what became of them, as Intake.scala writes it."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, columns.schema) as writer:
            writer.write_table(columns.combine_chunks())
        length = handover.write(memoryview(sink.getvalue()))
        outcome: str = self._jvm.take(handover.jvm, length, all_or_nothing, rules)
        return outcome

    def close(self) -> None:
        """Let go of the terms that the mapping holds."""
        self._jvm.close()
