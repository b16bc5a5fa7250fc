"""Static data that are rows: tables and files of them, and a mapping that says which triples they stand for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

from sparkext.argument_checks import check
from sparkext.runtime.streams.given_rows import finder_of, table_of
from sparkext.runtime.streams.stream_mapping import MappingOptions
from static_data.errors import MappedRowError
from static_data.files.on_error import OnError, Skipped, write_skipped
from static_data.mappings.materialise import Materialiser
from static_data.mappings.read_mapping import read_mapping
from static_data.mappings.row_mapping import MappedRows, RowMapping
from static_data.mappings.rows import ArrowRows, JsonRows, Rows, along
from static_data.mappings.source_rows import RowsFinder, rows_of_file, rows_of_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.parts.engine_parts import EngineParts
    from static_data.loading.load import LoadReport


def load_rows(
    parts: EngineParts,
    given: object,
    options: MappingOptions,
    graph: str | None = None,
    progress: bool | None = None,
    on_error: str = "fail",
    skipped_file: str | Path | None = None,
) -> LoadReport:
    """Load what a mapping makes of rows, see `mapped_quads`, as `StaticStore.load` loads files."""
    way = OnError.named(on_error)
    with mapped_quads(parts.spark, given, options, way) as (file, skipped):
        said_in = write_skipped(skipped, skipped_file) if skipped else None
        report = parts.store.load(file, graph=graph, progress=progress)
    return replace(report, skipped=len(skipped), skipped_file=said_in)


@contextmanager
def mapped_quads(
    spark: SparkSession, given: object, options: MappingOptions, on_error: OnError
) -> Iterator[tuple[str, list[Skipped]]]:
    """A file of N-Quads with what a mapping makes of rows, and the rows that were left out.

    `given` is a table or a file of rows of one of the mapping's sources, or several, or None: the rows of all sources
    of the mapping, as far as it has triples for them. Raises MappingError, MissingFileError, and MappedRowError for a
    row of which a term cannot be made where `on_error` does not skip it.
    """
    mapping = read_mapping(options.file, options.base_iri)
    finder = finder_of(options.tables, spark)
    skipped: list[Skipped] = []
    with NamedTemporaryFile("w", suffix=".nq", encoding="utf-8", newline="") as out:
        for mapped, rows in _inputs(mapping, given, options, finder):
            others = [source for source in mapped.parents() if source != mapped.source]
            parents = {s: rows_of_source(s, str(options.file), finder) for s in others}
            if mapped.source in mapped.parents():
                parents[mapped.source] = rows
            number = 0
            for number, quads in enumerate(Materialiser(mapped, parents).quads_by_row(rows), 1):
                if not isinstance(quads, MappedRowError):
                    out.writelines(f"{quad.nquads()}\n" for quad in quads)
                elif on_error is OnError.SKIP:
                    skipped.append(
                        Skipped(mapped.source.name, None, None, f"row {number}: {quads.message}")
                    )
                else:
                    raise quads
        out.flush()
        yield out.name, skipped


def _inputs(
    mapping: RowMapping, given: object, options: MappingOptions, finder: RowsFinder
) -> Iterator[tuple[MappedRows, Rows]]:
    """Rows, and what the mapping says of each."""
    if given is None:
        wanted = [r for r in mapping.rows if options.logical_source in (None, r.source.name)]
        for mapped in wanted or [mapping.of_source(options.logical_source)]:
            yield mapped, rows_of_source(mapped.source, mapping.file, finder)
        return
    mapped = mapping.of_source(options.logical_source)
    source = mapped.source
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, str | Path):
            yield mapped, rows_of_file(Path(check.path("files", one)), source)
            continue
        table = table_of("files", one)
        if source.iterator:
            documents = table.to_pylist()
            rows = [row for document in documents for row in along(document, source.iterator)]
            yield mapped, JsonRows(rows, source)
        else:
            yield mapped, ArrowRows(table, source, source.place)
