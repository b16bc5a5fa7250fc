"""The statements of one RDF file, read and checked as loading does, without loading them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from static_data.errors import MalformedRdfError
from static_data.jvm import extension
from static_data.rdf_formats import RdfFormat, format_of
from static_data.rdf_reader import lines_of, read_lines, unpacked
from static_data.rdf_version import RdfVersion
from static_data.source_files import SourceFile, remote_content


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
    kind = format_of(str(file), format).rdf
    return _canonical(spark, str(file), kind, read_lines(file, kind, base_iri, version), version)


def triples_of(
    spark: SparkSession, source: SourceFile, version: RdfVersion = RdfVersion.STAR
) -> str:
    """As `read_statements`, of a file wherever it is; a statement that names a graph is malformed."""
    path, kind = source.local_path, source.format
    if path is not None:
        lines = read_lines(path, kind.rdf, version=version)
    else:
        content = remote_content(spark, source.name)
        lines = lines_of(
            source.name, kind, source.uri, lambda: unpacked(content, kind.compression), version
        )
    return _canonical(spark, source.name, kind.rdf, lines, version, one_graph=True)


def malformed(name: str, kind: RdfFormat, problem: Any) -> MalformedRdfError:
    """What the extension found wrong with a line, as an error.

    A line that was made of another format has no place in the file: the statement tells where it is.
    """
    if kind.line_based or problem.text() is None:
        line, column = problem.line() or None, problem.column() or None
        return MalformedRdfError(name, line, column, problem.message())
    return MalformedRdfError(name, None, None, f"{problem.message()} in: {problem.text()}")


def _canonical(
    spark: SparkSession,
    name: str,
    kind: RdfFormat,
    lines: Iterable[str],
    version: RdfVersion,
    one_graph: bool = False,
) -> str:
    reader = extension(spark).CanonicalLines(
        kind is not RdfFormat.N_TRIPLES and not one_graph,
        version is RdfVersion.RDF_1_2 and kind.line_based,
    )
    result = reader.read("\n".join(lines))
    problem = reader.problem()
    if problem is not None:
        raise malformed(name, kind, problem)
    return str(result)
