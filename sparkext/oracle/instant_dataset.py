"""The dataset of a query at one instant, as graphs of an Oxigraph store.

One graph of the store holds the default graph, one each named static graph, window and stream element; what they are
called in the query stands in a graph of names, so that also a blank node can be one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyoxigraph as ox

from sparkext.errors import CheckError, UnknownGraphError
from sparkext.language.nodes import Variable
from sparkext.language.query import Query
from sparkext.oracle.events.occurrences import ElementTriples
from sparkext.oracle.pattern_text import (
    IS_NAMED,
    IS_ROW,
    NAMES_GRAPH,
    Graphs,
    GraphSet,
    RowsGraph,
    window_iri,
)
from sparkext.oracle.profiles import Reading, merged_windows
from sparkext.oracle.quoted_triples import OWN, decode, encode, helper_quads
from sparkext.oracle.sightings import TIMESTAMP, Sighted, timestamp
from sparkext.oracle.sparql_functions import FUNCTIONS
from sparkext.oracle.streams import StaticGraphs, Streams, Triple, scoped, triples_of
from sparkext.recorded_streams import StreamElement
from static_data.terms import Iri, Term, parse_term

_DEFAULT = f"{OWN}default"
_StoredTriple = tuple[ox.NamedNode, ox.NamedNode, ox.NamedNode]


class InstantDataset:
    """Holds static data and all elements, and shows what the windows show.

    Read as bags, a triple that two elements of a window hold is there twice (the counters of RSP-QL).
    """

    def __init__(
        self, query: Query, streams: Streams, static: StaticGraphs, reading: Reading
    ) -> None:
        self.store = ox.Store()
        self._query = query
        self._profile = reading.profile
        self._merged = merged_windows(query, reading.profile)
        self._bags = reading.bags
        self._shown: dict[str, set[_StoredTriple]] = {}
        self._default, self._named = self._load_static(static)
        self._content: dict[int, str] = {}
        self._about: dict[int, str] = {}
        self._names: dict[int, str] = {}
        self._triples: dict[str, list[_StoredTriple]] = {}
        self._sighted: list[list[Sighted]] = []
        used = dict.fromkeys(window.stream.value for window in query.windows)
        for number, element in enumerate(e for stream in used for e in streams[stream]):
            self._load_element(element, number)
        for window in query.windows:
            if window.name is not None:
                self._name(window_iri(window.name.n3()), window.name)

    def show(self, contents: Sequence[Sequence[StreamElement]]) -> Graphs:
        """Put these elements into the windows, in the order of their clauses."""
        self._sighted = [[self._sighting(element) for element in shown] for shown in contents]
        windows: dict[str, GraphSet] = {}
        merged: dict[str, None] = {}
        for place, (declared, elements) in enumerate(
            zip(self._query.windows, contents, strict=True)
        ):
            parts = self._parts(elements)
            if declared.name is None or self._merged[place]:
                merged.update(dict.fromkeys(parts))
                continue
            named = {
                self._names[id(e)]: self._content[id(e)] for e in elements if id(e) in self._names
            }
            default = tuple(parts)
            if not self._bags:
                default = (f"{OWN}content:{place}",)
                self._fill(default[0], (t for part in parts for t in self._triples[part]))
            windows[declared.name.n3()] = GraphSet(default, named, shows=(place,))
        default = (_DEFAULT, *merged)
        if not self._bags:
            default = (_DEFAULT,)
            triples = (t for part in merged for t in self._triples[part] if t not in self._default)
            self._fill(_DEFAULT, triples)
        places = [n for n, d in enumerate(self._query.windows) if d.name is None or self._merged[n]]
        return Graphs(GraphSet(default, self._named, shows=tuple(places)), windows)

    def _sighting(self, element: StreamElement) -> Sighted:
        parts = (self._content[id(element)], self._about[id(element)])
        return element.time_ms, {triple for part in parts for triple in self._triples[part]}

    def element_triples(
        self, element: StreamElement, without: frozenset[Triple] = frozenset()
    ) -> ElementTriples:
        """What is left of an element without some of its triples."""
        graph, about = (
            frozenset(_decoded(t) for t in self._triples[part[id(element)]]) - without
            for part in (self._content, self._about)
        )
        name = None if element.graph is None else parse_term(self._names[id(element)])
        hidden = self._profile.only_times and name is not None
        return ElementTriples(graph, about if hidden else graph | about, name)

    def alone(self, element: StreamElement, without: frozenset[Triple] = frozenset()) -> Graphs:
        """The dataset of an event: as of a window of this element only, and static graphs by their names.

        `GRAPH ?g` has the element's graph only.
        """
        left = self.element_triples(element, without)
        content = self._content[id(element)]
        graph, default = f"{content}:left", f"{content}:alone"
        self._fill(graph, map(_encoded, left.graph))
        self._fill(default, map(_encoded, left.default))
        named = {}
        if left.name is not None:
            self._name(graph, left.name)
            named[left.name.n3()] = graph
        return Graphs(GraphSet((default,), named, self._named))

    def show_rows(self, name: str, rows: Iterable[Mapping[Variable, Term]]) -> RowsGraph:
        """Put solutions into a graph of that name, so that a pattern can have them."""
        graph = ox.NamedNode(f"{OWN}rows:{name}")
        self.store.clear_graph(graph)
        columns: dict[Variable, str] = {}
        shapes: dict[frozenset[Variable], str] = {}
        for number, row in enumerate(rows):
            node = ox.NamedNode(f"{graph.value}:row:{number}")
            shape = shapes.setdefault(frozenset(row), f"{graph.value}:shape:{len(shapes)}")
            self.store.add(ox.Quad(node, ox.NamedNode(IS_ROW), ox.NamedNode(shape), graph))
            for variable, term in row.items():
                column = columns.setdefault(variable, f"{graph.value}:column:{len(columns)}")
                self.store.add(ox.Quad(node, ox.NamedNode(column), encode(term), graph))
        bound = {iri: {v: columns[v] for v in columns if v in s} for s, iri in shapes.items()}
        return RowsGraph(graph.value, bound)

    def solutions(self, text: str, width: int) -> list[tuple[Term | None, ...]]:
        """What Oxigraph answers, of its first columns; raises CheckError."""
        functions = {**FUNCTIONS, ox.NamedNode(TIMESTAMP): timestamp(self._sighted)}
        try:
            found = self.store.query(
                text, base_iri=self._query.base_iri, custom_functions=functions
            )
            assert isinstance(found, ox.QuerySolutions)
            return [
                tuple(None if term is None else decode(term) for term in list(row)[:width])
                for row in found
            ]
        except (SyntaxError, ValueError, RuntimeError, OSError) as error:
            raise CheckError(f"Oxigraph cannot answer the query: {error}") from error

    def _parts(self, elements: Iterable[StreamElement]) -> list[str]:
        """The graphs whose merge is the default graph of a window with these elements."""
        parts = []
        for element in elements:
            # An element without a name has its triples in its default graph, beside no time triple.
            if not self._profile.only_times or element.graph is None:
                parts.append(self._content[id(element)])
            parts.append(self._about[id(element)])
        return parts

    def _fill(self, graph: str, triples: Iterable[_StoredTriple]) -> None:
        """Make the graph hold these triples beside what was loaded into it."""
        now, before = set(triples), self._shown.get(graph, set())
        name = ox.NamedNode(graph)
        for triple in before - now:
            self.store.remove(ox.Quad(*triple, name))
        self.store.extend(ox.Quad(*triple, name) for triple in now - before)
        self._shown[graph] = now

    # ---- loading

    def _load_static(self, static: StaticGraphs) -> tuple[set[_StoredTriple], dict[str, str]]:
        clause = self._query.dataset
        default, named = list(static.default), static.named
        if clause.default or clause.named:
            default = [t for iri in clause.default for t in _graph(static, iri)]
            named = {iri.n3(): _graph(static, iri) for iri in clause.named}
        graphs = {}
        for number, (name, triples) in enumerate(named.items()):
            graphs[name] = f"{OWN}graph:{number}"
            self._name(graphs[name], parse_term(name))
            self._load(graphs[name], triples)
        return set(self._load(_DEFAULT, default)), graphs

    def _load_element(self, element: StreamElement, number: int) -> None:
        scope = f"e{number}"
        key = id(element)
        self._content[key], self._about[key] = f"{OWN}element:{number}", f"{OWN}about:{number}"
        about = [*element.about]
        if element.time_triple is not None:
            about.append(element.time_triple)
        self._triples[self._content[key]] = self._load(
            self._content[key], triples_of(element.triples, scope)
        )
        self._triples[self._about[key]] = self._load(self._about[key], triples_of(about, scope))
        if element.graph is not None:
            name = scoped(parse_term(element.graph), scope)
            self._names[key] = name.n3()
            self._name(self._content[key], name)

    def _load(self, graph: str, triples: Iterable[Triple]) -> list[_StoredTriple]:
        stored: list[_StoredTriple] = []
        for s, p, o in dict.fromkeys(triples):
            stored.append((encode(s), encode(p), encode(o)))  # type: ignore[arg-type]
            for term in (s, o):
                self.store.extend(helper_quads(term))
        name = ox.NamedNode(graph)
        self.store.extend(ox.Quad(*triple, name) for triple in stored)
        # As the store has them: it keeps values, not their spelling.
        quads = self.store.quads_for_pattern(None, None, None, name)
        return [(quad.subject, quad.predicate, quad.object) for quad in quads]  # type: ignore[misc]

    def _name(self, graph: str, name: Term) -> None:
        quad = (
            ox.NamedNode(graph),
            ox.NamedNode(IS_NAMED),
            encode(name),
            ox.NamedNode(NAMES_GRAPH),
        )
        self.store.add(ox.Quad(*quad))


def _graph(static: StaticGraphs, iri: Iri) -> Sequence[Triple]:
    named: Mapping[str, Sequence[Triple]] = static.named
    if iri.n3() not in named:
        raise UnknownGraphError(iri.value, [name[1:-1] for name in named])
    return named[iri.n3()]


def _decoded(triple: _StoredTriple) -> Triple:
    s, p, o = map(decode, triple)
    return s, p, o


def _encoded(triple: Triple) -> _StoredTriple:
    s, p, o = map(encode, triple)
    return s, p, o  # type: ignore[return-value]
