"""YARRRML, the short form of RML in YAML: a file in, the triples of the RML mapping it stands for out.

Each node keeps the line on which it was written. By the YARRRML specification objects are literals unless they say
`~iri`; a constant that is written as an IRI, with a declared prefix or `http(s)://`, is one, too.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from static_data.mappings.mapping_graph import MappingGraph, Node, Value
from static_data.mappings.row_mapping import Place
from static_data.mappings.vocabulary import CSVW, NEW_RML
from static_data.mappings.yaml_nodes import Entries, Items, Scalar, YamlValue, read_yaml
from static_data.mappings.yarrrml_words import (
    FORMS,
    IRI_START,
    KEYS,
    PREFIXES,
    REFERENCE,
    REFUSED,
    SUFFIX,
    TYPES,
    join_sides,
    plain_reference,
    rml_template,
)
from static_data.terms import RDF, BlankNode, Iri, Literal

logger = logging.getLogger(__name__)


def read_yarrrml(file: str | Path) -> MappingGraph:
    """The graph of a YARRRML file; raises MappingError, MissingFileError, MalformedRdfError."""
    return _Translation(str(file)).translate(read_yaml(file))


@dataclass
class _Translation:
    """One file on its way into triples."""

    file: str
    prefixes: dict[str, str] = field(default_factory=lambda: dict(PREFIXES))
    graph: MappingGraph = field(init=False)
    _numbers: count[int] = field(default_factory=count)
    _sources: dict[str, YamlValue] = field(default_factory=dict)
    _names: dict[str, list[Node]] = field(default_factory=dict)
    _base: str | None = None

    def translate(self, document: YamlValue | None) -> MappingGraph:
        self.graph = MappingGraph(self.file)
        top = self._entries(document, "a YARRRML document", Scalar("", 1))
        for prefix, iri in self._optional(top, "prefixes").items():
            self.prefixes[prefix] = self._scalar(iri, f"prefix {prefix}").text
        base = top.get("base")
        self._base = None if base is None else self._scalar(base, "base").text
        self._sources = dict(self._optional(top, "sources").items())
        mappings = top.get("mappings") or top.get("mapping") or top.get("m")
        if top.get("functions") is not None:
            raise self._wrong(top, None, "functions are not supported")
        found = self._entries(mappings, "mappings", top)
        for name, one in found.items():
            body = self._normal(self._entries(one, f"mapping {name}", found))
            count_ = len(self._sources_of(body)) * len(self._as_list(body.get("subjects")))
            self._names[name] = [
                Iri(name if count_ == 1 else f"{name}#{n + 1}") for n in range(max(1, count_))
            ]
        for name, one in found.items():
            self._mapping(name, self._normal(self._entries(one, f"mapping {name}", found)))
        return self.graph

    # -- triples maps ---------------------------------------------------------------------------------

    def _mapping(self, name: str, body: Entries) -> None:
        known = {"sources", "subjects", "predicateobjects", "graphs"}
        self._check_keys(name, body, known)
        sources, subjects = self._sources_of(body), self._as_list(body.get("subjects"))
        if not sources or not subjects:
            missing = "source" if not sources else "subject"
            raise self._wrong(body, name, f"a mapping has a {missing}")
        nodes = iter(self._names[name])
        for source in sources:
            for subject in subjects:
                node = next(nodes)
                self._add(node, "logicalSource", self._source(name, source), body.line)
                if self._base is not None:
                    self._add(node, "baseIRI", Iri(self._base))
                subject_map = self._term(name, subject, "IRI")
                self._add(node, "subjectMap", subject_map)
                for graph in self._as_list(body.get("graphs")):
                    self._add(subject_map, "graphMap", self._term(name, graph, "IRI"))
                for pair in self._as_list(body.get("predicateobjects")):
                    self._add(node, "predicateObjectMap", self._predicate_object(name, pair))

    def _source(self, name: str, given: YamlValue) -> Node:
        if isinstance(given, Scalar):
            if given.text not in self._sources:
                raise self._wrong(given, name, f"no source is called {given.text}")
            given = self._sources[given.text]
        node = self._node(given.line)
        if isinstance(given, Items):
            texts = [self._scalar(item, "a source").text for item in given.values]
            access, _, form = texts[0].rpartition("~") if "~" in texts[0] else (texts[0], "", "")
            texts_of = {"access": access, "referenceFormulation": form}
            if len(texts) > 1:
                texts_of["iterator"] = texts[1]
        else:
            source = self._entries(given, "a source", given)
            if source.get("query") is not None:
                raise self._wrong(source, name, "queries are not supported", "query")
            texts_of = {
                key: self._scalar(value, key).text
                for key, value in source.items()
                if key in ("access", "referenceFormulation", "iterator", "table", "delimiter")
            }
            if "table" in texts_of:
                self._add(node, "tableName", Literal(texts_of["table"]))
                return node
        access, form = texts_of.get("access", ""), texts_of.get("referenceFormulation", "")
        if not access:
            raise self._wrong(given, name, "a source has an access")
        self._add(node, "source", self._file(access, texts_of.get("delimiter"), given.line))
        if form:
            if form.lower() not in FORMS:
                raise self._wrong(given, name, f"rows are of csv or jsonpath, not of {form}")
            self._add(node, "referenceFormulation", Iri(FORMS[form.lower()]))
        if "iterator" in texts_of:
            self._add(node, "iterator", Literal(texts_of["iterator"]))
        return node

    def _file(self, access: str, delimiter: str | None, line: int) -> Value:
        if delimiter is None:
            return Literal(access)
        table, dialect = self._node(line), self._node(line)
        self.graph.add(table, CSVW + "url", Literal(access))
        self.graph.add(table, CSVW + "dialect", dialect)
        self.graph.add(dialect, CSVW + "delimiter", Literal(delimiter))
        return table

    def _predicate_object(self, name: str, given: YamlValue) -> Node:
        node = self._node(given.line)
        typed: dict[str, Scalar] = {}
        if isinstance(given, Items):
            values = given.values
            if not 2 <= len(values) <= 3:
                raise self._wrong(
                    given, name, "a pair is [predicate, object] or has a datatype or language, too"
                )
            predicates, objects = values[0], values[1]
            if len(values) == 3:
                typed = self._typed(self._scalar(values[2], "a datatype or language"))
            graphs: list[YamlValue] = []
        else:
            body = self._normal(self._entries(given, "a predicate-object pair", given))
            self._check_keys(
                name, body, {"predicates", "objects", "graphs", "datatype", "language", "type"}
            )
            found = body.get("predicates"), body.get("objects")
            if found[0] is None or found[1] is None:
                raise self._wrong(body, name, "a pair has predicates and objects")
            predicates, objects = found[0], found[1]
            graphs = self._as_list(body.get("graphs"))
            typed = {
                key: self._scalar(value, key)
                for key, value in body.items()
                if key in ("datatype", "language", "type")
            }
        is_type = False
        for predicate in self._as_list(predicates):
            text = predicate.text if isinstance(predicate, Scalar) else ""
            if text == "a":
                predicate = Scalar(RDF + "type", predicate.line)
            is_type = is_type or (
                isinstance(predicate, Scalar) and self._expanded(predicate.text) == RDF + "type"
            )
            self._add(node, "predicateMap", self._term(name, predicate, "IRI"))
        for graph in graphs:
            self._add(node, "graphMap", self._term(name, graph, "IRI"))
        for one in self._as_list(objects):  # or lists [value, datatype or language]
            self._add(node, "objectMap", self._object(name, one, "IRI" if is_type else None, typed))
        return node

    def _typed(self, given: Scalar) -> dict[str, Scalar]:
        if given.text.endswith("~lang"):
            return {"language": Scalar(given.text.removesuffix("~lang"), given.line)}
        return {"datatype": given}

    # -- term maps ------------------------------------------------------------------------------------

    def _object(
        self, name: str, given: YamlValue, default: str | None, typed: dict[str, Scalar]
    ) -> Node:
        if isinstance(given, Items):
            values = [self._scalar(value, "an object") for value in given.values]
            if len(values) > 2:
                raise self._wrong(
                    given, name, "an object is [value], perhaps with a datatype or language"
                )
            more = self._typed(values[1]) if len(values) == 2 else {}
            return self._value(name, values[0], default, typed | more)
        if isinstance(given, Entries):
            body = self._normal(given)
            other = next(
                (key for key in ("mapping", "quoted", "quotedNonAsserted") if body.get(key)), None
            )
            if other is not None:
                return self._other(name, body, other)
            return self._described(name, body, default, typed)
        return self._value(name, given, default, typed)

    def _term(self, name: str, given: YamlValue, default: str | None) -> Node:
        return self._object(name, given, default, {})

    def _described(
        self, name: str, body: Entries, default: str | None, typed: dict[str, Scalar]
    ) -> Node:
        self._check_keys(name, body, {"value", "type", "datatype", "language"})
        value = body.get("value")
        if value is None:
            raise self._wrong(body, name, "a term has a value")
        own = {key: self._scalar(v, key) for key, v in body.items() if key != "value"}
        return self._value(name, self._scalar(value, "value"), default, typed | own)

    def _value(
        self, name: str, given: Scalar, default: str | None, typed: dict[str, Scalar]
    ) -> Node:
        node = self._node(given.line)
        text = given.text
        suffix = SUFFIX.search(text)
        kind = default
        if suffix is not None:
            text = text[: suffix.start()]
            if suffix[1] == "lang":
                raise self._wrong(given, name, "a language stands before ~lang, as in ~en~lang")
            if suffix[1].endswith("lang"):
                typed = {"language": Scalar(suffix[1].removesuffix("~lang"), given.line), **typed}
            else:
                kind = TYPES[suffix[1]]
        if "type" in typed:
            kind = TYPES.get(typed["type"].text.lower())
            if kind is None:
                raise self._wrong(
                    typed["type"], name, "a type is iri, blanknode or literal", "type"
                )
        literal = "datatype" in typed or "language" in typed or kind == "Literal"
        references = REFERENCE.findall(text)
        if not references:
            self._constant(name, node, given, text, kind, literal)
        else:
            expanded = text if literal or text.startswith("$(") else self._expanded(text)
            if kind is None and not literal and (expanded != text or IRI_START.match(text)):
                said = f"{text} makes literals: {text}~iri makes IRIs, ~literal says that they are meant"
                logger.warning("%s", self._wrong(given, name, said))
            if REFERENCE.fullmatch(expanded):
                self._add(node, "reference", Literal(plain_reference(references[0])))
            else:
                self._add(node, "template", Literal(rml_template(expanded)))
            self._add(node, "termType", Iri(NEW_RML + (kind or "Literal")))
        if "datatype" in typed:
            self._dynamic(name, node, "datatype", typed["datatype"])
        if "language" in typed:
            self._dynamic(name, node, "language", typed["language"])
        return node

    def _constant(
        self, name: str, node: Node, given: Scalar, text: str, kind: str | None, literal: bool
    ) -> None:
        iri = self._expanded(text)
        is_iri = not literal and (kind == "IRI" or iri != text or IRI_START.match(text) is not None)
        if kind == "BlankNode":
            raise self._wrong(given, name, "a blank node is made of a reference")
        value: Value = Iri(iri) if is_iri else Literal(text)
        if is_iri and not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]*\Z", iri):
            if self._base is None:
                raise self._wrong(
                    given, name, f"{text!r} is not an IRI, and no prefix is declared for it"
                )
            value = Iri(self._base + iri)
        self._add(node, "constant", value)

    def _dynamic(self, name: str, node: Node, what: str, given: Scalar) -> None:
        """A datatype or language, which may be a reference itself."""
        if "$(" in given.text:
            inner = self._value(name, given, "IRI" if what == "datatype" else "Literal", {})
            self._add(node, f"{what}Map", inner)
        elif what == "datatype":
            self._add(node, what, Iri(self._expanded(given.text)))
        else:
            self._add(node, what, Literal(given.text))

    def _other(self, name: str, body: Entries, key: str) -> Node:
        node = self._node(body.line)
        self._check_keys(name, body, {key, "condition"})
        other = self._scalar(body.get(key), key)
        if other.text not in self._names:
            raise self._wrong(other, name, f"no mapping is called {other.text}")
        property = "parentTriplesMap" if key == "mapping" else "quotedTriplesMap"
        for triples_map in self._names[other.text]:
            self._add(node, property, triples_map)
            if key == "quotedNonAsserted":
                self.graph.add(triples_map, RDF + "type", Iri(NEW_RML + "NonAssertedTriplesMap"))
        for condition in self._as_list(body.get("condition")):
            self._condition(name, node, self._normal(self._entries(condition, "a condition", body)))
        return node

    def _condition(self, name: str, node: Node, body: Entries) -> None:
        function = body.get("function")
        text = self._scalar(function, "function").text if function is not None else ""
        pairs = self._as_list(body.get("parameters") or body.get("pms"))
        given = [
            [self._scalar(part, "a parameter") for part in pair.values]
            for pair in pairs
            if isinstance(pair, Items) and len(pair.values) >= 2
        ]
        if text.rpartition(":")[2] != "equal" or len(given) != 2 or len(pairs) != 2:
            raise self._wrong(body, name, "a join has the condition equal, of two references")
        try:
            sides = join_sides([[part.text for part in parts] for parts in given])
        except ValueError as error:
            raise self._wrong(body, name, str(error)) from None
        join = self._node(body.line)
        for side, (_, value, *_rest) in zip(sides, given, strict=True):
            found = REFERENCE.fullmatch(value.text)
            if found is None:
                raise self._wrong(value, name, "a join has the condition equal, of two references")
            self._add(join, side, Literal(plain_reference(found[1])))
        self._add(node, "joinCondition", join)

    # -- what is written ------------------------------------------------------------------------------

    def _expanded(self, text: str) -> str:
        prefix, colon, rest = text.partition(":")
        known = colon and not rest.startswith("//") and prefix in self.prefixes
        return self.prefixes[prefix] + rest if known else text

    def _node(self, line: int) -> BlankNode:
        node = BlankNode(f"y{next(self._numbers)}")
        self.graph.note_line(node, line)
        return node

    def _add(self, node: Node, name: str, value: Value, line: int | None = None) -> None:
        self.graph.add(node, NEW_RML + name, value, line)

    def _normal(self, entries: Entries) -> Entries:
        return Entries({KEYS.get(k, k): v for k, v in entries.items()}, entries.line)

    def _check_keys(self, name: str, body: Entries, known: set[str]) -> None:
        for key, value in body.items():
            if key not in known:
                raise self._wrong(value, name, REFUSED.get(key, "not a key of YARRRML here"), key)

    def _entries(self, value: YamlValue | None, what: str, around: YamlValue) -> Entries:
        if not isinstance(value, Entries):
            raise self._wrong(value or around, None, f"{what}: keys with values are asked for")
        return value

    def _optional(self, top: Entries, key: str) -> Entries:
        value = top.get(key)
        return Entries({}, top.line) if value is None else self._entries(value, key, top)

    def _scalar(self, value: YamlValue | None, what: str) -> Scalar:
        if not isinstance(value, Scalar):
            raise self._wrong(value or Scalar("", 1), None, f"{what}: a text is asked for")
        return value

    def _sources_of(self, body: Entries) -> list[YamlValue]:
        """Sources: names, lists [access~form, iterator], descriptions; one of them, or a list of them."""
        found = self._as_list(body.get("sources"))
        given = body.get("sources")
        first = found[0] if found else None
        if given is None or not isinstance(first, Scalar):
            return found
        return [given] if "~" in first.text and first.text not in self._sources else found

    @staticmethod
    def _as_list(value: YamlValue | None) -> list[YamlValue]:
        if value is None:
            return []
        return value.values if isinstance(value, Items) else [value]

    def _wrong(
        self, value: YamlValue, name: str | None, message: str, key: str | None = None
    ) -> Exception:
        return Place(self.file, name, value.line).error(message, key)
