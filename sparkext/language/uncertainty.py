"""The functions on uncertain values by name: the namespace `rspu:` of the uncertainty paper (Definitions 3 to 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from sparkext.language.casts import cast_of
from sparkext.language.expressions import Expression, FunctionCall
from sparkext.language.timestamps import is_timestamp

RSPU: Final = "http://w3id.org/rsp/rspu#"
"""The namespace of the functions and of the datatype `rspu:distribution`."""

Kind = Literal["distribution", "number"]


@dataclass(frozen=True)
class UncertaintyFunction:
    """What a function gives, and how many arguments it takes.

    The first argument is a distribution; the others may be distributions or numbers, `numbers_only` ones numbers.
    """

    gives: Kind
    arity: int
    numbers_only: bool = False


FUNCTIONS: Final = {
    "add": UncertaintyFunction("distribution", 2),
    "subtract": UncertaintyFunction("distribution", 2),
    "greaterThan": UncertaintyFunction("number", 2),
    "greaterThanOrEqual": UncertaintyFunction("number", 2),
    "lessThan": UncertaintyFunction("number", 2),
    "lessThanOrEqual": UncertaintyFunction("number", 2),
    "between": UncertaintyFunction("number", 3),
    "mean": UncertaintyFunction("number", 1),
    "variance": UncertaintyFunction("number", 1),
    "quantile": UncertaintyFunction("number", 2, numbers_only=True),
}


def uncertainty_function(expression: Expression) -> UncertaintyFunction | None:
    """The function that is called, None for any other expression.

    >>> uncertainty_function(FunctionCall(RSPU + "between", ())).arity
    3
    """
    if not isinstance(expression, FunctionCall) or not expression.function.startswith(RSPU):
        return None
    return FUNCTIONS.get(expression.function.removeprefix(RSPU))


def is_user_call(expression: Expression) -> bool:
    """Whether a function is called that is neither a cast, nor one of `rspu:`, nor C-SPARQL's `timestamp`.

    >>> is_user_call(FunctionCall("http://example.org/f", ())), is_user_call(FunctionCall(RSPU + "mean", ()))
    (True, False)
    """
    return (
        isinstance(expression, FunctionCall)
        and not expression.function.startswith(RSPU)
        and cast_of(expression) is None
        and not is_timestamp(expression)
    )


def calls_uncertainty(expression: Expression) -> bool:
    """Whether a function that may be expensive is called anywhere in an expression, EXISTS not looked into.

    Those are the functions on uncertain values, and those of users.
    """
    return any(
        uncertainty_function(part) is not None or is_user_call(part) for part in expression.walk()
    )


def mistaken_call(call: FunctionCall) -> str | None:
    """What is wrong with a call in the namespace `rspu:`, None when nothing is or it is of another namespace.

    >>> mistaken_call(FunctionCall(RSPU + "mean", ()))
    'rspu:mean takes 1 argument, not 0'
    """
    if not call.function.startswith(RSPU):
        return None
    name = call.function.removeprefix(RSPU)
    function = FUNCTIONS.get(name)
    if function is None:
        known = ", ".join(f"rspu:{known}" for known in FUNCTIONS)
        return f"there is no function rspu:{name}; there are {known}"
    if call.distinct:
        return f"rspu:{name} takes no DISTINCT"
    if len(call.arguments) != function.arity:
        noun = "argument" if function.arity == 1 else "arguments"
        return f"rspu:{name} takes {function.arity} {noun}, not {len(call.arguments)}"
    return None
