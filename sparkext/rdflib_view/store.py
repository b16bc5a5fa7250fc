"""A live `rdflib.store.Store` over an engine's static data, for reading."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NoReturn

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.store import Store

from sparkext.answers.rdflib_bridge import node_text, to_rdflib
from sparkext.argument_checks import check
from sparkext.errors import CqelsError, ReadOnlyStoreError
from sparkext.rdflib_view.nodes import NodeTable
from sparkext.rdflib_view.sparql import EngineSparql
from static_data.errors import MalformedTermError
from static_data.graph_names import DEFAULT_GRAPH, graph_name_text
from static_data.triple_lookups import TripleLookups

if TYPE_CHECKING:
    from rdflib.query import Result

    from sparkext.runtime.parts.engine_parts import EngineParts

_FIRST_ROWS, _MORE_ROWS = 32, 4096
_MOST_NAMES = 1000  # each rdflib.Graph(store) has another one

_Row = tuple[int, int, int, tuple[int, ...]]
"""A triple as ids, and the graphs that it is in."""


class EngineStore(Store):
    """The static data of an engine; made by `Engine.rdflib_store`.

    Without `graph` it has all graphs, and is for `rdflib.Dataset(store)`, `rdflib.Graph(store, name)` or, the default
    graph, `rdflib.Graph(store)`; with one it has that graph alone, by whatever name. What is iterated is the data of
    the moment at which it began. Blank nodes keep the labels that answers of the engine show. Whatever would change the
    data raises ReadOnlyStoreError; terms that rdflib has no class for raise TypeError when they are come to.
    """

    formula_aware = False
    transaction_aware = False

    def __init__(
        self,
        parts: EngineParts,
        select: Any,
        graph: str | None = None,
        sparql: str = "rdflib",
    ) -> None:
        check.graph("graph", graph)
        if sparql not in ("rdflib", "engine"):
            raise check.wrong("sparql", '"rdflib" or "engine"', sparql)
        self.context_aware = self.graph_aware = graph is None
        super().__init__()
        self._parts = parts
        self._graph = None if graph is None else to_rdflib(graph_name_text(graph))
        self._lookups = TripleLookups(parts.spark, parts.store)
        self._nodes = NodeTable(parts.store, self._lookups.texts)
        self._sparql = EngineSparql(parts, select) if sparql == "engine" else None
        self._contexts: dict[int, rdflib.Graph] = {}
        self._named_then: tuple[int, dict[Any, list[int]]] = (-1, {})
        self._namespaces: dict[str, rdflib.URIRef] = {}
        self._prefixes: dict[rdflib.URIRef, str] = {}

    # -- reading ----------------------------------------------------------------------------------

    def triples(
        self, triple_pattern: Any, context: Any = None
    ) -> Iterator[tuple[tuple[Any, Any, Any], Iterator[Any]]]:
        """The triples that match (None: anything), each with the graphs that it is in, among those asked for."""
        self._parts.check_open()
        graphs = self._graph_ids(context)
        found = self._found(triple_pattern, graphs)
        for triple, places in found:
            yield triple, iter([self._context(graph) for graph in places])

    def _found(
        self, pattern: Any, graphs: list[int] | None
    ) -> Iterator[tuple[tuple[Any, Any, Any], tuple[int, ...]]]:
        store = self._parts.store
        begun = False
        while True:
            version = store.version
            bound = self._nodes.ids(pattern)
            if bound is None:
                return
            rows = self._rows(graphs, *bound)
            size = _FIRST_ROWS
            try:
                while block := list(islice(rows, size)):
                    size = _MORE_ROWS
                    failure: TypeError | None = None
                    try:
                        nodes = self._nodes_of(block)
                    except TypeError as error:
                        failure, block = error, self._before_odd(block)
                        nodes = self._nodes_of(block)
                    begun = True
                    for s, p, o, places in block:
                        yield (nodes[s], nodes[p], nodes[o]), places
                    if failure is not None:
                        raise failure
                return
            except MalformedTermError:
                # Terms of triples that are gone may be gone, too.
                if store.version == version:
                    raise
                if begun:
                    raise CqelsError("the static data changed while they were iterated") from None

    def _nodes_of(self, block: list[_Row]) -> dict[int, Any]:
        return self._nodes.nodes({i for s, p, o, _ in block for i in (s, p, o)})

    def _before_odd(self, block: list[_Row]) -> list[_Row]:
        """The rows before the first one with a term that rdflib has no class for."""
        for place, (s, p, o, _) in enumerate(block):
            try:
                self._nodes.nodes((s, p, o))
            except TypeError:
                return block[:place]
        return block

    def _rows(
        self, graphs: list[int] | None, s: int | None, p: int | None, o: int | None
    ) -> Iterator[_Row]:
        """Distinct triples as ids, with the graphs that they are in."""
        several: dict[tuple[int, int], tuple[int, ...]] = {}
        waiting: int | None = None
        shared = self._shared_predicates(graphs, p)
        for (graph, predicate), pairs in self._lookups.rows(graphs, s, p, o):
            if waiting is not None and predicate != waiting:
                yield from _of_predicate(waiting, several)
                several, waiting = {}, None
            if predicate in shared:
                waiting = predicate
                for pair in pairs:
                    several[pair] = (*several.get(pair, ()), graph)
            else:
                for subject, value in pairs:
                    yield subject, predicate, value, (graph,)
        if waiting is not None:
            yield from _of_predicate(waiting, several)

    def _shared_predicates(self, graphs: list[int] | None, p: int | None) -> set[int]:
        if graphs is not None and len(graphs) == 1:
            return set()
        seen: set[int] = set()
        shared: set[int] = set()
        for _, predicate in self._lookups.keys(graphs, p):
            (shared if predicate in seen else seen).add(predicate)
        return shared

    def __len__(self, context: Any = None) -> int:
        self._parts.check_open()
        graphs = self._graph_ids(context)
        shared = self._shared_predicates(graphs, None)
        tables = self._parts.store.tables
        alone = [key for key in self._lookups.keys(graphs, None) if key[1] not in shared]
        several = (self._rows(graphs, None, p, None) for p in shared)
        return sum(map(tables.rows, alone)) + sum(1 for rows in several for _ in rows)

    def contexts(self, triple: Any = None) -> Iterator[Any]:  # type: ignore[override]
        """The graphs, the default graph first, or those that a triple is in."""
        self._parts.check_open()
        if triple is None or tuple(triple) == (None, None, None):
            yield from [self._context(graph.id) for graph in self._parts.store.graphs()]
            return
        found = {graph for _, places in self._found(triple, None) for graph in places}
        yield from map(self._context, sorted(found))

    def _context(self, graph: int) -> rdflib.Graph:
        known = self._contexts.get(graph)
        if known is None:
            name = DATASET_DEFAULT_GRAPH_ID
            if graph != DEFAULT_GRAPH:
                name = self._nodes.nodes({graph})[graph]
            known = self._contexts[graph] = rdflib.Graph(self, name)
        return known

    def _graph_ids(self, context: Any) -> list[int] | None:
        """The graphs that are meant; None: all."""
        if self._graph is not None:
            return self._named(self._graph)
        if context is None:
            return None
        if isinstance(context, rdflib.ConjunctiveGraph):  # a Dataset is one
            return None if context.default_union else [DEFAULT_GRAPH]
        return self._named(getattr(context, "identifier", context))

    def _named(self, name: Any) -> list[int]:
        version = self._parts.store.version
        if self._named_then[0] != version or len(self._named_then[1]) > _MOST_NAMES:
            self._named_then = (version, {})
        known = self._named_then[1].get(name)
        if known is None:
            known = self._named_then[1][name] = self._find_named(name)
        return known

    def _find_named(self, name: Any) -> list[int]:
        if name == DATASET_DEFAULT_GRAPH_ID:
            return [DEFAULT_GRAPH]
        wanted = self._nodes.id(name)
        if isinstance(name, rdflib.BNode):
            # rdflib gives a graph without a name a blank node for one.
            there = any(graph.id == wanted for graph in self._parts.store.graphs())
            return [wanted] if wanted is not None and there else [DEFAULT_GRAPH]
        return [] if wanted is None else [wanted]

    # -- SPARQL -----------------------------------------------------------------------------------

    def query(
        self,
        query: Any,
        initNs: Mapping[str, Any],  # noqa: N803
        initBindings: Mapping[str, Any],  # noqa: N803
        queryGraph: Any,  # noqa: N803
        **kwargs: Any,
    ) -> Result:
        """The engine's answers, where the store was made so; NotImplementedError has rdflib evaluate the query."""
        self._parts.check_open()
        if self._sparql is None:
            raise NotImplementedError
        if self._graph is not None:
            graphs: Any = node_text(self._graph)
        elif queryGraph == "__UNION__" or queryGraph == DATASET_DEFAULT_GRAPH_ID:
            graphs = queryGraph
        elif isinstance(queryGraph, rdflib.BNode) and self._named(queryGraph) == [DEFAULT_GRAPH]:
            graphs = None
        else:
            graphs = node_text(queryGraph)
        return self._sparql.answer(query, initNs or {}, initBindings or {}, graphs, kwargs)

    # -- namespaces -------------------------------------------------------------------------------

    def bind(self, prefix: str, namespace: rdflib.URIRef, override: bool = True) -> None:
        """Have a prefix stand for a namespace, in this store; what stands without `override`, stays."""
        known, called = self._namespaces.get(prefix), self._prefixes.get(namespace)
        if not override and (known is not None or called is not None):
            return
        if known is not None:
            self._prefixes.pop(known, None)
        if called is not None:
            self._namespaces.pop(called, None)
        self._namespaces[prefix] = namespace
        self._prefixes[namespace] = prefix

    def namespace(self, prefix: str) -> rdflib.URIRef | None:
        """The namespace of a prefix."""
        return self._namespaces.get(prefix)

    def prefix(self, namespace: rdflib.URIRef) -> str | None:
        """The prefix of a namespace."""
        return self._prefixes.get(namespace)

    def namespaces(self) -> Iterator[tuple[str, rdflib.URIRef]]:
        """Prefixes with their namespaces."""
        yield from list(self._namespaces.items())

    # -- what is not there ------------------------------------------------------------------------

    def add(self, triple: Any, context: Any, quoted: bool = False) -> NoReturn:
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError

    def addN(self, quads: Iterable[Any]) -> NoReturn:  # noqa: N802
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError

    def remove(self, triple: Any, context: Any = None) -> NoReturn:
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError

    def update(self, *arguments: Any, **options: Any) -> NoReturn:
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError

    def add_graph(self, graph: Any) -> None:
        """Nothing: a graph is there once it holds something."""

    def remove_graph(self, graph: Any) -> NoReturn:
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError

    def destroy(self, configuration: str) -> NoReturn:
        """Raises ReadOnlyStoreError."""
        raise ReadOnlyStoreError


def _of_predicate(
    predicate: int, rows: Mapping[tuple[int, int], tuple[int, ...]]
) -> Iterator[_Row]:
    for (subject, value), places in rows.items():
        yield subject, predicate, value, places
