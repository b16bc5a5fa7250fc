"""The documents of RDF of a micro-batch as stream elements."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from sparkext.recorded_streams import StreamElement
from sparkext.recorded_streams.reader import read_document
from static_data.files.on_error import OnError
from static_data.files.rdf_formats import RdfFormat
from static_data.files.rdf_version import RdfVersion

# Strings, IRIs and comments: braces in them open no graph.
_OPAQUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|<[^<>\s]*>|#[^\n]*", re.DOTALL)
_FORMATS = {"nquads": RdfFormat.N_QUADS, "trig": RdfFormat.TRIG}


@dataclass(slots=True)
class BatchElements:
    """What a batch holds: its elements, and for each one set aside the reason."""

    elements: list[StreamElement] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)


def elements_of_documents(
    documents: Iterable[str | bytes | None],
    format: str | None = None,
    version: RdfVersion = RdfVersion.STAR,
    accepts: bool = False,
) -> BatchElements:
    """Elements of whole documents; `format` is ``nquads`` or ``trig``, None to tell by the content.

    `version` tells how quoted triples are read; with `accepts`, IRIs are taken as they stand.
    """
    on_error = OnError.ACCEPT if accepts else OnError.SKIP
    found = BatchElements()
    for document in documents:
        if document is None:
            found.set_aside.append("no document (null)")
            continue
        content = (
            document.encode("utf-8", "surrogateescape") if isinstance(document, str) else document
        )
        kind = document_format(content) if format is None else _FORMATS[format]
        elements, set_aside = read_document(
            content, kind, "document", version=version, on_error=on_error
        )
        found.elements += elements
        found.set_aside += map(str, set_aside)
    return found


def document_format(content: bytes) -> RdfFormat:
    """TriG when there is a graph block, else N-Quads: in TriG an element needs one.

    >>> document_format(b'<http://e/g> { <http://e/s> <http://e/p> 1 }').name
    'TRIG'
    >>> document_format(b'<http://e/s> <http://e/p> "{" <http://e/g> .').name
    'N_QUADS'
    """
    text = content.decode("utf-8", "surrogateescape")
    blocks = "{" in text and "{" in _OPAQUE.sub("", text)
    return RdfFormat.TRIG if blocks else RdfFormat.N_QUADS
