"""The leaves of a join: patterns in windows, in static graphs, in both merged, and anything else."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.r2r.leaves.scopes import (
    DEFAULT_GRAPH,
    DefaultGraph,
    NamedGraph,
    Scope,
    graph_of,
    reads_no_window,
)
from sparkext.r2r.patterns.graph_variables import GraphUse, graph_use
from sparkext.rewriting.bound_variables import certain_variables
from static_data.terms import Iri


@dataclass(frozen=True)
class WindowLeaf:
    """A triple pattern over a window's content; with `kept`, the distinct bindings of some of its variables only.

    `graph` and `strict` are those of its scope.
    """

    window: Iri
    pattern: TriplePattern
    kept: tuple[Variable, ...] | None = None
    graph: Iri | Variable | None = None
    strict: bool = False

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables bound, in the order of its columns: the graph's first."""
        if self.kept is not None:
            return self.kept
        return _with_graph(self.graph, self.pattern)

    @property
    def certain(self) -> frozenset[Variable]:
        """All of them."""
        return frozenset(self.variables)

    static = False


@dataclass(frozen=True)
class StaticLeaf:
    """A triple pattern over static graphs."""

    graph: DefaultGraph | NamedGraph
    pattern: TriplePattern

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables bound, the graph's first."""
        name = self.graph.name if isinstance(self.graph, NamedGraph) else None
        return _with_graph(name, self.pattern)

    @property
    def certain(self) -> frozenset[Variable]:
        """All of them."""
        return frozenset(self.variables)

    static = True


@dataclass(frozen=True)
class MergedLeaf:
    """A triple pattern over the default graph of a query with unnamed windows: static data and windows, merged."""

    graph: DefaultGraph
    pattern: TriplePattern

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables bound, in the order of its columns."""
        return self.pattern.variables

    @property
    def certain(self) -> frozenset[Variable]:
        """All of them."""
        return frozenset(self.variables)

    static = False

    @property
    def static_part(self) -> StaticLeaf:
        """The pattern over the static data alone."""
        return StaticLeaf(DEFAULT_GRAPH, self.pattern)


def _with_graph(name: Iri | Variable | None, pattern: TriplePattern) -> tuple[Variable, ...]:
    first = (name,) if isinstance(name, Variable) else ()
    return tuple(dict.fromkeys(first + pattern.variables))


@dataclass(frozen=True)
class DerivedLeaf:
    """Anything else: a union, an optional part, a sub-select, inline data; compiled by itself and then joined."""

    node: Node
    scope: Scope

    @cached_property
    def graph_variable(self) -> tuple[Variable, ...]:
        """The variable of GRAPH ?g around it, if the solutions have that column."""
        name = graph_of(self.scope)
        if isinstance(name, Variable) and graph_use(self.node) is GraphUse.EVERY:
            return (name,)
        return ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Its in-scope variables, the graph's first."""
        return tuple(dict.fromkeys(self.graph_variable + self.node.variables))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        """Those that every solution binds."""
        return certain_variables(self.node) | set(self.graph_variable)

    @cached_property
    def static(self) -> bool:
        """Whether no window is read in it."""
        return reads_no_window(self.node, self.scope)


Leaf: TypeAlias = WindowLeaf | StaticLeaf | MergedLeaf | DerivedLeaf


def has_arrived(leaf: Leaf) -> bool:
    """Whether only rows that have just arrived are found."""
    part = leaf.node if isinstance(leaf, DerivedLeaf) else getattr(leaf, "pattern", None)
    return bool(getattr(part, "arrived", False))
