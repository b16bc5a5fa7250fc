"""Stream elements and graphs as the oracle sees them: triples of terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from sparkext.errors import InputFileError
from sparkext.recorded_streams import StreamElement
from sparkext.recorded_streams.nquads_lines import MalformedLineError, parse_line
from static_data.format_sniffing import told_format_here
from static_data.on_error import Skipped
from static_data.rdf_reader import read_entries
from static_data.rdf_version import RdfVersion
from static_data.reading import Reading
from static_data.terms import BlankNode, QuotedTriple, Term, parse_term

Triple: TypeAlias = tuple[Term, Term, Term]
Streams: TypeAlias = Mapping[str, Sequence[StreamElement]]
_BLANK_OR_OPAQUE = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|_:([^\s<>"]+)')


def element(time: int, *triples: str, graph: str | None = None) -> StreamElement:
    """An element of N-Triples statements, without a time triple.

    >>> element(5, "<http://e/s> <http://e/p> <http://e/o> .").time_ms
    5
    """
    return StreamElement(time, None if graph is None else f"<{graph}>", triples)


def in_order(elements: Iterable[StreamElement]) -> list[StreamElement]:
    """In order of time, those of one time as they come."""
    return sorted(elements, key=lambda element: element.time_ms)


def triples_of(statements: Iterable[str], scope: str = "") -> list[Triple]:
    """The triples of N-Triples-star statements; `scope`, letters and digits, goes before blank node labels."""
    found = []
    for text in statements:
        statement = parse_line(text)
        if statement is not None:
            subject, predicate, object_ = (scoped(parse_term(t), scope) for t in statement[:3])
            found.append((subject, predicate, object_))
    return found


def scoped(term: Term, scope: str) -> Term:
    """The term with blank nodes of its own scope.

    >>> scoped(BlankNode("b"), "e1")
    BlankNode(label='e1xb')
    """
    if isinstance(term, BlankNode):
        return BlankNode(f"{scope}x{term.label}") if scope else term
    if isinstance(term, QuotedTriple):
        subject, object_ = scoped(term.subject, scope), scoped(term.object, scope)
        return QuotedTriple(subject, term.predicate, object_)  # type: ignore[arg-type]
    return term


@dataclass(frozen=True)
class StaticGraphs:
    """Static data: the default graph, and named graphs by their names as N-Triples texts."""

    default: Sequence[Triple] = ()
    named: Mapping[str, Sequence[Triple]] = field(default_factory=dict)


@dataclass(frozen=True)
class GraphReplacement:
    """A graph by its IRI (None: the default graph) that consists of other triples from a time on, in milliseconds."""

    time: int
    graph: str | None
    triples: Sequence[Triple]


def versions(
    static: StaticGraphs, changes: Iterable[GraphReplacement]
) -> list[tuple[int | None, StaticGraphs]]:
    """The graphs at all times (RSP-QL, Definition 4): versions and when they begin, None the first.

    A graph that is changed later is there, and empty, before.
    """
    in_time = sorted(changes, key=lambda change: change.time)
    later = {f"<{c.graph}>": () for c in in_time if c.graph is not None}
    found: list[tuple[int | None, StaticGraphs]] = [
        (None, StaticGraphs(static.default, {**later, **static.named}))
    ]
    for change in in_time:
        before = found[-1][1]
        if change.graph is None:
            after = StaticGraphs(change.triples, before.named)
        else:
            after = StaticGraphs(
                before.default, {**before.named, f"<{change.graph}>": change.triples}
            )
        found.append((change.time, after))
    return found


def static_graphs(default: str = "", named: Mapping[str, str] | None = None) -> StaticGraphs:
    """Static data from N-Triples-star texts, the graphs' names as IRIs without brackets.

    >>> len(static_graphs("<http://e/s> <http://e/p> <http://e/o> .").default)
    1
    """
    graphs = {f"<{iri}>": triples_of(text.splitlines(), "s") for iri, text in (named or {}).items()}
    return StaticGraphs(triples_of(default.splitlines(), "s"), graphs)


def read_static_graphs(
    default: Sequence[str | Path] = (),
    named: Mapping[str, Sequence[str | Path]] | None = None,
    scope: str = "",
    version: RdfVersion = RdfVersion.STAR,
    reading: Reading | None = None,
    skipped: list[Skipped] | None = None,
) -> StaticGraphs:
    """Static data from RDF files: of the default graph, and of named graphs by IRI.

    Graphs that a file names itself keep their names. Blank nodes belong to their file, and to `scope`. `version`
    tells how quoted triples are read; `reading`, in its place, also what becomes of what is malformed; what is left
    out is added to `skipped`. Raises the errors of `static_data` for files that cannot be read.
    """
    reading = reading or Reading(version)
    left_out = [] if skipped is None else skipped
    graphs: dict[str | None, dict[Triple, None]] = {None: {}}
    places = [(None, file) for file in default]
    places += [(f"<{iri}>", file) for iri, files in (named or {}).items() for file in files]  # type: ignore[misc]
    for number, (name, file) in enumerate(places):
        # Lines made of other formats are canonical, which is RDF-star's form.
        lines = enumerate(read_entries(file, reading=reading), 1)
        line_based = told_format_here(str(file)).rdf.line_based
        written = reading.version if line_based else RdfVersion.STAR
        for line, text in lines:
            if not isinstance(text, str):
                left_out.append(Skipped(text.file, text.line, text.column, text.message))
                continue
            try:
                statement = parse_line(text, written, reading.accepts)
            except MalformedLineError as error:
                if reading.skips:
                    left_out.append(Skipped(str(file), line, error.column, error.message, text))
                    continue
                raise InputFileError(str(file), line, error.column, error.message) from None
            if statement is None:
                continue
            s, p, o = (scoped(parse_term(part), f"{scope}f{number}") for part in statement[:3])
            graph = name if statement[3] is None else statement[3]
            if graph is not None and graph.startswith("_:"):
                graph = scoped(parse_term(graph), f"{scope}f{number}").n3()
            graphs.setdefault(graph, {})[s, p, o] = None
    for name, _ in places:
        graphs.setdefault(name, {})
    by_name = {graph: list(triples) for graph, triples in graphs.items() if graph is not None}
    return StaticGraphs(list(graphs[None]), by_name)
