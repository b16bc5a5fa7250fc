"""Where a pattern looks: at the default graph, a named graph, or the content of a window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Bgp, Graph, Path, Window
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.r2r.patterns.inner_patterns import exists_of
from sparkext.r2r.patterns.stage_rows import Given, LiveRows, StageRows
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
class RecordTriple:
    """A triple that a record of a stream has of its subject: the object as N-Triples writes it, None where it varies.

    `bare` says that it never stands in a named graph.
    """

    predicate: Iri
    object: str | None
    bare: bool

    def answers(self, pattern: TriplePattern, strict: bool) -> bool:
        """Whether a pattern over the subject finds it wherever it is; with `strict`, outside named graphs only.

        A pattern that asks for one value of several does not: few records would be of use, and every query with a value
        of its own would keep others.
        """
        if pattern.predicate != self.predicate or (strict and not self.bare):
            return False
        return isinstance(pattern.object, Variable) or pattern.object.n3() == self.object


@dataclass(frozen=True)
class InWindow:
    """The scope of a pattern inside WINDOW; `graph` is the GRAPH around it there, one element's.

    Without one, a pattern looks at the merge of the elements' graphs and default graphs, or, with `strict`, at the
    default graphs alone (RSP-QL*, Definition 14). `stars` are the triples that a record of its stream has, for each of
    its subjects.
    """

    name: Iri
    graph: Iri | Variable | None = None
    strict: bool = False
    stars: tuple[tuple[RecordTriple, ...], ...] = ()


@dataclass(frozen=True)
class StaticGraph(Graph):
    """GRAPH with the name of a static graph that is looked at even inside a window, as in events."""


@dataclass(frozen=True)
class RecordWindow(Window):
    """WINDOW over a stream of records; `stars` as `InWindow` has them."""

    stars: tuple[tuple[RecordTriple, ...], ...] = ()


DEFAULT_GRAPH = DefaultGraph()

Scope: TypeAlias = DefaultGraph | NamedGraph | InWindow


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
    stars = node.stars if isinstance(node, RecordWindow) else ()
    return InWindow(node.name, strict=node.strict, stars=stars)


def reads_no_window(node: Node, scope: Scope) -> bool:
    """Whether the pattern, in that scope, gives the same solutions at every instant."""
    if isinstance(node, Window | StageRows | LiveRows | Given):
        return False
    if isinstance(node, Bgp):
        return not (reads_windows(scope) and node.patterns)
    if isinstance(node, Path):
        return not reads_windows(scope)
    inner = inner_scope(node, scope) if isinstance(node, Graph) else scope
    asked = ((e.pattern, getattr(e, "scope", scope)) for e in exists_of(node))
    return all(reads_no_window(child, inner) for child in node.children) and all(
        reads_no_window(pattern, around) for pattern, around in asked
    )


def inner_scope(node: Graph | Window, scope: Scope) -> Scope:
    """The scope of what stands inside a GRAPH or WINDOW that stands in `scope`."""
    if isinstance(node, StaticGraph):
        return NamedGraph(node.name)
    if isinstance(node, Graph):
        return inside_graph(scope, node.name)
    return inside_window(node)


def scope_variables(scope: Scope) -> tuple[Variable, ...]:
    """The variable of GRAPH ?g, which every pattern in it binds."""
    name = graph_of(scope)
    return (name,) if isinstance(name, Variable) else ()


def reads_windows(scope: Scope) -> bool:
    """Whether a triple pattern in that scope looks at windows."""
    return isinstance(scope, InWindow) or bool(isinstance(scope, DefaultGraph) and scope.windows)
