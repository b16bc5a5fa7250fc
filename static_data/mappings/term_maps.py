"""Term maps: a node of a mapping and its place in a triple in, which terms it makes of a row out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from static_data.mappings.mapping_graph import MappingGraph, Node, Value
from static_data.mappings.row_mapping import (
    ConstantTerm,
    GeneratedTerm,
    Place,
    Reference,
    RowForm,
    Source,
    TermKind,
    TermMap,
)
from static_data.mappings.templates import json_steps, sql_column, template_parts
from static_data.mappings.vocabulary import REASONS, TERM_MAP, is_function, short_name, shown
from static_data.terms import RDF, XSD_STRING, BlankNode, Iri, Literal

LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|\\^`]*")
_NOT_IN_IRI = re.compile(r"[\x00-\x20<>\"{}|\\^`]").match
_KINDS = {
    "IRI": TermKind.IRI,
    "UnsafeIRI": TermKind.IRI,
    "URI": TermKind.URI,
    "UnsafeURI": TermKind.URI,
    "BlankNode": TermKind.BLANK_NODE,
    "Literal": TermKind.LITERAL,
}
_IRIS = frozenset((TermKind.IRI, TermKind.URI))
_WAYS = ("constant", "template", "reference")


@dataclass(frozen=True)
class Position:
    """A position of a triple: what it is called, the term types it takes, the properties of its term maps."""

    name: str
    kinds: frozenset[TermKind]

    @property
    def called(self) -> str:
        """The name with its article."""
        return f"{'an' if self.name.startswith('o') else 'a'} {self.name}"


SUBJECT = Position("subject", _IRIS | {TermKind.BLANK_NODE})
PREDICATE = Position("predicate", _IRIS)
OBJECT = Position("object", _IRIS | {TermKind.BLANK_NODE, TermKind.LITERAL})
GRAPH = Position("graph", _IRIS)
_DATATYPE = Position("datatype", _IRIS)
_LANGUAGE = Position("language", frozenset((TermKind.LITERAL,)))


@dataclass(frozen=True)
class TermMapReader:
    """Reads the term maps of one triples map; raises MappingError."""

    graph: MappingGraph
    triples_map: Node
    source: Source
    base: str | None

    def place(self, node: Node | None = None, name: str = "") -> Place:
        """Where something of the triples map stands."""
        return self.graph.place(self.triples_map, node, name)

    def check(self, node: Node, allowed: frozenset[str], what: str) -> None:
        """Refuse properties of R2RML and RML that do not belong here or that are not supported."""
        for name in self.graph.properties(node):
            if name in allowed:
                continue
            written = self.graph.shown(node, name)
            if is_function(name) or name in REASONS:
                reason = REASONS.get(name, "functions are not supported")
                raise self.place(node, name).error(reason, written)
            if ":" not in name:
                raise self.place(node, name).error(f"not a property of {what}", written)

    def one(self, node: Node, *names: str) -> Value | None:
        """The one value of some properties, None where there is none."""
        values = self.graph.values(node, *names)
        if len(values) > 1:
            raise self.place(node, names[0]).error(
                "more than one", self.graph.shown(node, names[0])
            )
        return values[0] if values else None

    def text(self, node: Node, name: str) -> str | None:
        """The text of a property's one value."""
        value = self.one(node, name)
        if value is None:
            return None
        if not isinstance(value, Literal):
            raise self._wrong(node, name, f"must be a text, not {_said(value)}")
        return value.lexical

    def node(self, owner: Node, name: str) -> list[Node]:
        """The nodes that a property leads to."""
        values = self.graph.values(owner, name)
        for value in values:
            if isinstance(value, Literal):
                raise self._wrong(owner, name, f"must be a node, not {_said(value)}")
        return [value for value in values if not isinstance(value, Literal)]

    def _wrong(self, node: Node, name: str, message: str) -> Exception:
        return self.place(node, name).error(message, self.graph.shown(node, name))

    # -- terms ----------------------------------------------------------------------------------------

    def constant(self, value: Value, position: Position, node: Node, name: str) -> ConstantTerm:
        """The term map of a value that is given itself."""
        if isinstance(value, Literal) and TermKind.LITERAL not in position.kinds:
            raise self._wrong(node, name, f"a literal cannot be {position.called}: {value.n3()}")
        if isinstance(value, BlankNode):
            raise self._wrong(node, name, "a constant is an IRI or a literal, not a blank node")
        return ConstantTerm(value)

    def read(
        self,
        node: Node,
        position: Position,
        allowed: frozenset[str] = TERM_MAP,
    ) -> TermMap:
        """The term map of a node."""
        self.check(node, allowed, f"{position.called} map")
        ways = [name for name in _WAYS if self.graph.values(node, name)]
        if len(ways) != 1:
            found = " and ".join(self.graph.shown(node, name) for name in ways) or "none of them"
            raise self.place(node).error(
                f"{position.called} map has one of rml:constant, rml:template and rml:reference (rr:column);"
                f" found {found}"
            )
        if ways == ["constant"]:
            value = self.one(node, "constant")
            assert value is not None
            return self._constant_as(node, self.constant(value, position, node, "constant"))
        text = self.text(node, ways[0])
        assert text is not None
        template = ways == ["template"]
        datatype = self._datatype(node)
        language = self._language(node)
        kind = self._kind(node, position, template, datatype is not None or language is not None)
        if kind is not TermKind.LITERAL and (datatype or language):
            raise self.place(node).error("only literals have a datatype or a language")
        if datatype is not None and language is not None:
            raise self.place(node).error("a literal has a datatype or a language, not both")
        place = self.place(node, ways[0])
        parts = self._parts(node, ways[0], text, template)
        if kind.is_iri:
            odd = next((c for p in parts if isinstance(p, str) for c in p if _NOT_IN_IRI(c)), None)
            if odd is not None:
                raise self._wrong(node, ways[0], f"{odd!r} cannot be part of an IRI: {text!r}")
        if not any(isinstance(part, Reference) for part in parts):
            return self._without_references(
                "".join(map(str, parts)), kind, datatype, language, place
            )
        return GeneratedTerm(parts, template, kind, datatype, language, self.base, place)

    def _constant_as(self, node: Node, constant: ConstantTerm) -> TermMap:
        """A constant whose term map also says what kind of term it is."""
        kind = self.one(node, "termType")
        name = short_name(kind.value) if isinstance(kind, Iri) else None
        literal = isinstance(constant.term, Literal)
        if kind is not None and (_KINDS.get(name or "") is TermKind.LITERAL) is not literal:
            raise self._wrong(
                node, "termType", f"the constant {constant.term.n3()} is of another type"
            )
        datatype, language = self._datatype(node), self._language(node)
        if datatype is None and language is None:
            return constant
        if not isinstance(constant.term, Literal) or constant.term.datatype != XSD_STRING:
            raise self.place(node).error(
                "only plain literals can be given a datatype or a language"
            )
        parts = (constant.term.lexical,)
        return self._without_references(
            parts[0], TermKind.LITERAL, datatype, language, self.place(node)
        )

    def _without_references(
        self,
        text: str,
        kind: TermKind,
        datatype: TermMap | None,
        language: TermMap | None,
        place: Place,
    ) -> TermMap:
        fixed = all(t is None or isinstance(t, ConstantTerm) for t in (datatype, language))
        if not fixed or kind is TermKind.BLANK_NODE:
            return GeneratedTerm((text,), True, kind, datatype, language, self.base, place)
        if kind.is_iri:
            iri = text if _ABSOLUTE.fullmatch(text) else (self.base or "") + text
            if _ABSOLUTE.fullmatch(iri) is None:
                raise place.error(f"{text!r} is not an IRI")
            return ConstantTerm(Iri(iri))
        if isinstance(language, ConstantTerm):
            assert isinstance(language.term, Literal)
            return ConstantTerm(Literal(text, language=language.term.lexical))
        if isinstance(datatype, ConstantTerm):
            assert isinstance(datatype.term, Iri)
            return ConstantTerm(Literal(text, datatype.term))
        return ConstantTerm(Literal(text))

    def _kind(self, node: Node, position: Position, template: bool, typed: bool) -> TermKind:
        value = self.one(node, "termType")
        if value is None:
            literal = position is OBJECT and (not template or typed)
            return TermKind.LITERAL if literal or position is _LANGUAGE else TermKind.IRI
        name = short_name(value.value) if isinstance(value, Iri) else None
        kind = _KINDS.get(name or "")
        if kind is None:
            raise self._wrong(node, "termType", f"no term type is called {_said(value)}")
        if kind not in position.kinds:
            raise self._wrong(node, "termType", f"{position.called} cannot be a {kind.value}")
        return kind

    def _datatype(self, node: Node) -> TermMap | None:
        value = self.one(node, "datatype")
        maps = self.node(node, "datatypeMap")
        if value is not None and not maps:
            if not isinstance(value, Iri) or value.value.startswith(RDF + "langString"):
                raise self._wrong(node, "datatype", f"{_said(value)} cannot be a datatype here")
            return ConstantTerm(value)
        if len(maps) + (value is not None) > 1:
            raise self._wrong(node, "datatypeMap", "more than one datatype")
        return self.read(maps[0], _DATATYPE) if maps else None

    def _language(self, node: Node) -> TermMap | None:
        text = self.text(node, "language")
        maps = self.node(node, "languageMap")
        if len(maps) + (text is not None) > 1:
            raise self._wrong(node, "languageMap", "more than one language")
        if maps:
            found = self.read(maps[0], _LANGUAGE)
            if isinstance(found, ConstantTerm):
                assert isinstance(found.term, Literal)
                self._check_tag(node, "languageMap", found.term.lexical)
            return found
        if text is None:
            return None
        self._check_tag(node, "language", text)
        return ConstantTerm(Literal(text))

    def _check_tag(self, node: Node, name: str, text: str) -> None:
        if LANGUAGE.fullmatch(text) is None:
            raise self._wrong(node, name, f"{text!r} is not a language tag")

    # -- references -----------------------------------------------------------------------------------

    def _parts(
        self, node: Node, name: str, text: str, template: bool
    ) -> tuple[str | Reference, ...]:
        try:
            if not template:
                return (self.steps_of(text, node, name),)
            return tuple(
                part if isinstance(part, str) else self.steps_of(part[0], node, name)
                for part in template_parts(text)
            )
        except ValueError as error:
            raise self._wrong(node, name, f"{error} in {text!r}") from None

    def steps_of(self, text: str, node: Node, name: str) -> Reference:
        """A reference into rows of the triples map's source."""
        return reference_of(self.source, text, self.place(node, name), self.graph.shown(node, name))


def reference_of(source: Source, text: str, place: Place, property: str) -> Reference:
    """A reference as mappings of a source write it; raises MappingError."""
    if source.form is RowForm.COLUMNS:
        name = sql_column(text) if source.is_table else text
        if not name:
            raise place.error("an empty reference", property)
        return Reference(text, (name,))
    try:
        return Reference(text, json_steps(text))
    except ValueError as error:
        raise place.error(str(error), property) from None


def is_default_graph(term: TermMap) -> bool:
    """Whether a graph map stands for the default graph."""
    return (
        isinstance(term, ConstantTerm)
        and isinstance(term.term, Iri)
        and short_name(term.term.value) == "defaultGraph"
    )


def _said(value: Value) -> str:
    return shown(value.value) if isinstance(value, Iri) else value.n3()
