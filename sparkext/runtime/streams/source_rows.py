"""The rows of a micro-batch as stream elements: columns of terms, or documents of RDF."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sparkext.recorded_streams import StreamElement
from sparkext.recorded_streams.nquads_lines import MalformedLineError, canonical_term
from sparkext.recorded_streams.reader import read_document
from sparkext.s2r.event_time import GREATEST_TIME
from static_data.on_error import OnError
from static_data.rdf_formats import RdfFormat
from static_data.rdf_version import RdfVersion

_ABSOLUTE_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|\\^`]*")
# Strings, IRIs and comments: braces in them open no graph.
_OPAQUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|<[^<>\s]*>|#[^\n]*", re.DOTALL)
_FORMATS = {"nquads": RdfFormat.N_QUADS, "trig": RdfFormat.TRIG}


@dataclass(slots=True)
class BatchElements:
    """What a batch holds: its elements, and for each one set aside the reason."""

    elements: list[StreamElement] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """The rows of one element so far."""

    lines: list[str] = field(default_factory=list)
    flaw: str | None = None


def elements_of_rows(
    table: pa.Table, version: RdfVersion = RdfVersion.STAR, accepts: bool = False
) -> BatchElements:
    """Elements of the columns subject, predicate, object, time and perhaps graph.

    A row that is no triple with a time costs the element that it belongs to. `version` tells how quoted triples are
    read; with `accepts`, IRIs are taken as they stand.

    >>> table = pa.table({"subject": ["http://e/s"] * 2, "predicate": ["http://e/p"] * 2,
    ...                   "object": ['"1"', "oops"], "time": [5, 5]})
    >>> found = elements_of_rows(table)
    >>> [element.triples for element in found.elements]
    [('<http://e/s> <http://e/p> "1" .',)]
    >>> found.set_aside
    ["object 'oops' is not an RDF term in N-Triples syntax"]
    """
    subjects, predicates, objects = (
        _terms(table, column, version, accepts) for column in ("subject", "predicate", "object")
    )
    named = "graph" in table.column_names
    graphs = _terms(table, "graph", version, accepts) if named else [_NO_TERM] * len(table)
    times = _milliseconds(table.column("time"))
    groups: dict[tuple[str | None, int, int], _Group] = {}
    found = BatchElements()
    rows = zip(subjects, predicates, objects, graphs, times, strict=True)
    for row, (subject, predicate, object_, graph, time) in enumerate(rows):
        unplaced = graph.flaw or (
            "no time"
            if time is None
            else "time out of range"
            if abs(time) > GREATEST_TIME
            else None
        )
        if unplaced is not None or time is None:
            found.set_aside.append(unplaced or "no time")
            continue
        # Without a graph each row is an element of its own.
        place = (graph.text, time, -1 if graph.text is not None else row)
        group = groups.setdefault(place, _Group())
        flaw = subject.flaw or predicate.flaw or object_.flaw
        group.flaw = group.flaw or flaw
        if flaw is None:
            group.lines.append(f"{subject.text} {predicate.text} {object_.text} .")
    for (name, time, _), group in groups.items():
        if group.flaw is None:
            triples = tuple(dict.fromkeys(group.lines))
            found.elements.append(StreamElement(time, name, triples))
        else:
            found.set_aside.append(group.flaw if name is None else f"{name}: {group.flaw}")
    return found


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


@dataclass(frozen=True, slots=True)
class _Cell:
    """A term's canonical text, or why there is none."""

    text: str | None
    flaw: str | None = None


_NO_TERM = _Cell(None)
# What a column's canonical texts look like.
_ALLOWED = {
    "subject": re.compile(r"<|_:"),
    "predicate": re.compile(r"<(?!<)"),
    "object": re.compile(r""),
    "graph": re.compile(r"<(?!<)|_:"),
}


def _terms(table: pa.Table, column: str, version: RdfVersion, accepts: bool) -> Sequence[_Cell]:
    """The cells of a column; each distinct text is looked at once."""
    missing = _NO_TERM if column == "graph" else _Cell(None, f"no {column}")
    encoded = table.column(column).cast(pa.string()).combine_chunks().dictionary_encode()
    known = [_cell(column, text, version, accepts) for text in encoded.dictionary.to_pylist()]
    return [missing if i is None else known[i] for i in encoded.indices.to_pylist()]


def _cell(column: str, text: str, version: RdfVersion, accepts: bool) -> _Cell:
    if column != "object" and _ABSOLUTE_IRI.fullmatch(text) and not text.startswith("_:"):
        return _Cell(f"<{text}>")
    try:
        term = canonical_term(text, version, accepts)
    except MalformedLineError:
        return _Cell(None, f"{column} {text!r} is not an RDF term in N-Triples syntax")
    # RDF 1.2 has triple terms as objects only.
    misplaced = version is RdfVersion.RDF_1_2 and column != "object" and term.startswith("<<")
    if misplaced or _ALLOWED[column].match(term) is None:
        return _Cell(None, f"{term} cannot be a {column}")
    return _Cell(term)


def _milliseconds(column: pa.ChunkedArray) -> list[int | None]:
    if not pa.types.is_timestamp(column.type):
        return [None if value is None else int(value) for value in column.to_pylist()]
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[column.type.unit]
    ticks = column.cast(pa.int64()).to_pylist()
    return [None if tick is None else tick * 1000 // per_second for tick in ticks]
