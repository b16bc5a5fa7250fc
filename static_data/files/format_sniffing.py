"""Format and packing of a file whose name does not tell them, from how it begins."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from static_data.blank_node_labels import LABEL
from static_data.errors import MalformedRdfError, UnsupportedFormatError
from static_data.files.packings import (
    BROKEN,
    ByteStream,
    Compression,
    open_unpacked,
    packing_of,
    zipped_name,
)
from static_data.files.rdf_formats import FileFormat, RdfFormat, named_format

HEAD_BYTES = 1 << 16
"""So many bytes of an unpacked file tell its format."""

_BLANK_OR_COMMENT = re.compile(r"(?:\s+|#[^\r\n]*)*+")
_XML = re.compile(
    r"<(?:\?xml|!--|!DOCTYPE|[A-Za-z_][\w.\-]*(?::[\w.\-]+)?(?:\s+xmlns|\s+[\w:]+\s*=))"
)
_JSON = re.compile(r"\[\s*[{\"]|\{\s*[\"}]|\[\s*\]\s*\Z")
_IRI = r"<[^\s<>]*>"
_NODE = rf"(?:{_IRI}|_:{LABEL})"
_LITERAL = rf"\"(?:[^\"\\]|\\.)*\"(?:@[A-Za-z0-9\-]+|\^\^{_IRI})?"
_STATEMENT = re.compile(
    rf"[ \t]*(?:\#.*|(?:{_NODE}|<<.*>>)[ \t]*{_IRI}[ \t]*(?:{_NODE}|{_LITERAL}|<<.*>>)"
    rf"[ \t]*(?:{_NODE})?[ \t]*\.[ \t]*(?:\#.*)?)?"
)


def format_of_content(head: bytes) -> RdfFormat | None:
    """The RDF format by the first bytes of a file, unpacked; None when it is no text.

    Lines that are all statements of N-Quads are read as these, which N-Triples are, too; any other
    text as TriG, which Turtle is, too.

    >>> format_of_content(b"<http://e/s> <http://e/p> _:o .")
    <RdfFormat.N_QUADS: 'nq'>
    >>> format_of_content(b"@prefix : <http://e/> . :s :p :o .")
    <RdfFormat.TRIG: 'trig'>
    >>> format_of_content(b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>')
    <RdfFormat.RDF_XML: 'rdf'>
    >>> format_of_content(b'{"@id": "http://e/s"}')
    <RdfFormat.JSON_LD: 'jsonld'>
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) or re.match(rb"\x00<|<\x00", head):
        return RdfFormat.RDF_XML
    if b"\x00" in head:
        return None
    # A character may be cut at the end; XML may be in another encoding, which Latin-1 lets through.
    text = head.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    if _XML.match(text.lstrip()):
        return RdfFormat.RDF_XML
    text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    begin = _BLANK_OR_COMMENT.match(text)
    assert begin is not None
    if begin.end() == len(text.rstrip()) or begin.end() == len(text):
        return RdfFormat.TRIG
    if _JSON.match(text, begin.end()):
        return RdfFormat.JSON_LD
    lines = re.split(r"\r\n|\r|\n", text)
    whole = lines if len(head) < HEAD_BYTES else lines[:-1]
    if whole and all(_STATEMENT.fullmatch(line) for line in whole):
        return RdfFormat.N_QUADS
    return RdfFormat.TRIG


def told_format(
    name: str,
    format: str | RdfFormat | None,
    opener: Callable[[Compression], ByteStream],
    path: Path | None = None,
) -> FileFormat:
    """Format and packing of a file by its name, or where that has no ending by its content.

    `opener` opens the file, unpacked as told; `path` is where it is, if it is here. Raises
    UnsupportedFormatError, and MalformedRdfError for a file that is packed wrongly.
    """
    rdf, compression = named_format(name, format)
    stem = name.rsplit("/", 1)[-1]
    if compression is Compression.NONE and "." not in stem.lstrip("."):
        with opener(Compression.NONE) as stream:
            compression = packing_of(stream.read(8))
    if rdf is not None:
        return FileFormat(rdf, compression)
    try:
        if compression is Compression.ZIP and path is not None:
            rdf, inner = named_format(zipped_name(path))
            if inner is not Compression.NONE:
                raise UnsupportedFormatError(name, f"a .{inner.value} file in a .zip is not read")
            if rdf is not None:
                return FileFormat(rdf, compression)
        with opener(compression) as stream:
            rdf = format_of_content(stream.read(HEAD_BYTES))
    except BROKEN as error:
        if compression is Compression.NONE:
            raise
        message = f"broken .{compression.value} file: {error}"
        raise MalformedRdfError(name, None, None, message) from None
    if rdf is None:
        raise UnsupportedFormatError(name, "is no text: cannot tell the RDF format; state it")
    return FileFormat(rdf, compression)


def told_format_here(name: str, format: str | RdfFormat | None = None) -> FileFormat:
    """As `told_format`, of a local file that is there, or any other if its name tells."""
    path = Path(name.removeprefix("file://"))
    if "://" in str(path) or not path.is_file():
        rdf, compression = named_format(name, format)
        return FileFormat(rdf or RdfFormat.TRIG, compression)
    return told_format(name, format, lambda packing: open_unpacked(path, packing), path)
