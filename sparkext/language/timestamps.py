"""C-SPARQL's `timestamp(s, p, o)`: the function by its name, and what may stand between its brackets."""

from __future__ import annotations

from typing import Final

from sparkext.language.expressions import (
    Constant,
    Expression,
    FunctionCall,
    QuotedPatternExpression,
    VariableReference,
)
from sparkext.language.nodes import PatternTerm, TriplePattern

TIMESTAMP: Final = "http://larkc.eu/csparql/sparql/jena/ext#timestamp"
"""The IRI of the function; the namespace is that of C-SPARQL's engine."""


def is_timestamp(expression: Expression) -> bool:
    """Whether the function is called.

    >>> is_timestamp(FunctionCall(TIMESTAMP, ())), is_timestamp(FunctionCall("http://example.org/f", ()))
    (True, False)
    """
    return isinstance(expression, FunctionCall) and expression.function == TIMESTAMP


def mistaken_timestamp(call: FunctionCall) -> str | None:
    """What is wrong with a call of the function, None when nothing is or another one is called.

    >>> mistaken_timestamp(FunctionCall(TIMESTAMP, ()))
    'timestamp takes 3 arguments, the terms of a triple, not 0'
    """
    if not is_timestamp(call):
        return None
    if call.distinct:
        return "timestamp takes no DISTINCT"
    if len(call.arguments) != 3:
        return f"timestamp takes 3 arguments, the terms of a triple, not {len(call.arguments)}"
    if not all(
        isinstance(part, VariableReference | Constant | QuotedPatternExpression)
        for part in call.arguments
    ):
        return "timestamp takes terms and variables; BIND what has to be computed first"
    return None


def asked_triple(call: FunctionCall) -> TriplePattern:
    """The triple that a call asks for.

    >>> from sparkext.language.nodes import Variable
    >>> x = VariableReference(Variable("x"))
    >>> asked_triple(FunctionCall(TIMESTAMP, (x, x, x)))
    TriplePattern(subject=Variable(name='x'), predicate=Variable(name='x'), object=Variable(name='x'))
    """
    subject, predicate, object_ = (_term(argument) for argument in call.arguments)
    return TriplePattern(subject, predicate, object_, call.position)


def _term(argument: Expression) -> PatternTerm:
    match argument:
        case VariableReference():
            return argument.variable
        case Constant():
            return argument.term
        case QuotedPatternExpression():
            return argument.pattern
    raise AssertionError("`mistaken_timestamp` has looked at the arguments")
