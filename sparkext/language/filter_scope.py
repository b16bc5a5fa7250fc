"""Warnings about filters and BINDs that use a variable from outside their WINDOW, GRAPH or EVENT.

SPARQL evaluates bottom-up: such a variable is unbound where the filter runs, the filter fails, and
the answer is empty; a BIND leaves its variable unbound. That is the standard's meaning and the
engine's too; it is seldom what the author wanted.
"""

from __future__ import annotations

from sparkext.language.algebra import Extend, Filter, Graph, Join, LeftJoin, Window
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import Exists, Expression, VariableReference
from sparkext.language.nodes import Node, Position, Variable
from sparkext.language.query import QueryWarning


def filter_scope_warnings(pattern: Node) -> list[QueryWarning]:
    """Return a warning for each variable of a filter or BIND inside WINDOW, GRAPH or EVENT that only
    the outside binds.
    """
    warnings: list[QueryWarning] = []
    _look(pattern, frozenset(), None, warnings)
    return warnings


def _look(
    node: Node, outside: frozenset[Variable], around: str | None, warnings: list[QueryWarning]
) -> None:
    if isinstance(node, Match):
        for event in node.events:
            _look(event.input, outside.union(node.variables), "EVENT", warnings)
        return
    if isinstance(node, Window | Graph):
        around = "WINDOW" if isinstance(node, Window) else "GRAPH"
        if isinstance(node.name, Variable):
            outside |= {node.name}  # its solutions are joined with the name
    if around is not None:
        if isinstance(node, Filter):
            _check(node.condition, node.input.variables, outside, around, warnings)
        elif isinstance(node, Extend):
            _check(node.expression, node.input.variables, outside, around, warnings, node.variable)
        elif isinstance(node, LeftJoin) and node.condition is not None:
            _check(node.condition, node.variables, outside, around, warnings)
    if isinstance(node, Join | LeftJoin):
        _look(node.left, outside.union(node.right.variables), around, warnings)
        _look(node.right, outside.union(node.left.variables), around, warnings)
        return
    for child in node.children:
        _look(child, outside, around, warnings)


def _check(
    condition: Expression,
    inside: tuple[Variable, ...],
    outside: frozenset[Variable],
    around: str,
    warnings: list[QueryWarning],
    bound: Variable | None = None,
) -> None:
    what = "FILTER" if bound is None else "BIND"
    so = "the FILTER is never true" if bound is None else f"the BIND leaves {bound} unbound"
    advice = f"move the {what} out to where the variable is bound"
    if around != "EVENT":  # events stay as they are in every scope
        advice += ", or set spark.cqels.filterScope=lift to have it read there"
    for reference in _references(condition):
        variable = reference.variable
        if variable not in inside and variable in outside:
            line, column = reference.position or Position(1, 1)
            warnings.append(
                QueryWarning(
                    f"{variable} is not bound inside this {around} group, so {so}; {advice}",
                    line,
                    column,
                )
            )


def _references(expression: Expression) -> list[VariableReference]:
    """Return the variable references outside EXISTS, which has a scope of its own."""
    if isinstance(expression, Exists):
        return []
    if isinstance(expression, VariableReference):
        return [expression]
    return [reference for child in expression.children for reference in _references(child)]
