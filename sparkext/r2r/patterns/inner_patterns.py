"""Walks over a pattern that also enter the patterns of EXISTS, which stand in expressions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from sparkext.language.algebra import Extend, Filter, Group, LeftJoin, OrderBy
from sparkext.language.event_patterns import Match, change_aggregates
from sparkext.language.expressions import Aggregate, Exists, Expression
from sparkext.language.nodes import Node
from sparkext.language.support import expressions_of


def map_expressions(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """The node with `change` applied to each of its expressions."""
    match node:
        case Filter():
            return dataclasses.replace(node, condition=change(node.condition))
        case LeftJoin() if node.condition is not None:
            return dataclasses.replace(node, condition=change(node.condition))
        case Extend():
            return dataclasses.replace(node, expression=change(node.expression))
        case Group():
            aggregates = tuple((name, _aggregate(a, change)) for name, a in node.aggregates)
            keys = tuple((name, change(key)) for name, key in node.keys)
            return dataclasses.replace(node, keys=keys, aggregates=aggregates)
        case OrderBy():
            keys_ = (dataclasses.replace(k, expression=change(k.expression)) for k in node.keys)
            return dataclasses.replace(node, keys=tuple(keys_))
        case Match() if node.aggregates:
            changed = change_aggregates(node.pattern, lambda a: _aggregate(a, change))
            return dataclasses.replace(node, pattern=changed)
    return node


def _aggregate(aggregate: Aggregate, change: Callable[[Expression], Expression]) -> Aggregate:
    changed = change(aggregate)
    assert isinstance(changed, Aggregate)
    return changed


def exists_of(node: Node) -> Iterator[Exists]:
    """The EXISTS that stand in a node's own expressions."""
    for expression in expressions_of(node):
        for part in expression.walk():
            if isinstance(part, Exists):
                yield part


def has_exists(expression: Expression) -> bool:
    """Whether EXISTS stands in the expression."""
    return any(isinstance(part, Exists) for part in expression.walk())


def transform_everywhere(node: Node, change: Callable[[Node], Node]) -> Node:
    """As `Node.transform`, the patterns of EXISTS included.

    >>> from sparkext.language.algebra import Bgp
    >>> doubted = Filter(Exists(Bgp()), Bgp())
    >>> print(transform_everywhere(doubted, lambda n: Filter(Exists(n), n) if n == Bgp() else n).condition.pattern)
    Filter(condition=Exists(pattern=Bgp(patterns=()), negated=False), input=Bgp(patterns=()))
    """

    def in_expression(expression: Expression) -> Expression:
        if isinstance(expression, Exists):
            return dataclasses.replace(
                expression, pattern=transform_everywhere(expression.pattern, change)
            )
        return expression

    def in_node(inner: Node) -> Node:
        return change(map_expressions(inner, lambda e: e.transform(in_expression)))

    return node.transform(in_node)
