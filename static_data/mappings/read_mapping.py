"""Mapping files: R2RML, RML and YARRRML in, a `RowMapping` out; what is not supported is refused with its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from static_data.errors import MissingFileError
from static_data.mappings.logical_sources import read_source
from static_data.mappings.mapping_graph import MappingGraph, Node, Value, read_mapping_graph
from static_data.mappings.row_mapping import (
    ConstantTerm,
    JoinedTerm,
    MappedQuad,
    MappedRows,
    Place,
    QuotedTerm,
    Reference,
    RowMapping,
    Source,
    TermMap,
)
from static_data.mappings.term_maps import (
    GRAPH,
    OBJECT,
    PREDICATE,
    SUBJECT,
    Position,
    TermMapReader,
    is_default_graph,
    reference_of,
)
from static_data.mappings.vocabulary import (
    JOIN,
    OBJECT_MAP,
    PREDICATE_OBJECT_MAP,
    SUBJECT_MAP,
    TRIPLES_MAP,
    short_name,
)
from static_data.mappings.yarrrml import read_yarrrml
from static_data.terms import RDF_TYPE, Iri

_YARRRML = (".yml", ".yaml", ".yarrrml")


def read_mapping(file: str | Path, base_iri: str | None = None) -> RowMapping:
    """Read a mapping: YARRRML by the endings .yml and .yaml, else R2RML and RML in any format of RDF.

    `base_iri` is what relative IRIs that rows make are put behind, where a triples map has no rml:baseIRI. Raises
    MappingError, MissingFileError, UnsupportedFormatError, MalformedRdfError.
    """
    if not Path(file).is_file():
        raise MissingFileError(str(file), "is a folder" if Path(file).is_dir() else "no such file")
    is_yaml = Path(file).suffix.lower() in _YARRRML
    graph = read_yarrrml(file) if is_yaml else read_mapping_graph(file)
    return mapping_of_graph(graph, base_iri)


def mapping_of_graph(graph: MappingGraph, base_iri: str | None = None) -> RowMapping:
    """The mapping that the triples of a file are; raises MappingError."""
    reader = _TriplesMaps(graph, base_iri)
    nodes = [
        node
        for node in graph.nodes()
        if graph.values(node, "logicalSource", "subjectMap", "subject")
    ]
    if not nodes:
        raise Place(graph.file).error("there is no triples map in it")
    by_source: dict[Source, dict[MappedQuad, None]] = {}
    for node in nodes:
        quads = reader.quads(node)
        if not reader.is_non_asserted(node):
            by_source.setdefault(reader.source(node), {}).update(dict.fromkeys(quads))
    rows = [MappedRows(source, tuple(quads)) for source, quads in by_source.items() if quads]
    if not rows:
        raise Place(graph.file).error("no triples map of it makes triples")
    return RowMapping(graph.file, tuple(rows))


@dataclass
class _TriplesMaps:
    """The triples maps of a graph, each read once."""

    graph: MappingGraph
    base_iri: str | None
    _sources: dict[Node, Source] = field(default_factory=dict)
    _quads: dict[Node, list[MappedQuad]] = field(default_factory=dict)
    _under_way: list[Node] = field(default_factory=list)

    def is_non_asserted(self, node: Node) -> bool:
        """Whether its triples are only quoted."""
        types = self.graph.values(node, RDF_TYPE.value)
        return any(
            isinstance(t, Iri) and short_name(t.value) == "NonAssertedTriplesMap" for t in types
        )

    def source(self, node: Node) -> Source:
        """The logical source of a triples map."""
        if node not in self._sources:
            reader = TermMapReader(self.graph, node, Source(""), None)
            found = reader.node(node, "logicalSource")
            if len(found) != 1:
                raise reader.place().error(
                    f"a triples map has one logical source (rml:logicalSource or rr:logicalTable), not {len(found)}"
                )
            self._sources[node] = read_source(reader, found[0])
        return self._sources[node]

    def reader(self, node: Node) -> TermMapReader:
        """The reader of the term maps of a triples map."""
        base = self.graph.values(node, "baseIRI")
        text = None
        if base:
            text = base[0].value if isinstance(base[0], Iri) else base[0].n3().strip('"')
        return TermMapReader(self.graph, node, self.source(node), text or self.base_iri)

    def quads(self, node: Node) -> list[MappedQuad]:
        """The quads that a row makes by a triples map."""
        if node in self._quads:
            return self._quads[node]
        reader = self.reader(node)
        if node in self._under_way:
            raise reader.place().error("its triples would quote themselves")
        self._under_way.append(node)
        reader.check(node, TRIPLES_MAP, "a triples map")
        subjects = self.subjects(node)
        maps = reader.node(node, "subjectMap")
        graphs = [g for map_ in maps for g in self._graphs(reader, map_)]
        quads: list[MappedQuad] = []
        for map_ in maps:
            for class_ in self.graph.values(map_, "class"):
                if not isinstance(class_, Iri):
                    raise reader.place(map_, "class").error("a class is an IRI", "rr:class")
                type_of = ConstantTerm(RDF_TYPE), ConstantTerm(class_)
                quads += [
                    MappedQuad(s, *type_of, g) for s, g in product(subjects, graphs or [None])
                ]
        for owner in reader.node(node, "predicateObjectMap"):
            quads += self._predicate_object(reader, owner, subjects, graphs)
        self._under_way.pop()
        self._quads[node] = quads
        return quads

    def subjects(self, node: Node) -> list[TermMap]:
        """The terms of a triples map's subject: one, but for several quoted triples."""
        reader = self.reader(node)
        maps = reader.node(node, "subjectMap")
        constants = self.graph.values(node, "subject")
        if len(maps) + len(constants) != 1:
            raise reader.place(node).error(
                f"a triples map has one subject map, not {len(maps) + len(constants)}"
            )
        if constants:
            return [reader.constant(constants[0], SUBJECT, node, "subject")]
        return self._terms(reader, maps[0], SUBJECT, SUBJECT_MAP)

    def _predicate_object(
        self,
        reader: TermMapReader,
        owner: Node,
        subjects: list[TermMap],
        graphs: list[TermMap | None],
    ) -> list[MappedQuad]:
        reader.check(owner, PREDICATE_OBJECT_MAP, "a predicate-object map")
        predicates = self._all(reader, owner, "predicate", PREDICATE)
        objects = self._all(reader, owner, "object", OBJECT)
        for terms, what in ((predicates, "predicate"), (objects, "object")):
            if not terms:
                raise reader.place(owner).error(f"a predicate-object map without a {what}")
        places = [*graphs, *self._graphs(reader, owner)] or [None]
        return [
            MappedQuad(*terms)
            for terms in product(subjects, predicates, objects, dict.fromkeys(places))
        ]

    def _all(
        self, reader: TermMapReader, owner: Node, name: str, position: Position
    ) -> list[TermMap]:
        values: list[Value] = self.graph.values(owner, name)
        found: list[TermMap] = [reader.constant(v, position, owner, name) for v in values]
        for node in reader.node(owner, f"{name}Map"):
            if position is OBJECT:
                found += self._terms(reader, node, position, OBJECT_MAP)
            else:
                found.append(reader.read(node, position))
        return found

    def _graphs(self, reader: TermMapReader, owner: Node) -> list[TermMap | None]:
        graphs = self._all(reader, owner, "graph", GRAPH)
        return [None if is_default_graph(graph) else graph for graph in graphs]

    # -- terms of other triples maps ------------------------------------------------------------------

    def _terms(
        self, reader: TermMapReader, node: Node, position: Position, allowed: frozenset[str]
    ) -> list[TermMap]:
        for name in ("parentTriplesMap", "quotedTriplesMap"):
            if not self.graph.values(node, name):
                continue
            reader.check(node, allowed, f"{position.called} map")
            other = self._other(reader, node, name)
            terms: list[TermMap]
            if name == "parentTriplesMap":
                terms = self.subjects(other)
            else:
                triples = dict.fromkeys(
                    QuotedTerm(q.subject, q.predicate, q.object) for q in self.quads(other)
                )
                terms = list(triples)
                if not terms:
                    raise reader.place(node, name).error(
                        f"{self.graph.title(other)} makes no triple", self.graph.shown(node, name)
                    )
            return self._joined(reader, node, name, other, terms)
        if self.graph.values(node, "joinCondition"):
            raise reader.place(node, "joinCondition").error(
                "a join condition belongs to an rml:parentTriplesMap or an rml:quotedTriplesMap",
                self.graph.shown(node, "joinCondition"),
            )
        return [reader.read(node, position, allowed)]

    def _other(self, reader: TermMapReader, node: Node, name: str) -> Node:
        found = reader.node(node, name)
        other = found[0]
        fine = len(found) == 1 and self.graph.values(other, "subjectMap", "subject")
        if not fine:
            raise reader.place(node, name).error(
                f"one triples map is asked for, not {', '.join(n.n3() for n in found)}",
                self.graph.shown(node, name),
            )
        return other

    def _joined(
        self, reader: TermMapReader, node: Node, name: str, other: Node, terms: list[TermMap]
    ) -> list[TermMap]:
        parent = self.source(other)
        place = reader.place(node, name)
        written = self.graph.shown(node, name)
        conditions = [
            self._condition(reader, c, parent) for c in reader.node(node, "joinCondition")
        ]
        if not conditions:
            if parent != reader.source:
                raise place.error(
                    f"{self.graph.title(other)} has another source: a join condition is needed",
                    written,
                )
            return terms
        if any(isinstance(term, JoinedTerm) or _joins(term) for term in terms):
            raise place.error(f"{self.graph.title(other)} joins itself: not supported", written)
        return [JoinedTerm(parent, term, tuple(conditions), place) for term in terms]

    def _condition(
        self, reader: TermMapReader, node: Node, parent: Source
    ) -> tuple[Reference, Reference]:
        reader.check(node, JOIN, "a join condition")
        found = []
        for name, source in (("child", reader.source), ("parent", parent)):
            text = reader.text(node, name)
            if text is None:
                raise reader.place(node).error(f"a join condition without rml:{name}")
            place = reader.place(node, name)
            found.append(reference_of(source, text, place, self.graph.shown(node, name)))
        return found[0], found[1]


def _joins(term: TermMap) -> bool:
    if isinstance(term, QuotedTerm):
        return any(_joins(t) for t in (term.subject, term.predicate, term.object))
    return isinstance(term, JoinedTerm)
