"""Any RDF file as a stream of canonical N-Quads-star lines.

Turtle, TriG, RDF/XML and JSON-LD are parsed by pyoxigraph, as a stream. Lines of N-Triples and
N-Quads files are passed through as they are: the reader in the JVM validates them. Blank nodes
without a label get labels that are the same at every reading, because Spark may run a task twice.
"""

from __future__ import annotations

import bz2
import gzip
import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pyoxigraph as ox

from static_data.errors import MalformedRdfError, MissingFileError
from static_data.rdf_formats import Compression, FileFormat, RdfFormat, format_of
from static_data.rdf_version import RdfVersion
from static_data.reifiers import GENERATED_LABEL, fold_all, fold_stream

_PARSERS = {
    RdfFormat.TURTLE: ox.RdfFormat.TURTLE,
    RdfFormat.TRIG: ox.RdfFormat.TRIG,
    RdfFormat.RDF_XML: ox.RdfFormat.RDF_XML,
    RdfFormat.JSON_LD: ox.RdfFormat.JSON_LD,
}
_STAR_FORMATS = (RdfFormat.TURTLE, RdfFormat.TRIG)
_SCAN_BYTES = 1 << 20
_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"})
_XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

ByteStream = IO[bytes] | gzip.GzipFile | bz2.BZ2File
Opener = Callable[[], ByteStream]


def read_lines(
    file: str | Path,
    format: str | RdfFormat | None = None,
    base_iri: str | None = None,
    version: RdfVersion = RdfVersion.STAR,
) -> Iterator[str]:
    """Yield the statements of a local file as N-Quads-star lines, without line ends.

    `format` overrides what the name says; `base_iri` defaults to the file's own IRI. Blank node
    labels are those of the file: whoever merges files scopes them. Raises UnsupportedFormatError,
    MissingFileError, MalformedRdfError.
    """
    path = Path(file)
    kind = format_of(str(file), format)
    if not path.is_file():
        raise MissingFileError(str(file), "is a folder" if path.is_dir() else "no such file")
    base = path.absolute().as_uri() if base_iri is None else base_iri
    return lines_of(str(file), kind, base, lambda: open_unpacked(path, kind.compression), version)


def open_unpacked(path: Path, compression: Compression) -> ByteStream:
    """Open a file for reading its unpacked bytes."""
    if compression is Compression.GZIP:
        return gzip.open(path, "rb")
    if compression is Compression.BZIP2:
        return bz2.open(path, "rb")
    return path.open("rb")


def unpacked(content: bytes, compression: Compression) -> ByteStream:
    """The unpacked bytes of a file that is in memory, as an open file."""
    if compression is Compression.GZIP:
        return gzip.open(io.BytesIO(content), "rb")
    if compression is Compression.BZIP2:
        return bz2.open(io.BytesIO(content), "rb")
    return io.BytesIO(content)


def lines_of(
    name: str,
    kind: FileFormat,
    base_iri: str,
    opener: Opener,
    version: RdfVersion = RdfVersion.STAR,
) -> Iterator[str]:
    """Yield N-Quads-star lines from whatever `opener` opens; `name` is for error messages.

    `opener` may be called more than once and must give the same bytes each time.
    """
    try:
        if kind.rdf.line_based:
            with opener() as stream:
                for raw in stream:
                    yield raw.decode("utf-8").rstrip("\r\n")
        else:
            yield from _parsed_lines(kind.rdf, base_iri, opener, version)
    except SyntaxError as error:
        message = _without_place(error.msg)
        raise MalformedRdfError(name, error.lineno, error.offset, message) from None
    except UnicodeDecodeError as error:
        raise MalformedRdfError(name, None, None, f"not UTF-8: {error.reason}") from None
    except (EOFError, gzip.BadGzipFile, OSError, ValueError) as error:
        if kind.compression is Compression.NONE:
            raise
        packing = kind.compression.value
        raise MalformedRdfError(name, None, None, f"broken .{packing} file: {error}") from None


def _without_place(message: str) -> str:
    return re.sub(r"^Parser error at (line \d+ )?(between )?.*?: ", "", message, count=1)


def _parsed_lines(
    rdf: RdfFormat, base_iri: str, opener: Opener, version: RdfVersion
) -> Iterator[str]:
    write = _LineWriter()
    with opener() as stream:
        source: Any = stream
        quads: Iterable[Any] = ox.parse(source, format=_PARSERS[rdf], base_iri=base_iri)
        if rdf in _STAR_FORMATS and version is RdfVersion.STAR:
            # Only a file that spells out rdf:reifies can use a generated blank node as an explicit
            # reifier.
            spelt = _find(opener, rb"reifies", 16)
            if spelt:
                written = {m.decode() for m in _find(opener, rb"_:([a-f][0-9a-f]{20,31})", 64)}
                quads = fold_all(quads, written)
            else:
                quads = fold_stream(quads)
        for quad in quads:
            yield write.line(quad)


def _find(opener: Opener, pattern: bytes, longest: int) -> set[bytes]:
    """All distinct matches of `pattern` (no longer than `longest` bytes) in the file."""
    found: set[bytes] = set()
    regex = re.compile(pattern)
    with opener() as stream:
        tail = b""
        while block := stream.read(_SCAN_BYTES):
            text = tail + block
            found.update(regex.findall(text))
            tail = text[-longest:]
    return found


class _LineWriter:
    """Writes quads as lines, with repeatable labels for blank nodes that the parser made up."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}

    def line(self, quad: Any) -> str:
        if isinstance(quad, ox.Quad):
            text = str(quad)
            # The text of the library is canonical unless one of these occurs: most lines take this
            # way.
            if "_:" not in text and "\\" not in text and "<<" not in text:
                return text + " ."
        parts = [self._term(quad[0]), self._term(quad[1]), self._term(quad[2])]
        if not isinstance(quad[3], ox.DefaultGraph):
            parts.append(self._term(quad[3]))
        return " ".join(parts) + " ."

    def _term(self, term: Any) -> str:
        if isinstance(term, ox.NamedNode):
            return f"<{term.value}>"
        if isinstance(term, ox.Literal):
            text = str(term)
            if "\\" not in text:
                return text
            quoted = f'"{term.value.translate(_ESCAPES)}"'
            return quoted + _literal_suffix(term)
        if isinstance(term, ox.BlankNode):
            return "_:" + self._label(term.value)
        subject, predicate, object_ = (self._term(part) for part in term)
        return f"<< {subject} {predicate} {object_} >>"

    def _label(self, label: str) -> str:
        if GENERATED_LABEL.fullmatch(label):
            known = self._labels.get(label)
            if known is None:
                known = f"anon-{len(self._labels)}"
                self._labels[label] = known
            return known
        # Keeps written labels apart from the made-up ones; digits never start with an x.
        return f"anon-x{label[5:]}" if label.startswith("anon-") else label


def _literal_suffix(term: Any) -> str:
    if term.language:
        direction = getattr(term, "direction", None)
        ending = f"--{direction!s}" if direction is not None else ""
        return f"@{term.language.lower()}{ending}"
    return "" if term.datatype.value == _XSD_STRING else f"^^<{term.datatype.value}>"
