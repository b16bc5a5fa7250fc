"""Numbers for expressions that stand at several places of a pattern, so that what is counted there is told apart."""

from __future__ import annotations

import dataclasses
from collections import Counter

from sparkext.language.expressions import And, Exists, Expression
from sparkext.language.nodes import Node
from sparkext.r2r.patterns.inner_patterns import has_exists, map_expressions


def number_occurrences(pattern: Node) -> Node:
    """The same pattern, in which of equal filters, BINDs and other expressions each has another `occurrence`.

    The parts of an And chain count by themselves. Numbers follow from the pattern alone, not from orders of joins.

    >>> from sparkext.language.algebra import Bgp, Filter, Union

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> twice = Filter(VariableReference(Variable("a")), Bgp())
    >>> numbered = number_occurrences(Union(twice, twice))
    >>> numbered.left.condition.occurrence, numbered.right.condition.occurrence, numbered == Union(twice, twice)
    (0, 1, True)
    """
    return _Numbering().node(pattern)


class _Numbering:
    def __init__(self) -> None:
        self._seen: Counter[Expression] = Counter()

    # Not by `transform`: what differs in numbers alone is equal, and would be left as it was.
    def node(self, node: Node) -> Node:
        children = tuple(map(self.node, node.children))
        if children:
            node = node.replace_children(children)
        return map_expressions(node, self._expression)

    def _expression(self, expression: Expression) -> Expression:
        if isinstance(expression, And):
            return expression.replace_children(tuple(map(self._expression, expression.children)))
        number = self._seen[expression]
        self._seen[expression] += 1
        inner = self._inside(expression)
        return dataclasses.replace(inner, occurrence=number) if number else inner

    def _inside(self, expression: Expression) -> Expression:
        """The expression with the patterns of EXISTS numbered, too."""
        if isinstance(expression, Exists):
            return dataclasses.replace(expression, pattern=self.node(expression.pattern))
        if not has_exists(expression):
            return expression
        return expression.replace_children(tuple(map(self._inside, expression.children)))
