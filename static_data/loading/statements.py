"""The statements of one RDF file, read and checked as loading does, without loading them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from static_data.errors import MalformedRdfError
from static_data.files.format_sniffing import told_format_here
from static_data.files.on_error import Skipped
from static_data.files.packings import ByteStream, open_unpacked, unpacked
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_reader import entries_of, read_lines
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading
from static_data.jvm import elements, extension
from static_data.loading.source_files import SourceFile, remote_content


def read_statements(
    spark: SparkSession,
    file: str | Path,
    format: str | RdfFormat | None = None,
    base_iri: str | None = None,
    version: RdfVersion = RdfVersion.STAR,
) -> str:
    """The file as N-Quads text in canonical form, one statement a line, in the file's order.

    `format` overrides what the name says; `base_iri` defaults to the file's own IRI. Raises UnsupportedFormatError,
    MissingFileError, MalformedRdfError.
    """
    lines = read_lines(file, format, base_iri, version)
    first = list(islice(lines, 1))  # the file is there
    kind = told_format_here(str(file), format).rdf
    return canonical_lines(spark, str(file), kind, chain(first, lines), Reading(version))


def triples_of(
    spark: SparkSession, source: SourceFile, reading: Reading, skipped: list[Skipped] | None = None
) -> str:
    """As `read_statements`, of a file wherever it is; a statement that names a graph is malformed.

    What is left out is added to `skipped`.
    """
    path, kind = source.local_path, source.format
    content = None if path is not None else remote_content(spark, source.name)

    def opener() -> ByteStream:
        if content is not None:
            return unpacked(content, kind.compression, reading.most_expansion)
        assert path is not None
        return open_unpacked(path, kind.compression, reading.most_expansion)

    lines = []
    for entry in entries_of(source.name, kind, source.uri, opener, reading):
        if isinstance(entry, str):
            lines.append(entry)
        else:
            # Lines keep their numbers.
            lines += [""] * kind.rdf.line_based
            if skipped is not None:
                skipped.append(as_skipped(entry))
    return canonical_lines(spark, source.name, kind.rdf, lines, reading, True, skipped)


def malformed(name: str, kind: RdfFormat, problem: Any) -> MalformedRdfError:
    """What the extension found wrong with a line, as an error.

    A line that was made of another format has no place in the file: the statement tells where it is.
    """
    if kind.line_based or problem.text() is None:
        line, column = problem.line() or None, problem.column() or None
        return MalformedRdfError(name, line, column, problem.message())
    return MalformedRdfError(name, None, None, f"{problem.message()} in: {problem.text()}")


def skipped_problems(load: Any) -> Iterator[Any]:
    """What was wrong with the statements that a load left out, fetched some thousands at a time until it is closed."""
    for group in range(load.skippedGroups()):
        yield from elements(load.skipped(group))


def as_skipped(error: MalformedRdfError, text: str | None = None) -> Skipped:
    """An error as an entry about what was left out."""
    return Skipped(error.file, error.line, error.column, error.message, text)


def canonical_lines(
    spark: SparkSession,
    name: str,
    kind: RdfFormat,
    lines: Iterable[str],
    reading: Reading,
    one_graph: bool = False,
    skipped: list[Skipped] | None = None,
) -> str:
    """Lines of N-Quads-star, made of a file of that kind, checked and in canonical form; raises MalformedRdfError."""
    reader = extension(spark).rdf.CanonicalLines(
        kind is not RdfFormat.N_TRIPLES and not one_graph,
        reading.version is RdfVersion.RDF_1_2 and kind.line_based,
        reading.on_error.value,
    )
    result = reader.read("\n".join(lines))
    problem = reader.problem()
    if problem is not None:
        raise malformed(name, kind, problem)
    if skipped is not None:
        skipped += [
            as_skipped(malformed(name, kind, p), p.text()) for p in elements(reader.skipped())
        ]
    return str(result)
