"""RDF format and compression of a file, from its name or as stated by the caller."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from static_data.errors import UnsupportedFormatError
from static_data.files.packings import Compression

__all__ = ["Compression", "FileFormat", "RdfFormat", "format_of", "named_format"]


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


@dataclass(frozen=True)
class FileFormat:
    """What a file holds and how it is packed."""

    rdf: RdfFormat
    compression: Compression


_EXTENSIONS = {
    "nt": RdfFormat.N_TRIPLES,
    "ntriples": RdfFormat.N_TRIPLES,
    "nq": RdfFormat.N_QUADS,
    "nquads": RdfFormat.N_QUADS,
    "ttl": RdfFormat.TURTLE,
    "turtle": RdfFormat.TURTLE,
    "n3": RdfFormat.TURTLE,
    "trig": RdfFormat.TRIG,
    "rdf": RdfFormat.RDF_XML,
    "xml": RdfFormat.RDF_XML,
    "owl": RdfFormat.RDF_XML,
    "jsonld": RdfFormat.JSON_LD,
    "json": RdfFormat.JSON_LD,
}
_NAMES = _EXTENSIONS | {"rdfxml": RdfFormat.RDF_XML}
_COMPRESSIONS = {c.value: c for c in Compression if c is not Compression.NONE}
_KNOWN = ", ".join("." + e for e in _EXTENSIONS)


def named_format(
    file: str, format: str | RdfFormat | None = None
) -> tuple[RdfFormat | None, Compression]:
    """What name and `format` tell; the RDF format is None when the name has no ending to tell it by.

    Extensions count in any case. The compression always comes from the name. Raises
    UnsupportedFormatError, naming the file, for an ending or a `format` that is not known.

    >>> named_format("dump.gz")
    (None, <Compression.GZIP: 'gz'>)
    """
    name = file.rstrip("/").rsplit("/", 1)[-1].lower()
    stem, _, extension = name.rpartition(".")
    compression = _COMPRESSIONS.get(extension, Compression.NONE) if stem else Compression.NONE
    if compression is not Compression.NONE:
        name = stem
        stem, _, extension = stem.rpartition(".")
    if isinstance(format, RdfFormat):
        return format, compression
    if format is not None:
        stated = _NAMES.get(format.lower().lstrip(".").replace("-", "").replace("/", ""))
        if stated is None:
            raise UnsupportedFormatError(file, f"unknown RDF format {format!r}; known: {_KNOWN}")
        return stated, compression
    if not stem:
        return None, compression
    by_name = _EXTENSIONS.get(extension)
    if by_name is None:
        packed = ", ".join("." + ending for ending in _COMPRESSIONS)
        raise UnsupportedFormatError(
            file,
            f"cannot tell the RDF format from this name; known: {_KNOWN}, each also with"
            f" {packed}; or state the format",
        )
    return by_name, compression


def format_of(file: str, format: str | RdfFormat | None = None) -> FileFormat:
    """Tell format and compression of `file`; `format` overrides what the name says.

    Raises UnsupportedFormatError, naming the file, when the format stays unknown; see
    `static_data.files.format_sniffing` for files whose names have no ending.

    >>> format_of("people.ttl.gz")
    FileFormat(rdf=<RdfFormat.TURTLE: 'ttl'>, compression=<Compression.GZIP: 'gz'>)
    >>> format_of("dump", "N-Quads").rdf
    <RdfFormat.N_QUADS: 'nq'>
    """
    rdf, compression = named_format(file, format)
    if rdf is None:
        raise UnsupportedFormatError(
            file, f"cannot tell the RDF format from this name; known: {_KNOWN}; or state the format"
        )
    return FileFormat(rdf, compression)
