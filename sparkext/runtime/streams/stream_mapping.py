"""What elements are made of where they are rows: a mapping, the rows it joins with, the column of the time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from sparkext.argument_checks import check
from sparkext.recorded_streams import TIME_PROPERTIES
from static_data.mappings.program import RowProgram, program_of
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.row_mapping import (
    ConstantTerm,
    GeneratedTerm,
    MappedRows,
    Place,
    Reference,
)
from static_data.mappings.source_rows import RowsFinder, rows_of_source
from static_data.mappings.term_maps import reference_of
from static_data.terms import Iri


@dataclass(frozen=True)
class MappingOptions:
    """A mapping file, R2RML, RML or YARRRML, and what else is to be said of it.

    `time` is the column, or path into JSON, of an element's time; without it, what the mapping makes the object of
    prov:generatedAtTime or sosa:resultTime. `logical_source` is which of the mapping's sources the rows are of, where
    it has several that are not only joined with. `base_iri` is put before relative IRIs that rows make. `tables` are
    the rows to join with, tables or files by the name of the source; without them, they are files beside the mapping,
    or tables of Spark.
    """

    file: str | Path
    time: str | None = None
    logical_source: str | None = None
    base_iri: str | None = None
    tables: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        given: str | Path | MappingOptions,
        time: str | None = None,
        base_iri: str | None = None,
    ) -> MappingOptions:
        """The same, or those of a file; what else is given comes before what it says."""
        if not isinstance(given, MappingOptions):
            given = cls(check.path("mapping", given, "a path, or MappingOptions"))
        if time is not None:
            check.text("time", time, "the name of a column")
        if base_iri is not None:
            check.iri("base_iri", base_iri)
        return replace(given, time=time or given.time, base_iri=base_iri or given.base_iri)


@dataclass(frozen=True)
class ElementMapping:
    """What a row stands for as an element: its quads, the reference to its time, and both for the JVM."""

    rows: MappedRows
    time: Reference
    program: RowProgram


def element_mapping(options: MappingOptions, given: RowsFinder) -> ElementMapping:
    """Read a mapping and the rows that it joins with.

    Raises MappingError, MissingFileError, UnsupportedFormatError, MalformedRdfError, and MappedRowError for a row to
    join with that is wrong.
    """
    rows = read_mapping(options.file, options.base_iri).of_source(options.logical_source)
    file = str(options.file)
    others = [source for source in rows.parents() if source != rows.source]
    parents = {source: rows_of_source(source, file, given) for source in others}
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
