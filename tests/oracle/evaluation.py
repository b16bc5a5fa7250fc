"""Every evaluation of a continuous query over a recorded stream, by Oxigraph."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TypeAlias

import pyoxigraph as ox

from tests.oracle.evaluation_instants import instants, shown
from tests.oracle.query_text import WINDOW_GRAPHS, ContinuousQuery, read_query, spell_out_graphs
from tests.oracle.recorded import Element, Streams

Row: TypeAlias = tuple[str | None, ...]
Bag: TypeAlias = Counter[Row]

_FRACTIONAL = re.compile(
    r'"([^"]*)"\^\^<http://www\.w3\.org/2001/XMLSchema#(decimal|double|float)>'
)


def static_store(default: str = "", named: Mapping[str, str] | None = None) -> ox.Store:
    """A store with N-Triples texts in its graphs."""
    store = ox.Store()
    store.load(default.encode(), ox.RdfFormat.N_TRIPLES)
    for graph, text in (named or {}).items():
        store.load(text.encode(), ox.RdfFormat.N_TRIPLES, to_graph=ox.NamedNode(graph))
    return store


def load_file(store: ox.Store, path: Path, graph: str | None = None) -> None:
    """Put an RDF file into a store, read by Oxigraph itself."""
    to_graph = None if graph is None else ox.NamedNode(graph)
    data = path.read_bytes()
    if path.suffix == ".gz":
        import gzip

        data = gzip.decompress(data)
    file_format = ox.RdfFormat.TURTLE if path.suffix == ".ttl" else ox.RdfFormat.N_TRIPLES
    store.bulk_load(data, file_format, to_graph=to_graph)


def evaluations(text: str, streams: Streams, static: ox.Store) -> dict[int, Bag]:
    """The answers at every instant, by instant, the streaming operator applied.

    Columns are in the order of the query's projection; `static` is left as it was.
    """
    return answers_by_instant(read_query(text), streams, static)[1]


def answers_by_instant(
    query: ContinuousQuery, streams: Streams, static: ox.Store
) -> tuple[tuple[str, ...], dict[int, Bag]]:
    """As `evaluations`, with the names of the columns."""
    quads = {
        id(e): _triples(e, number)
        for number, e in enumerate(e for elements in streams.values() for e in elements)
    }
    graphs = [g.value for g in static.named_graphs() if isinstance(g, ox.NamedNode)]
    sparql = spell_out_graphs(query.sparql, sorted(graphs))
    variables: tuple[str, ...] = ()
    found: dict[int, Bag] = {}
    before: Bag = Counter()
    for t in instants(query.windows, streams, query.every):
        for name, elements in shown(query.windows, streams, t).items():
            graph = ox.NamedNode(WINDOW_GRAPHS + name)
            static.remove_graph(graph)
            triples = {triple for e in elements for triple in quads[id(e)]}
            static.extend(ox.Quad(*triple, graph) for triple in triples)
        variables, now = select(static, sparql)
        found[t] = _streamed(query.operator, now, before)
        before = now
    for name in query.windows:
        static.remove_graph(ox.NamedNode(WINDOW_GRAPHS + name))
    return variables, found


def select(store: ox.Store, sparql: str) -> tuple[tuple[str, ...], Bag]:
    """The variables and the bag of answers of an ordinary query."""
    solutions = store.query(sparql)
    assert isinstance(solutions, ox.QuerySolutions)
    variables = tuple(v.value for v in solutions.variables)
    rows = [tuple(None if term is None else str(term) for term in row) for row in solutions]
    return variables, bag(rows)


def bag(rows: Iterable[Row]) -> Bag:
    """Answers as a multiset of N-Triples texts, written so that equal answers are equal texts.

    Blank nodes are all alike, as their labels mean nothing, and so are the lexical forms of a fractional number:
    XSD 1.0 and 1.1 have different canonical ones.

    >>> bag([("_:a", '"_:a"'), ("_:b", '"_:a"')])
    Counter({('_:', '"_:a"'): 2})
    """
    return Counter(tuple(t if t is None else _comparable(t) for t in row) for row in rows)


def _comparable(term: str) -> str:
    if term.startswith("_:"):
        return "_:"
    number = _FRACTIONAL.fullmatch(term)
    if number is None:
        return term
    lexical, datatype = number.groups()
    value = Decimal(lexical).normalize() if datatype == "decimal" else float(lexical)
    return f"{value} {datatype}"


def _streamed(operator: str, now: Bag, before: Bag) -> Bag:
    """RStream keeps all; IStream and DStream tell each mapping once, by membership (Definitions 20-22)."""
    if operator == "RSTREAM":
        return now
    new, old = (now, before) if operator == "ISTREAM" else (before, now)
    return Counter(row for row in new if row not in old)


def _triples(element: Element, number: int) -> list[tuple[ox.NamedNode, ...]]:
    """Triples of an element with blank nodes of its own."""
    text = "\n".join((*element.triples, *element.about))
    return [
        tuple(_scoped(term, number) for term in (q.subject, q.predicate, q.object))
        for q in ox.parse(text.encode(), ox.RdfFormat.N_TRIPLES)
    ]


def _scoped(term: ox.NamedNode, number: int) -> ox.NamedNode:
    return ox.BlankNode(f"e{number}x{term.value}") if isinstance(term, ox.BlankNode) else term
