"""Which graphs a query's patterns look at: the session's, or those of its FROM and FROM NAMED clauses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sparkext.errors import UnknownGraphError
from sparkext.language.algebra import TriplePattern, Variable
from sparkext.language.query import DatasetClause
from sparkext.r2r.leaves import NamedGraph, StaticLeaf
from sparkext.r2r.solutions import column_name
from static_data.errors import UnknownGraphError as NotLoadedError
from static_data.terms import Iri

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from static_data.store import StaticStore


@dataclass(frozen=True)
class TableKey:
    """What decides the rows of a static pattern, whatever its variables are called.

    `graphs` are graph ids (None: every named graph, bound to a column); `constants` are the ids of subject, predicate
    and object, 0 for a variable, -1 for a term that no data holds; `columns` are the positions (s p o g = 0..3) shown.
    """

    graphs: tuple[int, ...] | None
    constants: tuple[int, int, int]
    columns: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    named: bool


class Dataset:
    """The RDF dataset of one query over a store (SPARQL 1.1, section 13)."""

    def __init__(self, store: StaticStore, clause: DatasetClause) -> None:
        self.store = store
        self._explicit = bool(clause.default or clause.named)
        self._default = tuple(self._graph_id(iri) for iri in clause.default)
        self._named = tuple(self._graph_id(iri) for iri in clause.named)
        self._named_iris = tuple(dict.fromkeys(clause.named))

    @property
    def identity(self) -> object:
        """Equal for datasets of the same graphs: kept parts of one serve the other."""
        return (self._explicit, self._default, self._named)

    @property
    def named_graphs(self) -> tuple[Iri, ...]:
        """The IRIs that GRAPH ?g ranges over."""
        if self._explicit:
            return self._named_iris
        names = (graph.text or "" for graph in self.store.graphs())
        return tuple(Iri(name[1:-1]) for name in names if name.startswith("<"))

    def _graph_id(self, name: Iri) -> int:
        try:
            return self.store.graph_id(name.value)
        except NotLoadedError:
            known = [graph.text[1:-1] for graph in self.store.graphs() if graph.text]
            raise UnknownGraphError(name.value, known) from None

    def _graphs(self, leaf: StaticLeaf) -> tuple[int, ...]:
        if not isinstance(leaf.graph, NamedGraph):
            return self._default if self._explicit else (0,)
        if isinstance(leaf.graph.name, Iri):
            wanted = self._graph_id(leaf.graph.name)
            return (wanted,) if not self._explicit or wanted in self._named else ()
        named = self._named if self._explicit else tuple(g.id for g in self.store.graphs() if g.id)
        return tuple(sorted(named))

    def key(self, leaf: StaticLeaf) -> TableKey:
        """What the pattern reads; raises UnknownGraphError for a graph that was never loaded."""
        named = isinstance(leaf.graph, NamedGraph) and isinstance(leaf.graph.name, Variable)
        positions: list[Any] = list(leaf.pattern)
        if named:
            positions.append(leaf.graph.name)  # type: ignore[union-attr]
        places = [
            [place for place, term in enumerate(positions) if term == variable]
            for variable in leaf.variables
        ]
        if not places:
            columns: tuple[int, ...] = (0,)  # a relation needs a column: all constants, any will do
        else:
            columns = tuple(p[0] for p in places)
        equal = tuple((p[0], other) for p in places for other in p[1:])
        return TableKey(self._graphs(leaf), self._constants(leaf.pattern), columns, equal, named)

    def _constants(self, pattern: TriplePattern) -> tuple[int, int, int]:
        def constant(term: Any) -> int:
            return 0 if isinstance(term, Variable) else self.store.lookup(term.n3()) or -1

        return (constant(pattern.subject), constant(pattern.predicate), constant(pattern.object))

    def rows(self, key: TableKey, names: Sequence[str]) -> DataFrame:
        """The pattern's rows read from the store's tables, with these column names."""
        graphs = key.graphs or ()
        parts = [self._graph_rows(graph, key) for graph in graphs]
        if not parts:
            parts = [self.store.quads(None).where(F.lit(False))]
        frame = reduce(lambda a, b: a.unionAll(b), parts)
        if len(parts) > 1 and not key.named:
            # Several graphs read as one are merged: an RDF graph is a set.
            frame = frame.drop("g").distinct().withColumn("g", F.lit(0).cast("bigint"))
        for first, second in key.equal:
            frame = frame.where(F.col("spog"[first]) == F.col("spog"[second]))
        chosen = zip(key.columns, names, strict=True)
        return frame.select(*(F.col("spog"[place]).alias(name) for place, name in chosen))

    def _graph_rows(self, graph: int, key: TableKey) -> DataFrame:
        subject, predicate, object_ = key.constants
        if predicate:
            frame = self.store.table(graph, predicate)
            frame = frame.select(
                "s",
                F.lit(predicate).cast("bigint").alias("p"),
                "o",
                F.lit(graph).cast("bigint").alias("g"),
            )
        else:
            frame = self.store.quads(graph).select("s", "p", "o", "g")
        if subject:
            frame = frame.where(F.col("s") == subject)
        if object_:
            frame = frame.where(F.col("o") == object_)
        return frame


def column_names(leaf: StaticLeaf) -> list[str]:
    """The column names of a pattern's relation: its variables', or a filler for a pattern of constants."""
    return [column_name(v) for v in leaf.variables] or ["_present"]
