"""Where constants of a query may be those of many: in triples, in most expressions, paths and inline data."""

from __future__ import annotations

from sparkext.language.algebra import Path, Values
from sparkext.language.casts import cast_of
from sparkext.language.expressions import BuiltinCall, Expression, FunctionCall, In
from sparkext.language.paths import (
    Alternative,
    Inverse,
    OneOrMore,
    PathExpression,
    Sequence,
    ZeroOrMore,
    ZeroOrOne,
)

# A constant argument of these is what they do: another one is another function.
_BY_CONSTANT = {"REGEX", "REPLACE"}
# Each constant in which instances differ is a column.
_MOST_CHOICES = 100
# Each row that has constants of instances is a relation of its own.
_MOST_ROWS = 8


def is_what_it_does(expression: Expression) -> bool:
    """Whether constants in the expression are part of what a query asks."""
    if isinstance(expression, BuiltinCall):
        return expression.name in _BY_CONSTANT
    if isinstance(expression, In):
        return len(expression.choices) > _MOST_CHOICES
    return isinstance(expression, FunctionCall) and cast_of(expression) is None


def has_any_ends(node: Path) -> bool:
    """Whether constants at the ends of a path may be others.

    Not where it may have no steps: then it connects a constant with itself, be it in no graph, but not a variable.
    """
    return _has_steps(node.path)


def _has_steps(path: PathExpression) -> bool:
    match path:
        case ZeroOrMore() | ZeroOrOne():
            return False
        case OneOrMore() | Inverse():
            return _has_steps(path.path)
        case Sequence() | Alternative():
            return _has_steps(path.left) and _has_steps(path.right)
    return True


def has_any_cells(node: Values) -> bool:
    """Whether terms of inline data may be others: of few rows."""
    some = any(cell is not None for row in node.rows for cell in row)
    return some and len(node.rows) <= _MOST_ROWS and len(set(node.names)) == len(node.names)
