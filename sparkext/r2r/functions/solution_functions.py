"""What functions need besides their arguments: the query's base, and a number for the solution at hand."""

from __future__ import annotations

import dataclasses
from itertools import count
from typing import Final

from sparkext.language.algebra import Extend, Filter, Group, LeftJoin, OrderBy
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import (
    Aggregate,
    BuiltinCall,
    Constant,
    Exists,
    Expression,
    VariableReference,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.functions.function_table import is_rowwise
from sparkext.r2r.patterns.inner_patterns import map_expressions
from static_data.terms import Literal

_ROW: Final = "_:row"


def complete_calls(pattern: Node, base_iri: str | None) -> Node:
    """Write out what calls say without words.

    IRI(?x) gets the base as its second argument. BNODE(?label) gets the number of its solution, which is bound below
    the BINDs, SELECT expressions and filters that belong together: they share blank nodes. What an aggregate or a group
    key computes anew for each row is bound below the group.
    """
    return _Completion(base_iri).node(pattern)


class _Completion:
    def __init__(self, base_iri: str | None) -> None:
        self._base = Constant(Literal(base_iri or ""))
        self._numbers = count()

    def node(self, node: Node) -> Node:
        """The pattern with all of its calls written out."""
        if isinstance(node, Extend | Filter):
            return self._chain(node)
        children = tuple(self.node(child) for child in node.children)
        if children != node.children:
            node = node.replace_children(children)
        match node:
            case LeftJoin() if node.condition is not None:
                return dataclasses.replace(node, condition=self._based(node.condition))
            case OrderBy():
                keys = tuple(
                    dataclasses.replace(key, expression=self._based(key.expression))
                    for key in node.keys
                )
                return dataclasses.replace(node, keys=keys)
            case Group():
                return self._group(node)
            case Match():
                return map_expressions(node, self._based)
        return node

    def _based(self, expression: Expression) -> Expression:
        def change(part: Expression) -> Expression:
            if isinstance(part, BuiltinCall) and part.name == "IRI" and len(part.arguments) == 1:
                return dataclasses.replace(part, arguments=(*part.arguments, self._base))
            if isinstance(part, Exists):
                return dataclasses.replace(part, pattern=self.node(part.pattern))
            return part

        return expression.transform(change)

    def _chain(self, node: Node) -> Node:
        """A chain of BINDs and filters, over which one solution stays one."""
        steps: list[Extend | Filter] = []
        while isinstance(node, Extend | Filter):
            steps.append(node)
            node = node.input
        node = self.node(node)
        row: Variable | None = None
        if any(_labels(expression) for step in steps for expression in expressions_of(step)):
            row = self._fresh()
            node = Extend(node, row, BuiltinCall("ROW", ()))
        for step in reversed(steps):
            step = dataclasses.replace(step, input=node)
            node = map_expressions(step, lambda e: self._numbered(self._based(e), row))
        return node

    def _numbered(self, expression: Expression, row: Variable | None) -> Expression:
        def change(part: Expression) -> Expression:
            if row is not None and _is_label(part):
                assert isinstance(part, BuiltinCall)
                return dataclasses.replace(
                    part, arguments=(*part.arguments, VariableReference(row))
                )
            return part

        return expression.transform(change)

    def _group(self, node: Group) -> Node:
        below = node.input
        keys: list[tuple[Variable, Expression]] = []
        aggregates: list[tuple[Variable, Aggregate]] = []
        for key, expression in node.keys:
            below, bound = self._bound(below, self._based(expression))
            keys.append((key, bound))
        for name, aggregate in node.aggregates:
            argument = aggregate.argument
            if argument is not None:
                below, argument = self._bound(below, self._based(argument))
            aggregates.append((name, dataclasses.replace(aggregate, argument=argument)))
        return dataclasses.replace(
            node, input=below, keys=tuple(keys), aggregates=tuple(aggregates)
        )

    def _bound(self, below: Node, expression: Expression) -> tuple[Node, Expression]:
        if not is_rowwise(expression):
            return below, expression
        variable = self._fresh()
        return Extend(below, variable, expression), VariableReference(variable)

    def _fresh(self) -> Variable:
        return Variable(f"{_ROW}{next(self._numbers)}")


def _is_label(part: Expression) -> bool:
    return isinstance(part, BuiltinCall) and part.name == "BNODE" and len(part.arguments) == 1


def _labels(expression: Expression) -> bool:
    return any(_is_label(part) for part in expression.walk())
