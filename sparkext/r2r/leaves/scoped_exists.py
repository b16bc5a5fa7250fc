"""EXISTS with what it depends on: the graphs that it looks at, and the variables that it takes from around it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from sparkext.language.algebra import Graph, Project, Window
from sparkext.language.expressions import Exists, Expression
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, Scope, inner_scope, scope_variables
from sparkext.r2r.patterns.inner_patterns import map_expressions
from sparkext.r2r.patterns.substitution import free_variables


@dataclass(frozen=True)
class ScopedExists(Exists):
    """EXISTS wherever it is moved to: it reads the variables in `correlated` and looks at the graphs of `scope`."""

    scope: Scope = DEFAULT_GRAPH
    correlated: tuple[Variable, ...] = ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that it takes from around it."""
        return self.correlated


def scope_exists(node: Node, scope: Scope, outer: frozenset[Variable] = frozenset()) -> Node:
    """The pattern with each EXISTS told where it stands; `outer` are variables of solutions around the pattern.

    >>> from sparkext.language.algebra import Bgp, Filter

    >>> from sparkext.language.nodes import TriplePattern
    >>> x, y = Variable("x"), Variable("y")
    >>> inner, group = Bgp((TriplePattern(x, x, y),)), Bgp((TriplePattern(x, x, x),))
    >>> scope_exists(Filter(Exists(inner), group), DEFAULT_GRAPH).condition.variables
    (Variable(name='x'),)
    """
    below = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    if isinstance(node, Project):
        outer &= set(node.names)
    children = tuple(scope_exists(child, below, outer) for child in node.children)
    node = node.replace_children(children) if children else node
    if not expressions_of(node):
        return node
    visible = {v for child in node.children for v in child.variables} | outer
    visible |= set(scope_variables(scope))

    def put(part: Expression) -> Expression:
        if not isinstance(part, Exists):
            return part
        read = free_variables(part.pattern) | set(scope_variables(scope))
        seen = frozenset(visible) & read
        pattern = scope_exists(part.pattern, scope, seen)
        correlated = tuple(sorted(seen, key=lambda v: v.name))
        return ScopedExists(pattern, part.negated, scope, correlated, position=part.position)

    return map_expressions(node, lambda expression: expression.transform(put))


def turned(part: ScopedExists) -> ScopedExists:
    """NOT EXISTS for EXISTS and the other way round."""
    return dataclasses.replace(part, negated=not part.negated)
