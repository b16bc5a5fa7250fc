"""Where constants of a query may be those of many: in triples and in most expressions."""

from __future__ import annotations

from sparkext.language.casts import cast_of
from sparkext.language.expressions import BuiltinCall, Expression, FunctionCall

# A constant argument of these is what they do: another one is another function.
_BY_CONSTANT = {"REGEX", "REPLACE"}


def is_what_it_does(expression: Expression) -> bool:
    """Whether constants in the expression are part of what a query asks."""
    if isinstance(expression, BuiltinCall):
        return expression.name in _BY_CONSTANT
    return isinstance(expression, FunctionCall) and cast_of(expression) is None
