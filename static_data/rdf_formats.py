"""RDF format and compression of a file, from its name or as stated by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from static_data.errors import UnsupportedFormatError


class RdfFormat(Enum):
    """The formats that can be read; the value is the usual file extension."""

    N_TRIPLES = "nt"
    N_QUADS = "nq"
    TURTLE = "ttl"
    TRIG = "trig"
    RDF_XML = "rdf"
    JSON_LD = "jsonld"

    @property
    def line_based(self) -> bool:
        """Whether each line stands by itself, so that a file can be cut and read in parallel."""
        return self in (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)


class Compression(Enum):
    """How the bytes of a file are packed."""

    NONE = ""
    GZIP = "gz"
    BZIP2 = "bz2"


@dataclass(frozen=True)
class FileFormat:
    """What a file holds and how it is packed."""

    rdf: RdfFormat
    compression: Compression


_EXTENSIONS = {
    "nt": RdfFormat.N_TRIPLES,
    "nq": RdfFormat.N_QUADS,
    "ttl": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdf": RdfFormat.RDF_XML,
    "xml": RdfFormat.RDF_XML,
    "owl": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
    "json": RdfFormat.JSON_LD,
}
_NAMES = _EXTENSIONS | {
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "turtle": RdfFormat.TURTLE,
    "rdfxml": RdfFormat.RDF_XML,
}
_COMPRESSIONS = {"gz": Compression.GZIP, "bz2": Compression.BZIP2}


def format_of(file: str, format: str | RdfFormat | None = None) -> FileFormat:
    """Tell format and compression of `file`; `format` overrides what the name says.

    Extensions count in any case. The compression always comes from the name.
    Raises UnsupportedFormatError, naming the file, when the format stays unknown.

    >>> format_of("people.ttl.gz")
    FileFormat(rdf=<RdfFormat.TURTLE: 'ttl'>, compression=<Compression.GZIP: 'gz'>)
    >>> format_of("dump", "N-Quads").rdf
    <RdfFormat.N_QUADS: 'nq'>
    """
    name = file.rstrip("/").rsplit("/", 1)[-1].lower()
    stem, _, extension = name.rpartition(".")
    compression = _COMPRESSIONS.get(extension, Compression.NONE) if stem else Compression.NONE
    if compression is not Compression.NONE:
        stem, _, extension = stem.rpartition(".")
    if isinstance(format, RdfFormat):
        return FileFormat(format, compression)
    known = ", ".join("." + e for e in _EXTENSIONS)
    if format is not None:
        stated = _NAMES.get(format.lower().lstrip(".").replace("-", "").replace("/", ""))
        if stated is None:
            raise UnsupportedFormatError(file, f"unknown RDF format {format!r}; known: {known}")
        return FileFormat(stated, compression)
    by_name = _EXTENSIONS.get(extension) if stem else None
    if by_name is None:
        raise UnsupportedFormatError(
            file,
            f"cannot tell the RDF format from this name; known: {known}, each also with .gz or"
            " .bz2; or state the format",
        )
    return FileFormat(by_name, compression)
