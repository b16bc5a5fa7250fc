"""The statements of one local RDF file, read and checked as loading does, without loading them."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from static_data.errors import MalformedRdfError
from static_data.jvm import extension
from static_data.rdf_formats import RdfFormat, format_of
from static_data.rdf_reader import read_lines
from static_data.rdf_version import RdfVersion


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
    text = "\n".join(read_lines(file, kind, base_iri, version))
    reader = extension(spark).CanonicalLines(
        kind is not RdfFormat.N_TRIPLES, version is RdfVersion.RDF_1_2 and kind.line_based
    )
    result = reader.read(text)
    problem = reader.problem()
    if problem is not None:
        raise MalformedRdfError(str(file), problem.line(), problem.column(), problem.message())
    return str(result)
