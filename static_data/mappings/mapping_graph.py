"""The triples of a mapping file by node and property, with the places where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pyoxigraph as ox

from static_data.errors import MalformedRdfError
from static_data.files.rdf_reader import read_lines
from static_data.limits.nesting import NestingError, check_turtle, parsed
from static_data.mappings.row_mapping import Place
from static_data.mappings.vocabulary import short_name, shown
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple

Node = Iri | BlankNode
Value = Iri | BlankNode | Literal


class MappingGraph:
    """A graph of nodes and their properties, by `short_name` where they have one, else by IRI.

    Lines are known for whatever was given one, and else found in the text, which they may not be.
    """

    def __init__(self, file: str, text: str = "") -> None:
        self.file = file
        self._text = text
        self._values: dict[Node, dict[str, list[Value]]] = {}
        self._iris: dict[tuple[Node, str], str] = {}
        self._lines: dict[Node, int] = {}

    def add(self, node: Node, property: str, value: Value, line: int | None = None) -> None:
        """Add a triple, whose property is an IRI."""
        name = short_name(property) or property
        values = self._values.setdefault(node, {}).setdefault(name, [])
        if value not in values:
            values.append(value)
        self._iris.setdefault((node, name), property)
        if line is not None:
            self._lines.setdefault(node, line)

    def note_line(self, node: Node, line: int) -> None:
        """Say on which line a node is written."""
        self._lines.setdefault(node, line)

    def nodes(self) -> Iterator[Node]:
        """All nodes that have properties, as they come in the file."""
        return iter(self._values)

    def properties(self, node: Node) -> list[str]:
        """The properties of a node."""
        return list(self._values.get(node, {}))

    def values(self, node: Node, *names: str) -> list[Value]:
        """All values of some properties."""
        there = self._values.get(node, {})
        return [value for name in names for value in there.get(name, [])]

    def shown(self, node: Node, name: str) -> str:
        """A property of a node as the file has it, with a prefix where it has a usual one."""
        return shown(self._iris.get((node, name), name))

    def place(self, triples_map: Node, node: Node | None = None, name: str = "") -> Place:
        """Where something of a triples map stands, as near as is known."""
        line = self._lines.get(node or triples_map) or self._found(triples_map, node, name)
        return Place(self.file, self.title(triples_map), line)

    def title(self, node: Node) -> str:
        """What a node is called in messages."""
        return node.n3() if isinstance(node, Iri) else "without a name"

    def _found(self, triples_map: Node, node: Node | None, name: str) -> int | None:
        """The line on which a named triples map begins, or the first after it that has the property."""
        begin = self._begin_of(triples_map)
        if begin is None:
            return self._lines.get(triples_map)
        iri = self._iris.get((node or triples_map, name)) if name else None
        if iri is not None:
            local = re.split(r"[#/]", iri)[-1]
            pattern = re.compile(rf"(?::|[#/]){re.escape(local)}(?![\w-])")
            found = pattern.search(self._text, begin)
            if found is not None and found.start() < self._end_of(begin):
                begin = found.start()
        return self._text.count("\n", 0, begin) + 1

    def _begin_of(self, node: Node) -> int | None:
        if not isinstance(node, Iri) or not self._text:
            return None
        names = [re.escape(f"<{node.value}>"), re.escape(f"<{Iri(node.value).value}>")]
        local = re.split(r"[#/:]", node.value)[-1]
        if local:
            names += [rf"[\w.-]*:{re.escape(local)}(?![\w-])", rf"<#?{re.escape(local)}>"]
        found = re.search(rf"^\s*(?:{'|'.join(names)})", self._text, re.MULTILINE)
        if found is None:
            return None
        return found.end() - len(found.group().lstrip())

    def _end_of(self, begin: int) -> int:
        """Where the next statement that has a line of its own begins."""
        found = re.compile(r"\.[ \t]*(?:#.*)?\n\s*(?=[<:\w@])").search(self._text, begin + 1)
        return len(self._text) if found is None else found.end()


def read_mapping_graph(file: str | Path) -> MappingGraph:
    """The graph of an RDF file; raises MissingFileError, UnsupportedFormatError, MalformedRdfError."""
    lines = "\n".join(read_lines(file))
    try:
        text = Path(file).read_text("utf-8")
    except UnicodeDecodeError:
        text = ""  # packed: lines are not found then
    graph = MappingGraph(str(file), text)
    content = lines.encode()
    try:
        check_turtle(
            BytesIO(content), lambda: BytesIO(content)
        )  # lines of N-Triples come as they are
        for quad in parsed(ox.parse(content, format=ox.RdfFormat.N_QUADS)):
            subject, value = _term(quad.subject), _term(quad.object)
            if not isinstance(subject, QuotedTriple) and not isinstance(value, QuotedTriple):
                assert not isinstance(subject, Literal)
                graph.add(subject, quad.predicate.value, value)
    except SyntaxError as error:
        raise MalformedRdfError(str(file), error.lineno, error.offset, error.msg) from None
    except NestingError as problem:
        raise MalformedRdfError(str(file), None, None, str(problem)) from None
    return graph


def _term(term: ox.NamedNode | ox.BlankNode | ox.Literal | ox.Triple) -> Value | QuotedTriple:
    if isinstance(term, ox.NamedNode):
        return Iri(term.value)
    if isinstance(term, ox.BlankNode):
        return BlankNode(term.value)
    if isinstance(term, ox.Literal):
        if term.language:
            return Literal(term.value, language=term.language)
        return Literal(term.value, Iri(term.datatype.value))
    # What a mapping says of triples says nothing of rows.
    return QuotedTriple(Iri(""), Iri(""), Iri(""))
