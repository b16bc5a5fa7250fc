"""Messages of RDF as stream elements: one message is one element, or a document of several.

N-Triples, N-Quads, Turtle, TriG and JSON-LD, each with quoted triples as far as the format has them. What is malformed
comes out as a reason, never as an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from sparkext.argument_checks import check
from sparkext.errors import ArgumentError
from sparkext.recorded_streams import TIME_PROPERTIES, StreamElement
from sparkext.recorded_streams.elements import ElementAssembler, SetAside, time_of
from sparkext.recorded_streams.nquads_lines import MalformedLineError, Statement, parse_line
from sparkext.recorded_streams.reader import read_document
from sparkext.runtime.parts.pushed_times import milliseconds
from static_data.errors import MalformedRdfError, UnsupportedFormatError
from static_data.files.on_error import OnError
from static_data.files.packings import Compression, unpacked
from static_data.files.rdf_formats import FileFormat, RdfFormat, named_format
from static_data.files.rdf_reader import lines_of
from static_data.files.rdf_version import RdfVersion
from static_data.files.reading import Reading, read_contexts

AUTO = "auto"
TIMES = ("payload", "broker", "now")
_BASE = "urn:message"
_READ = (
    RdfFormat.N_TRIPLES,
    RdfFormat.N_QUADS,
    RdfFormat.TURTLE,
    RdfFormat.TRIG,
    RdfFormat.JSON_LD,
)
# Strings, IRIs and comments: braces in them open no graph.
_OPAQUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|<[^<>\s]*>|#[^\n]*", re.DOTALL)
_DIRECTIVE = re.compile(r"^\s*@?(?:prefix|base)\s", re.IGNORECASE | re.MULTILINE)
_LINE_END = re.compile(r"\r\n|\r|\n")


class Read(NamedTuple):
    """What a message holds: elements, and the reasons of what was malformed in it."""

    elements: list[StreamElement]
    flaws: list[str]


@dataclass(frozen=True)
class RdfMessages:
    """How payloads are read.

    `format` is one that `static_data.files.rdf_formats` knows but RDF/XML, or "auto": told by each payload. `time` says
    where the time of an element comes from: "payload" (a triple with one of `time_properties`), "broker" (the time that
    the message carries) or "now". `contexts` are the JSON-LD contexts that payloads refer to, as texts by IRI; none is
    fetched. `accepts`: IRIs are taken as they stand.
    """

    format: str = AUTO
    time: str = "payload"
    time_properties: Collection[str] = TIME_PROPERTIES
    version: RdfVersion = RdfVersion.STAR
    accepts: bool = False
    contexts: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def checked(
        cls,
        format: str,
        time: str,
        time_properties: Collection[str],
        contexts: Mapping[str, str | Path] | None,
        version: RdfVersion = RdfVersion.STAR,
        accepts: bool = False,
    ) -> RdfMessages:
        """The same, of what a user gave; raises ArgumentError, MissingFileError, MalformedRdfError."""
        check.text("format", format)
        if format != AUTO:
            _format(format)
        check.text("time", time)
        if time not in TIMES:
            raise ArgumentError("time", f"must be one of {', '.join(TIMES)}, not {time!r}")
        if isinstance(time_properties, str | bytes) or not isinstance(time_properties, Collection):
            raise check.wrong("time_properties", "a list of IRIs", time_properties)
        for iri in time_properties:
            check.iri("time_properties", iri)
        if contexts is not None and not isinstance(contexts, Mapping):
            raise check.wrong("contexts", "files by IRI", contexts)
        for iri, file in (contexts or {}).items():
            check.iri("contexts", iri)
            check.path("contexts", file)
        texts = read_contexts(contexts or {})
        return cls(format, time, tuple(time_properties), version, accepts, texts)

    def read(self, payload: bytes | None, stamped: int | None = None) -> Read:
        """The elements of a payload; `stamped` is the time that the message carries, in milliseconds.

        >>> sent = b'<http://e/s> <http://e/p> "o" .'
        >>> RdfMessages(time="broker").read(sent, 5).elements[0].time_ms
        5
        >>> RdfMessages().read(sent).flaws
        ['no time']
        """
        if payload is None:
            return Read([], ["no payload"])
        try:
            kind = _format(self.format) if self.format != AUTO else self._told(payload)
            if self.time != "payload":
                return self._dated(self._statements(payload, kind), stamped)
            try:
                return self._dating(self._statements(payload, kind))
            except (MalformedRdfError, ValueError):
                rest = self._sound_elements(payload, kind)
                if rest.elements:
                    return rest
                raise
        except MalformedRdfError as error:
            place = f"line {error.line}: " if error.line else ""
            return Read([], [f"{place}{error.message}"])
        except RecursionError:
            return Read([], ["nested too deeply"])
        except UnicodeDecodeError:
            return Read([], ["not UTF-8"])
        except ValueError as error:  # times that are none
            return Read([], [str(error)])

    def _sound_elements(self, payload: bytes, kind: RdfFormat) -> Read:
        """The elements of a document that has malformed statements, which cost the elements they belong to."""
        if kind not in (RdfFormat.N_QUADS, RdfFormat.TRIG):
            return Read([], [])
        on_error = OnError.ACCEPT if self.accepts else OnError.SKIP
        named = (self.time_properties, self.version, on_error)
        found, aside = read_document(payload, kind, "message", *named)
        return Read(found, [_reason(one) for one in aside])

    def _told(self, payload: bytes) -> RdfFormat:
        """The format of a payload: JSON-LD if it is JSON, TriG with a block, N-Quads by lines, else Turtle."""
        if payload.lstrip()[:1] in (b"{", b"["):
            try:
                json.loads(payload)
                return RdfFormat.JSON_LD
            except ValueError:
                pass
        text = payload.decode()
        if "{" in text and "{" in _OPAQUE.sub("", text):
            return RdfFormat.TRIG
        try:
            for line in _LINE_END.split(text):
                parse_line(line, self.version, self.accepts)
        except MalformedLineError:
            try:
                self._statements(payload, RdfFormat.TURTLE)
            except MalformedRdfError:  # who is to say what is wrong?
                return RdfFormat.TURTLE if _DIRECTIVE.search(text) else RdfFormat.N_QUADS
            return RdfFormat.TURTLE
        return RdfFormat.N_QUADS

    def _statements(self, payload: bytes, kind: RdfFormat) -> list[Statement]:
        if kind.line_based:
            return self._of_lines(payload.decode())
        reading = Reading(
            self.version, OnError.ACCEPT if self.accepts else OnError.FAIL, self.contexts
        )
        form = FileFormat(kind, Compression.NONE)
        lines = lines_of(
            "message", form, _BASE, lambda: unpacked(payload, Compression.NONE), reading
        )
        # In canonical form, and IRIs have been judged by the reader.
        return [s for line in lines if (s := parse_line(line, accepts=True)) is not None]

    def _of_lines(self, text: str) -> list[Statement]:
        statements = []
        for number, line in enumerate(_LINE_END.split(text), 1):
            try:
                statement = parse_line(line, self.version, self.accepts)
            except MalformedLineError as error:
                raise ValueError(f"line {number}, {error}") from None
            if statement is not None:
                statements.append(statement)
        return statements

    def _dating(self, statements: Sequence[Statement]) -> Read:
        """Elements that say themselves when they are: named graphs, or all that is in the default graph."""
        if any(graph is not None for *_, graph in statements):
            assembler = ElementAssembler("message", self.time_properties)
            for statement in statements:
                assembler.quad(*statement, None)
            found, aside = assembler.finish()
            return Read(found, [_reason(one) for one in aside])
        if not statements:
            return Read([], ["no triple"])
        said = {f"<{iri}>" for iri in self.time_properties}
        times = {time_of(object_) for _, predicate, object_, _ in statements if predicate in said}
        if len(times) != 1:
            return Read([], ["no time" if not times else f"{len(times)} times"])
        return Read([_element(times.pop(), None, statements)], [])

    def _dated(self, statements: Sequence[Statement], stamped: int | None) -> Read:
        """Elements of the message's time: each named graph, and what is in the default graph and about none of them."""
        time = stamped if self.time == "broker" else milliseconds(None)
        if time is None:
            return Read([], ["the message carries no time"])
        if not statements:
            return Read([], ["no triple"])
        graphs: dict[str | None, list[Statement]] = {}
        for statement in statements:
            if statement[3] is not None:
                graphs.setdefault(statement[3], []).append(statement)
        about: dict[str | None, list[str]] = {}
        for subject, predicate, object_, graph in statements:
            if graph is not None:
                continue
            if subject in graphs:
                about.setdefault(subject, []).append(f"{subject} {predicate} {object_} .")
            else:
                graphs.setdefault(None, []).append((subject, predicate, object_, None))
        found = [
            _element(time, graph, said, about.get(graph, ())) for graph, said in graphs.items()
        ]
        return Read(found, [])


def _element(
    time: int, graph: str | None, statements: Sequence[Statement], about: Sequence[str] = ()
) -> StreamElement:
    triples = dict.fromkeys(f"{s} {p} {o} ." for s, p, o, _ in statements)
    return StreamElement(time, graph, tuple(triples), None, tuple(dict.fromkeys(about)))


def _reason(one: SetAside) -> str:
    place = "" if one.line is None else f"line {one.line}: "
    return f"{place}{'' if one.graph is None else f'{one.graph}: '}{one.reason}"


def _format(name: str) -> RdfFormat:
    try:
        kind, _ = named_format("message", name)
    except UnsupportedFormatError:
        kind = None
    if kind not in _READ:
        known = ", ".join(("auto", *(one.value for one in _READ)))
        raise ArgumentError("format", f"must be one of {known}, not {name!r}")
    assert kind is not None
    return kind
