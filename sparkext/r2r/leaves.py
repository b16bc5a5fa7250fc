"""The inputs of a join: what a group of patterns is made of once Join, WINDOW, GRAPH and FILTER are taken apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Bgp, Filter, Graph, Join, Path, ToMultiset, Window
from sparkext.language.expressions import Expression
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.r2r.function_table import is_rowwise
from sparkext.r2r.graph_variables import GraphUse, graph_use
from sparkext.r2r.inner_patterns import exists_of
from sparkext.r2r.stage_rows import Given, StageRows
from sparkext.rewriting.bound_variables import certain_variables
from sparkext.rewriting.filters import conjuncts
from static_data.terms import Iri


@dataclass(frozen=True)
class DefaultGraph:
    """The scope of a pattern outside WINDOW and GRAPH; `windows` are the query's windows without a name, whose content
    is merged with it, by the names that the engine gave them."""

    windows: tuple[Iri, ...] = ()


@dataclass(frozen=True)
class NamedGraph:
    """The scope of a pattern inside GRAPH: one graph, or each of them with a variable bound to its name."""

    name: Iri | Variable


@dataclass(frozen=True)
class InWindow:
    """The scope of a pattern inside WINDOW; `graph` is the GRAPH around it there, one element's.

    Without one, a pattern looks at the merge of the elements' graphs and default graphs, or, with `strict`, at the
    default graphs alone (RSP-QL*, Definition 14).
    """

    name: Iri
    graph: Iri | Variable | None = None
    strict: bool = False


DEFAULT_GRAPH = DefaultGraph()

Scope: TypeAlias = DefaultGraph | NamedGraph | InWindow


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

    @property
    def arrived(self) -> bool:
        """Whether only rows that have just arrived are found."""
        return getattr(self.pattern, "arrived", False)

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


def graph_of(scope: Scope) -> Iri | Variable | None:
    """The name of the GRAPH around a pattern in that scope."""
    match scope:
        case NamedGraph():
            return scope.name
        case InWindow():
            return scope.graph
    return None


def inside_graph(scope: Scope, name: Iri | Variable) -> Scope:
    """The scope of what stands in a GRAPH that has this scope: in a window, an element's graph."""
    if isinstance(scope, InWindow):
        return InWindow(scope.name, name, scope.strict)
    return NamedGraph(name)


def inside_window(node: Window) -> InWindow:
    """The scope of what stands in a WINDOW, whatever is around it: the window is a dataset of its own."""
    if not isinstance(node.name, Iri):
        # Those elsewhere have been spelt out before.
        raise UnsupportedFeatureError(
            "WINDOW with a variable is not supported here", *(node.position or (1, 1))
        )
    return InWindow(node.name, strict=node.strict)


@dataclass(frozen=True)
class Bind:
    """A variable that is computed from a solution's values, and left unbound by an error."""

    variable: Variable
    expression: Expression


@dataclass(frozen=True)
class Cluster:
    """A natural join of leaves and the conditions on it; the order of both means nothing.

    `binds` may be computed anywhere among the joins, each after those that it reads; conditions may read them.
    """

    leaves: tuple[Leaf, ...] = ()
    conditions: tuple[Expression, ...] = field(default=())
    binds: tuple[Bind, ...] = field(default=())

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of all leaves, each once."""
        return tuple(dict.fromkeys(v for leaf in self.leaves for v in leaf.variables))


def reads_no_window(node: Node, scope: Scope) -> bool:
    """Whether the pattern, in that scope, gives the same solutions at every instant."""
    if isinstance(node, Window | StageRows | Given):
        return False
    if isinstance(node, Bgp):
        return not (_reads_windows(scope) and node.patterns)
    if isinstance(node, Path):
        return not _reads_windows(scope)
    inner = inner_scope(node, scope) if isinstance(node, Graph) else scope
    asked = ((e.pattern, getattr(e, "scope", scope)) for e in exists_of(node))
    return all(reads_no_window(child, inner) for child in node.children) and all(
        reads_no_window(pattern, around) for pattern, around in asked
    )


def inner_scope(node: Graph | Window, scope: Scope) -> Scope:
    """The scope of what stands inside a GRAPH or WINDOW that stands in `scope`."""
    if isinstance(node, Graph):
        return inside_graph(scope, node.name)
    return inside_window(node)


def scope_variables(scope: Scope) -> tuple[Variable, ...]:
    """The variable of GRAPH ?g, which every pattern in it binds."""
    name = graph_of(scope)
    return (name,) if isinstance(name, Variable) else ()


def _reads_windows(scope: Scope) -> bool:
    return isinstance(scope, InWindow) or bool(isinstance(scope, DefaultGraph) and scope.windows)


def flatten(node: Node, scope: Scope) -> Cluster:
    """Take a group apart into what it joins and what it filters.

    Before: ``Filter(c, Join(Window(w, Bgp(t1)), Bgp(t2, t3)))``; after: leaves t1 in w, t2, t3, and condition c.

    A condition goes up to the cluster only if all its variables are bound in every solution of its group: then it
    says the same after a join with more patterns (FPush in Table 1 of the uncertainty paper, read backwards). One
    that draws lots for each solution stays.
    """
    match node:
        case Bgp():
            return Cluster(tuple(_leaf(pattern, scope) for pattern in node.patterns))
        case Join():
            left, right = flatten(node.left, scope), flatten(node.right, scope)
            return Cluster(left.leaves + right.leaves, left.conditions + right.conditions)
        case Window() | Graph():
            return flatten(node.input, inner_scope(node, scope))
        case Filter():
            inner = flatten(node.input, scope)
            parts = conjuncts(node.condition)
            bound = certain_variables(node.input) | set(scope_variables(scope))
            if all(set(part.variables) <= bound and not is_rowwise(part) for part in parts):
                return Cluster(inner.leaves, inner.conditions + parts)
            return Cluster((DerivedLeaf(node, scope),))
        case ToMultiset():
            return flatten(node.input, scope)
        case _:
            return Cluster((DerivedLeaf(node, scope),))


def flatten_group(node: Node, scope: Scope) -> Cluster:
    """As `flatten`, for a group that is joined with nothing else: every condition on it is one on the cluster.

    A variable that may stay unbound is final when the group's leaves are joined, so conditions may read it.
    """
    if isinstance(node, Filter):
        inner = flatten_group(node.input, scope)
        return Cluster(inner.leaves, inner.conditions + conjuncts(node.condition))
    return flatten(node, scope)


def _leaf(pattern: TriplePattern, scope: Scope) -> Leaf:
    if isinstance(scope, InWindow):
        return WindowLeaf(scope.name, pattern, graph=scope.graph, strict=scope.strict)
    if isinstance(scope, DefaultGraph) and scope.windows:
        return MergedLeaf(scope, pattern)
    return StaticLeaf(scope, pattern)
