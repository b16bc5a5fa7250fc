"""The patterns of events: each is matched on one stream element at a time (RSEP-QL, equation 4)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import count

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import Expression, Not
from sparkext.language.nodes import Node, Position, TriplePattern, Variable
from sparkext.language.support import expressions_of, query_word
from sparkext.r2r.functions.function_table import is_volatile
from sparkext.r2r.leaves.scoped_exists import ScopedExists
from sparkext.r2r.leaves.scopes import (
    InWindow,
    NamedGraph,
    Scope,
    StaticGraph,
    inner_scope,
    reads_no_window,
)
from sparkext.r2r.patterns.inner_patterns import exists_of, has_exists, map_expressions
from static_data.terms import Iri

ELEMENT = Variable("_:element")
"""The element that a solution of an event comes from, as a number in the batch that arrived."""


@dataclass(frozen=True)
class ElementPattern(TriplePattern):
    """A triple pattern on each of the elements that entered a window last, with two more variables: the element, and
    the triple that matched.

    `event` and `number` tell it from all others of its query.
    """

    window: Iri | None = None
    event: tuple[int, int] = (0, 0)
    number: int = 0

    @property
    def arrived(self) -> bool:
        """That only what has just arrived is looked at."""
        return True

    @property
    def triple(self) -> Variable:
        """The variable of the triple, as the JVM writes it into a column of ids."""
        return Variable(f"_:triple {self.number}")

    @cached_property
    def plain(self) -> TriplePattern:
        """The pattern by itself."""
        return TriplePattern(self.subject, self.predicate, self.object, self.position)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in order of appearance, then the element and the triple."""
        return (*self.plain.variables, ELEMENT, self.triple)


def on_elements(
    node: Node,
    scope: Scope,
    window: InWindow,
    event: tuple[int, int],
    graphs: Callable[[], Collection[Iri]],
) -> Node:
    """The pattern of an event on that window with its triple patterns matched on single elements.

    Before: ``Window(w, Join(Bgp(t1), Graph(g, Bgp(t2))))``; after the same over ``Bgp(t1 of ?element)`` and
    ``Bgp(t2 of ?element)``. Raises UnsupportedFeatureError for what cannot stand in an event.

    GRAPH with a name is the element's graph where that is called so, and else the static graph among those that
    `graphs` gives, which is asked where there are such names: there is then an alternative for each name that an
    element may have, and one for all others.
    """
    made = _Elements(event)
    names = tuple(name for name in dict.fromkeys(_graph_names(node, scope)) if name in graphs())
    other = made.node(node, scope, frozenset(names))
    for name in names:
        other = Filter(Not(made.is_called(name, window)), other)
    ways: list[Node] = [other]
    for name in names:
        theirs = made.node(node, scope, frozenset(names) - {name})
        ways.append(Filter(made.is_called(name, window), theirs))
    return reduce(Union, ways)


def _graph_names(node: Node, scope: Scope) -> Iterator[Iri]:
    """The names in GRAPH inside a window, also in EXISTS."""
    if isinstance(node, Graph) and isinstance(scope, InWindow) and isinstance(node.name, Iri):
        yield node.name
    inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    for exists in exists_of(node):
        assert isinstance(exists, ScopedExists)
        yield from _graph_names(exists.pattern, exists.scope)
    for child in node.children:
        yield from _graph_names(child, inner)


def element_patterns(node: Node) -> list[ElementPattern]:
    """The patterns that `on_elements` made and whose triples are in the solutions, by their number."""
    found = [
        pattern
        for part in node.walk()
        if isinstance(part, Bgp)
        for pattern in part.patterns
        if isinstance(pattern, ElementPattern)
    ]
    return sorted(found, key=lambda pattern: pattern.number)


class _Elements:
    def __init__(self, event: tuple[int, int]) -> None:
        self._event = event
        self._numbers: Iterator[int] = count()

    def is_called(self, name: Iri, window: InWindow) -> ScopedExists:
        """Whether the element has a graph of that name."""
        subject, predicate, object_ = (Variable(f"_:{place} of an element") for place in "spo")
        triple = TriplePattern(subject, predicate, object_)
        graph = replace(window, graph=name)
        return ScopedExists(self._bgp(Bgp((triple,)), graph), False, graph, (ELEMENT,))

    def node(self, node: Node, scope: Scope, static: frozenset[Iri]) -> Node:
        """The pattern on elements; the graphs of the names in `static` are static."""
        for expression in expressions_of(node):
            if is_volatile(expression):
                _refuse("a function with another value at each evaluation", node)
        if isinstance(node, Graph) and isinstance(scope, InWindow) and node.name in static:
            _check_static(node)
            node = StaticGraph(node.name, node.input, position=node.position)
        node = map_expressions(node, lambda expression: self._expression(expression, static))
        if reads_no_window(node, scope):
            return node
        if isinstance(node, Bgp):
            return self._bgp(node, scope)
        if not isinstance(
            node, Join | LeftJoin | Union | Filter | Extend | Graph | Window | Values
        ):
            _refuse(query_word(node), node)
        inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
        children = (self.node(child, inner, static) for child in node.children)
        return node.replace_children(tuple(children))

    def _bgp(self, node: Bgp, scope: Scope) -> Bgp:
        assert isinstance(scope, InWindow)
        patterns = (
            ElementPattern(t.subject, t.predicate, t.object, t.position, scope.name, self._event, n)
            for t, n in zip(node.patterns, self._numbers, strict=False)
        )
        return replace(node, patterns=tuple(patterns))

    def _expression(self, expression: Expression, static: frozenset[Iri]) -> Expression:
        def in_exists(part: Expression) -> Expression:
            if not isinstance(part, ScopedExists):
                return part
            scope = part.scope
            if isinstance(scope, InWindow) and scope.graph in static:
                scope = NamedGraph(scope.graph)
            pattern = self.node(part.pattern, scope, static)
            if pattern == part.pattern or reads_no_window(pattern, scope):
                return replace(part, pattern=pattern, scope=scope)
            return replace(part, pattern=pattern, correlated=(*part.correlated, ELEMENT))

        return expression.transform(in_exists) if has_exists(expression) else expression


def _check_static(node: Graph) -> None:
    """Refuses GRAPH ?g inside: it would be about the element."""
    for part in node.input.walk():
        if isinstance(part, Graph) and isinstance(part.name, Variable):
            _refuse("GRAPH with a variable inside GRAPH with a name", part)


def _refuse(what: str, node: Node) -> None:
    raise UnsupportedFeatureError(
        f"{what} in an event is not supported", *(node.position or Position(1, 1))
    )
