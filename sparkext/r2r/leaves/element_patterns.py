"""The patterns of events: each is matched on one stream element at a time (RSEP-QL, equation 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
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
from sparkext.language.expressions import Exists, Expression
from sparkext.language.nodes import Node, Position, TriplePattern, Variable
from sparkext.language.support import expressions_of, query_word
from sparkext.r2r.functions.function_table import is_volatile
from sparkext.r2r.leaves.scoped_exists import ScopedExists
from sparkext.r2r.leaves.scopes import InWindow, Scope, inner_scope, reads_no_window
from sparkext.r2r.patterns.inner_patterns import map_expressions
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


def on_elements(node: Node, scope: Scope, event: tuple[int, int]) -> Node:
    """An event's pattern with its triple patterns matched on single elements.

    Before: ``Window(w, Join(Bgp(t1), Graph(g, Bgp(t2))))``; after the same over ``Bgp(t1 of ?element)`` and
    ``Bgp(t2 of ?element)``. Raises UnsupportedFeatureError for what cannot stand in an event.
    """
    return _Elements(event).node(node, scope)


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

    def node(self, node: Node, scope: Scope) -> Node:
        for expression in expressions_of(node):
            if is_volatile(expression):
                _refuse("a function with another value at each evaluation", node)
        node = map_expressions(node, self._expression)
        if reads_no_window(node, scope):
            return node
        if isinstance(node, Bgp):
            assert isinstance(scope, InWindow)
            patterns = (
                ElementPattern(
                    t.subject, t.predicate, t.object, t.position, scope.name, self._event, n
                )
                for t, n in zip(node.patterns, self._numbers, strict=False)
            )
            return replace(node, patterns=tuple(patterns))
        if not isinstance(
            node, Join | LeftJoin | Union | Filter | Extend | Graph | Window | Values
        ):
            _refuse(query_word(node), node)
        inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
        return node.replace_children(tuple(self.node(child, inner) for child in node.children))

    def _expression(self, expression: Expression) -> Expression:
        def in_exists(part: Expression) -> Expression:
            if not isinstance(part, ScopedExists):
                return part
            pattern = self.node(part.pattern, part.scope)
            if pattern == part.pattern:
                return part
            return replace(part, pattern=pattern, correlated=(*part.correlated, ELEMENT))

        return expression.transform(in_exists) if _asks(expression) else expression


def _asks(expression: Expression) -> bool:
    return any(isinstance(part, Exists) for part in expression.walk())


def _refuse(what: str, node: Node) -> None:
    raise UnsupportedFeatureError(
        f"{what} in an event is not supported", *(node.position or Position(1, 1))
    )
