"""Which graphs a query's patterns look at: the session's, or those of its FROM and FROM NAMED clauses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from sparkext.errors import UnknownGraphError
from sparkext.language.nodes import Variable
from sparkext.language.query import DatasetClause
from sparkext.r2r.functions.variable_columns import column_name
from sparkext.r2r.leaves.leaf import StaticLeaf
from sparkext.r2r.leaves.scopes import NamedGraph
from sparkext.r2r.patterns.pattern_places import PatternPlaces, pattern_text
from sparkext.r2r.relations.static_reads import StaticRead
from static_data.errors import UnknownGraphError as NotLoadedError
from static_data.terms import Iri, Term

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.bridge.engine_room import EngineRoom
    from static_data.storage.row_edits import RowEdits
    from static_data.store import StaticStore


@dataclass(frozen=True)
class TableKey:
    """What decides the rows of a static pattern, whatever its variables are called.

    `graphs` are graph ids (None: every named graph, bound to a column); `constants` are the ids of subject, predicate
    and object, 0 for a variable or a quoted triple with variables, -1 for a term that no data holds; `columns` are the
    places (s p o g = 0..3) shown. `quoted` are the places that hold quoted triples to be taken apart, `inner` the
    constants inside; their places are numbered as `PatternPlaces` does.
    """

    graphs: tuple[int, ...] | None
    constants: tuple[int, int, int]
    columns: tuple[int, ...]
    equal: tuple[tuple[int, int], ...]
    named: bool
    quoted: tuple[int, ...] = ()
    inner: tuple[int, ...] = ()

    @property
    def merged(self) -> bool:
        """Whether several graphs are read as one: an RDF graph is a set."""
        return len(self.graphs or ()) > 1 and not self.named

    @property
    def spec(self) -> str:
        """The pattern as the JVM reads it; the graph has been seen to."""
        constants = (*self.constants, 0, *self.inner)
        return pattern_text(constants, self.quoted, self.columns, self.equal)


class Dataset:
    """The RDF dataset of one query over a store (SPARQL 1.1, section 13)."""

    def __init__(self, store: StaticStore, clause: DatasetClause, room: EngineRoom) -> None:
        self.store = store
        self._room = room
        self._explicit = bool(clause.default or clause.named)
        self._default = tuple(self._graph_id(iri) for iri in clause.default)
        self._named = tuple(self._graph_id(iri) for iri in clause.named)
        self._named_iris = tuple(dict.fromkeys(clause.named))
        self.reads: set[StaticRead] = set()
        self._held: dict[object, object] | None = {}
        self._noted: list[set[StaticRead]] = [self.reads]
        self._listed: tuple[Iri, ...] | None = None

    def hold(self, key: object, relation: object) -> None:
        """Have a static relation stay, known by what it holds, as long as the query does."""
        if self._held is not None:
            self._held[key] = relation

    def let_go(self) -> None:
        """Hold none of those before any longer."""
        if self._held is not None:
            self._held.clear()

    def close(self) -> None:
        """The query has ended: from now on nothing is held, whoever still asks."""
        self._held = None

    @property
    def identity(self) -> object:
        """Equal for datasets of the same graphs: kept parts of one serve the other."""
        return (self._explicit, self._default, self._named)

    @property
    def named_graphs(self) -> tuple[Iri, ...]:
        """The IRIs that GRAPH ?g ranges over; a query that has asked is touched by any change once there are others."""
        if self._explicit:
            return self._named_iris
        self._listed = self._iris()
        return self._listed

    def is_named(self, graph: Iri) -> bool:
        """Whether GRAPH finds a graph of that name; raises UnknownGraphError for one that was never loaded."""
        wanted = self._graph_id(graph)
        return not self._explicit or wanted in self._named

    def _iris(self) -> tuple[Iri, ...]:
        names = (graph.text or "" for graph in self.store.graphs())
        return tuple(Iri(name[1:-1]) for name in names if name.startswith("<"))

    def touched(self, tables: Collection[tuple[int, int]], lookup: Callable[[str], int]) -> bool:
        """Whether a change of these tables, by graph and predicate, concerns what was read so far."""
        if self._listed is not None and self._listed != self._iris():
            return True
        return any(read.touches(tables, lookup) for read in tuple(self.reads))

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

    def reads_of(self, leaf: StaticLeaf) -> frozenset[StaticRead]:
        """The tables that a pattern reads, whatever they hold now."""
        predicate = leaf.pattern.predicate
        text = None if isinstance(predicate, Variable) else predicate.n3()
        every = isinstance(leaf.graph, NamedGraph) and isinstance(leaf.graph.name, Variable)
        graphs = (None,) if every and not self._explicit else self._graphs(leaf)
        return frozenset(StaticRead(graph, text) for graph in graphs)

    @contextmanager
    def noting(self, reads: set[StaticRead]) -> Iterator[None]:
        """Have everything that is read in this block put into `reads`, too; `self.reads` has all of it."""
        self._noted.append(reads)
        try:
            yield
        finally:
            self._noted = [noted for noted in self._noted if noted is not reads]

    def note(self, reads: Iterable[StaticRead]) -> None:
        """These are read, too."""
        for noted in self._noted:
            noted.update(reads)

    def key(self, leaf: StaticLeaf) -> TableKey:
        """What the pattern reads; raises UnknownGraphError for a graph that was never loaded."""
        self.note(self.reads_of(leaf))
        named = isinstance(leaf.graph, NamedGraph) and isinstance(leaf.graph.name, Variable)
        places = PatternPlaces.of(leaf.pattern, leaf.graph.name if named else None)  # type: ignore[union-attr]
        subject, predicate, object_, _, *inner = places.constants(self._constant)
        return TableKey(
            self._graphs(leaf),
            (subject, predicate, object_),
            places.columns(leaf.variables),
            places.equal(),
            named,
            places.quoted,
            tuple(inner),
        )

    def _constant(self, term: Term) -> int:
        return self.store.lookup(term.n3()) or -1

    def rows(self, key: TableKey, names: Sequence[str]) -> DataFrame:
        """The pattern's rows read from the store's tables, with these column names."""
        graphs = key.graphs or ()
        parts = [self._graph_rows(graph, key) for graph in graphs]
        if not parts:
            parts = [self.store.quads(None).where(F.lit(False))]
        frame = reduce(lambda a, b: a.unionAll(b), parts)
        if key.merged:
            frame = frame.drop("g").distinct().withColumn("g", F.lit(0).cast("bigint"))
        if key.quoted:
            return self._room.match_quads(frame.select(*"spog"), key.spec, names)
        for first, second in key.equal:
            frame = frame.where(F.col("spog"[first]) == F.col("spog"[second]))
        chosen = zip(key.columns, names, strict=True)
        return frame.select(*(F.col("spog"[place]).alias(name) for place, name in chosen))

    def indexed(self, key: TableKey) -> tuple[int, Any, RowEdits] | None:
        """Graph and table, with index files, that have the pattern's rows, and its edits; None for other patterns."""
        graphs, (subject, predicate, object_) = key.graphs or (), key.constants
        if len(graphs) != 1 or predicate <= 0 or (subject and object_):
            return None
        shown = (2,) if subject else (0,) if object_ else (0, 2)
        if key.columns != shown or key.named or key.quoted or key.equal:
            return None
        tables = self.store.tables
        table = self.store.indexes.of(tables.whole.get((graphs[0], predicate)))
        return (
            None if table is None else (graphs[0], table, tables.edits_of((graphs[0], predicate)))
        )

    def in_memory(self, key: TableKey) -> list[Any] | None:
        """The JVM's tables that have the pattern's rows among theirs; None where some are in files."""
        predicate, tables = key.constants[1], self.store.tables
        graphs = frozenset(key.graphs or ())
        wanted = [t for t in tables.of_graph() if t[0] in graphs and predicate in (0, t[1])]
        return tables.contents(self._room.spark, sorted(wanted))

    def row_count(self) -> int:
        """How many triples all graphs have."""
        tables = self.store.tables
        return sum(map(tables.rows, tables.of_graph()))

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
