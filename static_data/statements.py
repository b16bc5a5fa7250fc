"""The statements of one RDF file, read and checked as loading does, without loading them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

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


def statements_of(
    spark: SparkSession, source: SourceFile, version: RdfVersion = RdfVersion.STAR
) -> str:
    """As `read_statements`, of a file wherever it is."""
    path, kind = source.local_path, source.format
    if path is not None:
        return read_statements(spark, path, kind.rdf, version=version)
    content = remote_content(spark, source.name)
    lines = lines_of(
        source.name, kind, source.uri, lambda: unpacked(content, kind.compression), version
    )
    return _canonical(spark, source.name, kind.rdf, lines, version)


def _canonical(
    spark: SparkSession, name: str, kind: RdfFormat, lines: Iterable[str], version: RdfVersion
) -> str:
    reader = extension(spark).CanonicalLines(
        kind is not RdfFormat.N_TRIPLES, version is RdfVersion.RDF_1_2 and kind.line_based
    )
    result = reader.read("\n".join(lines))
    problem = reader.problem()
    if problem is not None:
        raise MalformedRdfError(name, problem.line(), problem.column(), problem.message())
    return str(result)
