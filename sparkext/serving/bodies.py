"""Bodies of requests: bytes with a media type in; JSON, stream elements, rows or lines of N-Triples out."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

from sparkext.errors import StreamElementError
from sparkext.recorded_streams.elements import StreamElement
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from sparkext.recorded_streams.reader import read_document
from sparkext.runtime.parts.pushed_times import milliseconds
from sparkext.runtime.parts.pushed_triples import ABSOLUTE_IRI, triple_lines
from sparkext.runtime.streams.mapped_stream import MappedStream
from sparkext.runtime.streams.stream import Stream
from sparkext.serving.problems import ProblemError
from sparkext.setting_types import read_instant
from static_data.errors import MalformedRdfError
from static_data.files.packings import Compression, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat
from static_data.files.rdf_reader import lines_of
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading

_RDF = {
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/n-quads": RdfFormat.N_QUADS,
    "text/turtle": RdfFormat.TURTLE,
    "application/trig": RdfFormat.TRIG,
    "application/ld+json": RdfFormat.JSON_LD,
}
_JSON_LINES = ("application/x-ndjson", "application/jsonl", "application/json-lines")
_JSON = "application/json"
_CSV = "text/csv"
_BASE = "urn:cqels:request"
_BODY = "body"
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|<<|>>')


def media_type(content_type: str | None) -> str:
    """The media type of a Content-Type header, in small letters and without parameters; its charset must be UTF-8."""
    kind, *parameters = (part.strip().lower() for part in (content_type or "").split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "charset" and value.strip().strip('"') not in (
            "utf-8",
            "utf8",
            "us-ascii",
        ):
            raise ProblemError(415, f"charset {value}: bodies are read as UTF-8")
    return kind


def text_of(content: bytes) -> str:
    """The text of a body."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProblemError(400, f"the body is not UTF-8 (byte {error.start})") from None


