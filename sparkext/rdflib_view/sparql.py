"""SPARQL queries that rdflib hands to its store, answered by the engine."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from sparkext.answers.rdflib_bridge import from_rdflib
from sparkext.errors import CqelsError, UnknownGraphError
from sparkext.language import parse_query
from sparkext.language.algebra import (
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Project,
    Reduced,
    Slice,
    ToMultiset,
    Values,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.query import DatasetClause, Query
from static_data.errors import StaticDataError
from static_data.graph_names import DEFAULT_GRAPH
from static_data.terms import Iri, Term

if TYPE_CHECKING:
    from rdflib.query import Result

    from sparkext.runtime.parts.engine_parts import EngineParts
    from sparkext.runtime.queries.prepared_query import PreparedQuery

_PREPARED = 16
_MODIFIERS = (Distinct, Extend, Filter, OrderBy, Project, Reduced, Slice)


class EngineSparql:
    """Prepares queries, the last ones kept, and answers them; raises NotImplementedError for what rdflib is to answer.

    That is what the engine does not read or run, and what rdflib sees otherwise: the union of several graphs as the
    default graph, GRAPH in a query of one graph, initial bindings that are blank nodes, or that patterns within
    patterns would have to know.
    """

    def __init__(self, parts: EngineParts, select: Callable[[Query], PreparedQuery]) -> None:
        self._parts = parts
        self._select = select
        self._prepared: OrderedDict[object, PreparedQuery] = OrderedDict()

    def answer(
        self,
        query: Any,
        prefixes: Mapping[str, Any],
        bindings: Mapping[Any, Any],
        graphs: str | None,
        options: Mapping[str, Any],
    ) -> Result:
        """The answers of a query, text or prepared by rdflib.

        `graphs` is the text of the graph that it is about, None for the default graph, or what rdflib says for all
        graphs and for a dataset.
        """
        base = options.get("base")
        if set(options) - {"base", "DEBUG"}:
            raise NotImplementedError
        if not isinstance(query, str):
            query, prefixes, base = getattr(query, "_original_args", (None, {}, None))
        if not isinstance(query, str):
            raise NotImplementedError
        names = {str(prefix): str(iri) for prefix, iri in (prefixes or {}).items()}
        values = {Variable(str(name).lstrip("?")): _bound(node) for name, node in bindings.items()}
        union = self._union() if graphs == "__UNION__" else None
        key = (query, base, tuple(names.items()), tuple(values.items()), graphs, union)
        prepared = self._prepared.pop(key, None)
        if prepared is None:
            prepared = self._prepare(query, base, names, values, graphs, union)
        self._prepared[key] = prepared
        while len(self._prepared) > _PREPARED:
            self._prepared.popitem(last=False)
        return prepared.answer().to_rdflib()

    def _prepare(
        self,
        text: str,
        base: str | None,
        prefixes: Mapping[str, str],
        values: Mapping[Variable, Term],
        graphs: str | None,
        union: DatasetClause | None,
    ) -> PreparedQuery:
        try:
            query = parse_query(text, base, prefixes, self._parts.rdf)
        except (CqelsError, StaticDataError):
            raise NotImplementedError from None
        chosen = bool(query.dataset.default or query.dataset.named)
        if not chosen:
            query = dataclasses.replace(query, dataset=_dataset(query, graphs, union))
        if values:
            query = dataclasses.replace(query, pattern=_with_values(query.pattern, values))
        try:
            return self._select(query)
        except UnknownGraphError:
            if chosen:
                raise  # rdflib would look for the graph in the web
            raise NotImplementedError from None
        except CqelsError:
            raise NotImplementedError from None

    def _union(self) -> DatasetClause:
        store = self._parts.store
        named = [graph.text for graph in store.graphs() if graph.text is not None]
        if not named:
            return DatasetClause()
        if store.row_count(DEFAULT_GRAPH) or any(not name.startswith("<") for name in named):
            raise NotImplementedError
        iris = tuple(Iri(name[1:-1]) for name in named)
        return DatasetClause(iris, iris)


def _bound(node: Any) -> Term:
    if isinstance(node, rdflib.BNode):
        raise NotImplementedError
    try:
        return from_rdflib(node)
    except TypeError:
        raise NotImplementedError from None


def _dataset(query: Query, graphs: str | None, union: DatasetClause | None) -> DatasetClause:
    if union is not None:
        return union
    if graphs == str(DATASET_DEFAULT_GRAPH_ID):
        return DatasetClause()
    if any(isinstance(part, Graph) for part in _parts_of(query.pattern)):
        raise NotImplementedError
    if graphs is None:
        return DatasetClause()
    if not graphs.startswith("<"):
        raise NotImplementedError
    return DatasetClause((Iri(graphs[1:-1]),))


def _with_values(pattern: Node, values: Mapping[Variable, Term]) -> Node:
    """The pattern with variables bound before all else is looked at, as rdflib has it."""
    if isinstance(pattern, _MODIFIERS):
        if isinstance(pattern, Extend) and pattern.variable in values:
            raise NotImplementedError
        (inner,) = pattern.children
        return pattern.replace_children((_with_values(inner, values),))
    if isinstance(pattern, LeftJoin):
        _check_plain(pattern.right)
        return dataclasses.replace(pattern, left=_with_values(pattern.left, values))
    _check_plain(pattern)
    return Join(Values(tuple(values), (tuple(values.values()),)), pattern)


def _check_plain(pattern: Node) -> None:
    """Refuse what sees more or less of a variable that is bound outside of it than of one inside."""
    seeing = (Extend, Filter, Group, LeftJoin, Minus, ToMultiset)
    if any(isinstance(part, seeing) for part in _parts_of(pattern)):
        raise NotImplementedError


def _parts_of(thing: Any) -> Iterator[Any]:
    """A value of the algebra, and all that it is made of."""
    yield thing
    if dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield from _parts_of(getattr(thing, field.name))
    elif isinstance(thing, tuple):
        for part in thing:
            yield from _parts_of(part)
