"""Expressions of the algebra written back as SPARQL, for Oxigraph to evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from sparkext.errors import CheckError
from sparkext.language.expressions import (
    Aggregate,
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    In,
    Not,
    Or,
    QuotedPatternExpression,
    UnaryMinus,
    UnaryPlus,
    VariableReference,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.timestamps import is_timestamp
from sparkext.oracle.quoted_triples import encode
from sparkext.oracle.sightings import TIMESTAMP
from sparkext.oracle.sparql_functions import IS_TRIPLE, NOT_TRIPLE, PARTS, TRIPLE
from static_data.terms import XSD, QuotedTriple, Term

# Their values differ from one evaluation to the next, so there is no right answer to compare with.
_NOT_REPEATABLE: Final = {"RAND", "UUID", "STRUUID", "BNODE", "NOW"}
# Asked of an IRI that stands for a quoted triple these would answer as of an IRI.
_OF_IRIS: Final = {"STR", "IRI"}

PatternWriter = Callable[[Node], str]


def variable_text(variable: Variable) -> str:
    """A variable's name in the written query; made-up ones get names that no user's can be.

    >>> variable_text(Variable("x")), variable_text(Variable("_:b0"))
    ('?u_x', '?h_b0')
    """
    return f"?h_{variable.name[2:]}" if variable.hidden else f"?u_{variable.name}"


def term_text(term: Term) -> str:
    """A constant, a quoted triple as its IRI."""
    return str(encode(term)) if isinstance(term, QuotedTriple) else term.n3()


def expression_text(
    expression: Expression, pattern: PatternWriter, windows: Iterable[int] = ()
) -> str:
    """The expression, in brackets of its own; `pattern` writes what stands in EXISTS as a group's content.

    `windows` are the numbers of those that `timestamp` asks.
    Raises CheckError for functions that the oracle does not know, or whose values nobody can predict.
    """

    def text(part: Expression) -> str:
        return expression_text(part, pattern, windows)

    match expression:
        case VariableReference(variable):
            return variable_text(variable)
        case Constant(term):
            return term_text(term)
        case Or():
            return f"({text(expression.left)} || {text(expression.right)})"
        case And():
            return f"({text(expression.left)} && {text(expression.right)})"
        case Not():
            return f"(!{text(expression.operand)})"
        case Comparison() | Arithmetic():
            return f"({text(expression.left)} {expression.operator} {text(expression.right)})"
        case UnaryMinus():
            return f"(- {text(expression.operand)})"
        case UnaryPlus():
            return f"(+ {text(expression.operand)})"
        case In():
            word = "NOT IN" if expression.negated else "IN"
            choices = ", ".join(map(text, expression.choices))
            return f"({text(expression.operand)} {word} ({choices}))"
        case BuiltinCall(name, arguments):
            return _builtin(name, [text(argument) for argument in arguments], expression)
        case FunctionCall() if is_timestamp(expression):
            triple = ", ".join(map(text, expression.arguments))
            return f'<{TIMESTAMP}>({triple}, "{" ".join(map(str, windows))}")'
        case FunctionCall(function, arguments):
            if not function.startswith(XSD):
                raise CheckError(f"the oracle does not know the function <{function}>")
            inner = ", ".join(f"<{NOT_TRIPLE}>({text(argument)})" for argument in arguments)
            return f"<{function}>({inner})"
        case QuotedPatternExpression():
            return _quoted(expression.pattern)
        case Exists():
            word = "NOT EXISTS" if expression.negated else "EXISTS"
            return f"({word} {{ {pattern(expression.pattern)} }})"
        case Aggregate():
            return _aggregate(expression, text)
    raise CheckError(f"the oracle does not know {type(expression).__name__}")


def _builtin(name: str, arguments: list[str], expression: Expression) -> str:
    if name in _NOT_REPEATABLE:
        raise CheckError(f"answers with {name}() cannot be checked: no two evaluations agree on it")
    if name == "ISTRIPLE":
        return f"<{IS_TRIPLE}>({arguments[0]})"
    if name == "TRIPLE":
        return f"<{TRIPLE}>({', '.join(arguments)})"
    if name in PARTS:
        return f"<{PARTS[name]}>({arguments[0]})"
    if name == "ISIRI":
        return f"(isIRI({arguments[0]}) && !<{IS_TRIPLE}>({arguments[0]}))"
    if name in _OF_IRIS:
        arguments = [f"<{NOT_TRIPLE}>({argument})" for argument in arguments]
    return f"{name}({', '.join(arguments)})"


def _quoted(pattern: object) -> str:
    from sparkext.language.nodes import QuotedPattern

    if isinstance(pattern, QuotedPattern):
        parts = (pattern.subject, pattern.predicate, pattern.object)
        return f"<{TRIPLE}>({', '.join(map(_quoted, parts))})"
    if isinstance(pattern, Variable):
        return variable_text(pattern)
    return term_text(pattern)  # type: ignore[arg-type]


def _aggregate(aggregate: Aggregate, text: Callable[[Expression], str]) -> str:
    inner = "*" if aggregate.argument is None else text(aggregate.argument)
    distinct = "DISTINCT " if aggregate.distinct else ""
    separator = ""
    if aggregate.separator is not None:
        quoted = aggregate.separator.translate(_ESCAPES)
        separator = f'; SEPARATOR = "{quoted}"'
    return f"{aggregate.name}({distinct}{inner}{separator})"


_ESCAPES: Final = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
