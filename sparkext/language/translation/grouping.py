"""Grouping and aggregates: SELECT, HAVING and ORDER BY over groups (section 18.2.4.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sparkext.errors import QuerySyntaxError
from sparkext.language.algebra import Group
from sparkext.language.expressions import Aggregate, Expression, VariableReference
from sparkext.language.nodes import Node, Position, Variable

_START: Final = Position(1, 1)


class Grouping:
    """Collects the aggregates of one query level and rewrites expressions to speak of the groups'
    rows.

    Each different aggregate gets one hidden variable. A variable that is no key is an error in
    SELECT and stands for SAMPLE of itself in HAVING and ORDER BY, as section 18.2.4.1 has it.
    """

    def __init__(
        self,
        keys: tuple[tuple[Variable, Expression], ...],
        fresh_variable: Callable[[str], Variable],
    ) -> None:
        self._keys = keys
        self._fresh_variable = fresh_variable
        self._aggregates: dict[Aggregate, Variable] = {}
        self.aliases: set[Variable] = set()

    def require_key(self, variable: Variable, position: Position | None) -> None:
        """Raise a syntax error unless the variable has one value in a group."""
        if variable not in self.aliases and all(variable != key for key, _ in self._keys):
            line, column = position or _START
            raise QuerySyntaxError(
                f"{variable} is neither in GROUP BY nor inside an aggregate", line, column
            )

    def over_groups(self, expression: Expression, *, sample: bool) -> Expression:
        """Return the expression with aggregates (and, when `sample`, variables that are no keys)
        replaced.
        """
        if isinstance(expression, Aggregate):
            return self._reference(expression, expression.position)
        if isinstance(expression, VariableReference):
            variable = expression.variable
            if not sample:
                self.require_key(variable, expression.position)
            elif variable not in self.aliases and all(variable != key for key, _ in self._keys):
                return self._reference(Aggregate("SAMPLE", expression), expression.position)
            return expression
        children = tuple(self.over_groups(child, sample=sample) for child in expression.children)
        return (
            expression if children == expression.children else expression.replace_children(children)
        )

    def _reference(self, aggregate: Aggregate, position: Position | None) -> VariableReference:
        if aggregate not in self._aggregates:
            self._aggregates[aggregate] = self._fresh_variable("agg")
        return VariableReference(self._aggregates[aggregate], position=position)

    def group(self, pattern: Node, position: Position | None) -> Group:
        """Return the grouped pattern, with every aggregate met so far."""
        aggregates = tuple(
            (variable, aggregate) for aggregate, variable in self._aggregates.items()
        )
        return Group(pattern, self._keys, aggregates, position=position)


def has_aggregate(expression: Expression) -> bool:
    """Return whether an aggregate stands anywhere in the expression."""
    return any(isinstance(part, Aggregate) for part in expression.walk())