def json_of(text: str, line: int | None = None) -> Any:
    """The value of a JSON text, `line` of a larger one; NaN and Infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except json.JSONDecodeError as error:
        where = line or error.lineno
        raise ProblemError(400, f"no JSON: {error.msg}", line=where, column=error.colno) from None
    except (ValueError, RecursionError) as error:
        said = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ProblemError(400, f"no JSON: {said}", line=line or 1) from None


class Fields:
    """The members of a JSON object that a request sends, each asked for by name and type.

    >>> Fields({"name": 5}, ("name",)).text("name")
    Traceback (most recent call last):
    ...
    sparkext.serving.problems.ProblemError: name: a text, not 5
    """

    def __init__(self, given: object, known: tuple[str, ...]) -> None:
        if not isinstance(given, dict):
            raise ProblemError(400, f"the body: a JSON object with {', '.join(known)}")
        others = sorted(set(given) - set(known))
        if others:
            raise ProblemError(
                400, f"{others[0]!r:.60}: there is no such member; known: {', '.join(known)}"
            )
        self._given: Mapping[str, Any] = given

    def value(self, name: str) -> Any:
        """The member as it is; None where it is missing."""
        return self._given.get(name)

    def text(self, name: str) -> str:
        """A member that must be there, a text."""
        found = self._given.get(name)
        if not isinstance(found, str):
            raise ProblemError(400, f"{name}: a text, not {_shown(found)}")
        return found

    def text_or_none(self, name: str) -> str | None:
        """A member that may be missing, else a text."""
        return None if self._given.get(name) is None else self.text(name)

    def texts(self, name: str) -> list[str]:
        """A member that must be there, a list of texts, or one text."""
        found = self._given.get(name)
        if isinstance(found, str):
            return [found]
        if not isinstance(found, list) or not found or not all(isinstance(x, str) for x in found):
            raise ProblemError(400, f"{name}: a list of texts, not {_shown(found)}")
        return found

    def mapping(self, name: str) -> dict[str, Any] | None:
        """A member that may be missing, else an object."""
        found = self._given.get(name)
        if found is not None and not isinstance(found, dict):
            raise ProblemError(400, f"{name}: an object, not {_shown(found)}")
        return found


def _shown(value: object) -> str:
    return "missing" if value is None else f"{value!r:.60}"


def instant(text: object, name: str = "time") -> int:
    """Milliseconds of a time in a request: an xsd:dateTime, or a whole number of milliseconds."""
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise ProblemError(400, f"{name}: an xsd:dateTime or milliseconds, not {_shown(text)}")
    try:
        return read_instant(str(text).strip())
    except ValueError as error:
        raise ProblemError(400, f"{name}: {error}, not {text!r:.60}") from None


@dataclass(frozen=True)
class Pushed:
    """What a body says of a stream: elements, or rows where the stream has a mapping; `malformed` were set aside."""

    elements: list[StreamElement] = field(default_factory=list)
    rows: list[Any] | None = None
    malformed: list[str] = field(default_factory=list)
    came: int | None = None  # the time of elements that do not say theirs, unless the request does

    def in_turn(self, earliest: int) -> list[StreamElement]:
        """The elements, where their turn has come: those of the time at which the body was read not before this.

        >>> given = [StreamElement(time, None, ()) for time in (4, 5)]
        >>> [element.time_ms for element in Pushed(given, came=5).in_turn(7)]
        [4, 7]
        """
        if self.came is None or self.came >= earliest:
            return self.elements
        return [
            replace(e, time_ms=earliest) if e.time_ms == self.came and not e.time_triple else e
            for e in self.elements
        ]

    def __len__(self) -> int:
        return len(self.elements) if self.rows is None else len(self.rows)

    def sample(self, kept: Sequence[bool]) -> Pushed:
        """Those that are kept."""
        if self.rows is None:
            return replace(self, elements=list(compress(self.elements, kept)))
        return replace(self, rows=list(compress(self.rows, kept)))


def pushed(
    stream: Stream, kind: str, content: bytes, time: str | None, graph: str | None
) -> Pushed:
    """What is to be pushed into a stream; a body without named graphs is one element, with others each graph is one.

    The time of an element is that of its graph (prov:generatedAtTime or sosa:resultTime), or else `time`, or else now.
    Raises ProblemError, MalformedRdfError, StreamElementError.
    """
    came = milliseconds(None) if time is None else None
    moment = instant(time) if came is None else came
    if graph is not None and not ABSOLUTE_IRI.fullmatch(graph):
        raise ProblemError(400, f"graph: an absolute IRI, not {graph!r:.60}")
    name = None if graph is None else f"<{graph}>"
    if kind in _RDF:
        return replace(_rdf(stream, _RDF[kind], content, moment, name), came=came)
    values = _values(kind, content)
    if isinstance(stream, MappedStream):
        return Pushed(rows=values)
    if kind == _CSV:
        raise ProblemError(415, "text/csv: only a stream with a mapping takes rows")
    elements = [_element(v, n, moment, name, stream.rdf) for n, v in enumerate(values, 1)]
    return Pushed(elements, came=came)


def _values(kind: str, content: bytes) -> list[Any]:
    if kind in _JSON_LINES:
        lines = enumerate(text_of(content).split("\n"), 1)
        return [json_of(line, number) for number, line in lines if line.strip()]
    if kind == _JSON:
        found = json_of(text_of(content))
        return found if isinstance(found, list) else [found]
    if kind == _CSV:
        try:
            reader = csv.DictReader(io.StringIO(text_of(content), newline=""), strict=True)
            rows = list(reader)
        except csv.Error as error:
            raise ProblemError(400, f"no CSV: {error}", line=reader.line_num) from None
        for number, row in enumerate(rows, 2):
            if None in row or None in row.values():
                raise ProblemError(
                    400, "a row with more or fewer cells than the first has", line=number
                )
        return [{name: cell or None for name, cell in row.items()} for row in rows]
    known = ", ".join((*_RDF, _JSON, _JSON_LINES[0], _CSV))
    raise ProblemError(415, f"Content-Type: one of {known}, not {kind or 'missing'!r:.60}")


def _rdf(stream: Stream, kind: RdfFormat, content: bytes, moment: int, name: str | None) -> Pushed:
    reading = Reading(stream.rdf)
    if kind is RdfFormat.JSON_LD:
        content = "\n".join(_lines(content, kind, reading)).encode()
        kind, reading = RdfFormat.N_QUADS, Reading()
    if kind in (RdfFormat.N_QUADS, RdfFormat.TRIG):
        how: dict[str, Any] = {"version": reading.version, "on_error": stream.on_error}
        elements, set_aside = read_document(content, kind, _BODY, default_time=moment, **how)
        if elements or set_aside:
            return Pushed(elements, malformed=[str(one) for one in set_aside])
    written = reading if kind.line_based else Reading()  # others come in canonical form
    lines = [_canonical(line, n, written) for n, line in _statements(content, kind, reading)]
    return Pushed([StreamElement(moment, name, tuple(lines))] if lines else [])


def _statements(content: bytes, kind: RdfFormat, reading: Reading) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(_lines(content, kind, reading), 1):
        if line.strip(" \t") and not line.lstrip(" \t").startswith("#"):
            yield number, line


def _lines(content: bytes, kind: RdfFormat, reading: Reading) -> Iterator[str]:
    opened = FileFormat(kind, Compression.NONE)
    return lines_of(_BODY, opened, _BASE, lambda: unpacked(content, Compression.NONE), reading)


def _canonical(line: str, number: int, reading: Reading) -> str:
    try:
        statement = parse_line(line, reading.version)
    except MalformedLineError as error:
        raise MalformedRdfError(_BODY, number, error.column, error.message) from None
    assert statement is not None
    if statement[3] is not None:
        raise MalformedRdfError(_BODY, number, None, "a graph among triples without one")
    return f"{statement[0]} {statement[1]} {statement[2]} ."


def _element(
    value: object, number: int, moment: int, name: str | None, version: RdfVersion
) -> StreamElement:
    """The element of `{"triples": .., "time": .., "graph": ..}`."""
    where = f"element {number}"
    try:
        fields = Fields(value, ("triples", "time", "graph"))
        time = fields.value("time")
        graph = fields.text_or_none("graph")
        if graph is not None and not ABSOLUTE_IRI.fullmatch(graph):
            raise ProblemError(400, f"graph: an absolute IRI, not {graph!r:.60}")
        triples = fields.value("triples")
        if isinstance(triples, list):
            if not all(isinstance(triple, list) for triple in triples):
                raise ProblemError(
                    400, "triples: N-Triples text, or a list of [subject, predicate, object]"
                )
            triples = [tuple(triple) for triple in triples]
        elif not isinstance(triples, str):
            raise ProblemError(
                400, "triples: N-Triples text, or a list of [subject, predicate, object]"
            )
        lines = tuple(
            _canonical(line, place, Reading(version))
            for place, line in enumerate(triple_lines(triples, version), 1)
        )
    except (ProblemError, StreamElementError) as error:
        raise ProblemError(400, f"{where}: {error}") from None
    except MalformedRdfError as error:
        raise ProblemError(
            400, f"{where}: {error.message}", line=error.line, column=error.column
        ) from None
    said = name if graph is None else f"<{graph}>"
    return StreamElement(moment if time is None else instant(time), said, lines)


def triples_text(kind: str, content: bytes, version: RdfVersion) -> str:
    """The triples of a body as N-Triples, for a static graph; raises ProblemError, MalformedRdfError.

    It begins with a line break: `Engine.insert` and the like never take it for a path.
    """
    rdf = _RDF.get(kind)
    if rdf is None:
        raise ProblemError(
            415, f"Content-Type: one of {', '.join(_RDF)}, not {kind or 'missing'!r:.60}"
        )
    reading = Reading(version)
    lines = []
    for number, line in _statements(content, rdf, reading):
        _canonical(line, number, reading if rdf.line_based else Reading())
        strict = version is RdfVersion.RDF_1_2 and not rdf.line_based
        lines.append(_QUOTED.sub(_as_term, line) if strict else line)
    return "\n" + "\n".join(lines) + "\n"


def _as_term(token: re.Match[str]) -> str:
    """RDF 1.2's way of writing a bracket of a quoted triple; strings and IRIs stay."""
    return {"<<": "<<(", ">>": ")>>"}.get(token[0], token[0])
