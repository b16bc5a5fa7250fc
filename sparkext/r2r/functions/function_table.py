"""SPARQL's functions by what they take and give, and which of them give more than their arguments say."""

from __future__ import annotations

from typing import Final

from sparkext.language.expressions import (
    Aggregate,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Exists,
    Expression,
    FunctionCall,
    QuotedPatternExpression,
    UnaryMinus,
)
from sparkext.language.support import expressions_of
from sparkext.language.uncertainty import uncertainty_function
from sparkext.r2r.functions.uncertainty_calls import compares_numbers
from sparkext.rewriting.bound_variables import is_repeatable

TESTS_OF_IDS: Final = {"ISIRI", "ISBLANK", "ISLITERAL", "ISTRIPLE", "HASLANG"}
"""Functions that an id alone answers."""

TESTS: Final = {
    *("ISNUMERIC", "HASLANGDIR", "CONTAINS", "STRSTARTS", "STRENDS", "LANGMATCHES", "REGEX"),
    *TESTS_OF_IDS,
}
"""Functions of terms that give a truth value."""

ROWWISE: Final = {"RAND", "UUID", "STRUUID", "BNODE", "ROW"}
"""Functions that have another value for each solution."""

TERM_FUNCTIONS: Final = {
    *("STR", "LANG", "DATATYPE", "STRLEN", "UCASE", "LCASE", "STRBEFORE", "STRAFTER"),
    *("ENCODE_FOR_URI", "LANGDIR", "ABS", "ROUND", "CEIL", "FLOOR", "YEAR", "MONTH", "DAY"),
    *("HOURS", "MINUTES", "SECONDS", "TIMEZONE", "TZ", "MD5", "SHA1", "SHA256", "SHA384"),
    *("SHA512", "IRI", "STRDT", "STRLANG", "STRLANGDIR", "TRIPLE", "SUBJECT", "PREDICATE"),
    *("OBJECT",),
}
"""Functions of terms, with as many arguments as the JVM's, that give a term or an error."""


def is_rowwise(expression: Expression) -> bool:
    """Whether the value may differ from one look to the next for the same solution."""
    return not is_repeatable(expression)


def is_volatile(expression: Expression) -> bool:
    """Whether the value may differ from one evaluation to the next for the same solution."""
    return is_rowwise(expression) or reads_clock(expression)


def reads_clock(expression: Expression) -> bool:
    """Whether the value depends on the instant of the evaluation."""
    return _calls(expression, {"NOW"})


def _calls(expression: Expression, names: set[str]) -> bool:
    for part in expression.walk():
        if isinstance(part, BuiltinCall) and part.name in names:
            return True
        if isinstance(part, Exists):
            inner = (e for node in part.pattern.walk() for e in expressions_of(node))
            if any(_calls(e, names) for e in inner):
                return True
    return False


def makes_terms(expression: Expression) -> bool:
    """Whether the value, or one on the way to it, may be a term that no data holds and the dictionary notes."""
    if isinstance(expression, Comparison) and compares_numbers(expression):
        # Calls within calls pass values that are no terms.
        return any(makes_terms(part) for side in expression.children for part in _read_by(side))
    return _makes_term(expression) or any(makes_terms(part) for part in expression.children)


def _read_by(call: Expression) -> list[Expression]:
    """What nested calls of uncertainty functions read as terms."""
    if uncertainty_function(call) is None:
        return [call]
    return [part for argument in call.children for part in _read_by(argument)]


def _makes_term(part: Expression) -> bool:
    match part:
        case BuiltinCall():
            names = (*TERM_FUNCTIONS, *ROWWISE, "CONCAT", "SUBSTR", "REPLACE", "NOW")
            return part.name in names
        case Aggregate():
            return part.name in ("SUM", "AVG", "GROUP_CONCAT")
        case _:
            kinds = Arithmetic | UnaryMinus | FunctionCall | QuotedPatternExpression
            return isinstance(part, kinds)
