"""SPARQL expressions as Spark columns over term ids; a type error is null, which Spark's logic treats as SPARQL's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Variable
from sparkext.language.expressions import (
    Aggregate,
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
    Expression,
    In,
    Not,
    Or,
    UnaryMinus,
    UnaryPlus,
    VariableReference,
)
from sparkext.r2r.solutions import unbound

if TYPE_CHECKING:
    from pyspark.sql import Column

_ARITHMETIC = {"+": "cqels_add", "-": "cqels_subtract", "*": "cqels_multiply", "/": "cqels_divide"}
_TESTS = {"ISIRI": "cqels_is_iri", "ISBLANK": "cqels_is_blank", "ISLITERAL": "cqels_is_literal"}
_STRINGS = {"STR": "cqels_str", "LANG": "cqels_lang", "DATATYPE": "cqels_datatype"}
_MAKES_TERMS = (Arithmetic, UnaryMinus, UnaryPlus)


def makes_terms(expression: Expression) -> bool:
    """Whether the value may be a term that no data holds, so that it must be noted in the dictionary."""
    return any(
        isinstance(part, _MAKES_TERMS)
        or (isinstance(part, BuiltinCall) and part.name in _STRINGS)
        or (isinstance(part, Aggregate) and part.name in ("SUM", "AVG"))
        for part in expression.walk()
    )


class ExpressionCompiler:
    """Compiles expressions for one engine.

    `room` is the engine's number, by which functions find its dictionary; `encode` gives the id of a constant.
    """

    def __init__(self, room: int, encode: Callable[[str], int]) -> None:
        self._room = room
        self._encode = encode

    def term(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The expression's value as a term id (BIGINT), null for an error or an unbound variable."""
        match expression:
            case VariableReference():
                return columns.get(expression.variable, unbound())
            case Constant():
                return F.call_function("cqels_term", F.lit(self._encode(expression.term.n3())))
            case Arithmetic():
                return self._call(
                    _ARITHMETIC[expression.operator],
                    self.term(expression.left, columns),
                    self.term(expression.right, columns),
                )
            case UnaryMinus():
                return self._call("cqels_negate", self.term(expression.operand, columns))
            case UnaryPlus():
                # +x is x for numbers and an error for everything else.
                operand = self.term(expression.operand, columns)
                return F.when(self._call("cqels_is_numeric", operand), operand)
            case BuiltinCall() if expression.name in _STRINGS:
                return self._call(
                    _STRINGS[expression.name], self.term(expression.arguments[0], columns)
                )
            case BuiltinCall(name="IF"):
                condition, yes, no = expression.arguments
                test = self.condition(condition, columns)
                # An error in the test is an error of the whole: CASE would take the other branch.
                return F.when(test, self.term(yes, columns)).when(~test, self.term(no, columns))
            case BuiltinCall(name="COALESCE"):
                return F.coalesce(*(self.term(part, columns) for part in expression.arguments))
            case _:
                return F.call_function("cqels_boolean", self._boolean(expression, columns))

    def condition(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The expression's effective boolean value (SPARQL 1.1, section 17.2.2), null for an error."""
        if _is_boolean(expression):
            return self._boolean(expression, columns)
        return self._call("cqels_effective_boolean", self.term(expression, columns))

    def _boolean(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        match expression:
            case Or():
                return self.condition(expression.left, columns) | self.condition(
                    expression.right, columns
                )
            case And():
                return self.condition(expression.left, columns) & self.condition(
                    expression.right, columns
                )
            case Not():
                return ~self.condition(expression.operand, columns)
            case Comparison():
                left = self.term(expression.left, columns)
                return self._compare(
                    expression.operator, left, self.term(expression.right, columns)
                )
            case In():
                operand = self.term(expression.operand, columns)
                found = F.lit(False)
                for choice in expression.choices:
                    found = found | self._compare("=", operand, self.term(choice, columns))
                return ~found if expression.negated else found
            case BuiltinCall(name="BOUND"):
                return self.term(expression.arguments[0], columns).isNotNull()
            case BuiltinCall(name="SAMETERM"):
                left, right = (self.term(part, columns) for part in expression.arguments)
                return left == right
            case BuiltinCall() if expression.name in _TESTS:
                return F.call_function(
                    _TESTS[expression.name], self.term(expression.arguments[0], columns)
                )
            case BuiltinCall(name="ISNUMERIC"):
                return self._call("cqels_is_numeric", self.term(expression.arguments[0], columns))
            case _:
                place = expression.position
                name = getattr(expression, "name", type(expression).__name__)
                raise UnsupportedFeatureError(
                    f"{name} is not supported", *(place if place is not None else (1, 1))
                )

    def _compare(self, operator: str, left: Column, right: Column) -> Column:
        match operator:
            case "=":
                return self._call("cqels_equal", left, right)
            case "!=":
                return ~self._call("cqels_equal", left, right)
            case "<":
                return self._call("cqels_less", left, right)
            case "<=":
                return self._call("cqels_less_or_equal", left, right)
            case ">":
                return self._call("cqels_less", right, left)
            case _:
                return self._call("cqels_less_or_equal", right, left)

    def aggregate(
        self, aggregate: Aggregate, columns: Mapping[Variable, Column], all_columns: list[Column]
    ) -> Column:
        """One set function over a group (SPARQL 1.1, section 18.5.1).

        `all_columns` are all columns of the group's input, which COUNT(DISTINCT *) looks at.
        """
        if aggregate.argument is None:
            if not aggregate.distinct:
                return self._integer(F.count(F.lit(1)))
            # Unbound variables are values here: two rows that lack the same ones are equal.
            row = F.struct(*(F.coalesce(column, F.lit(0)) for column in all_columns))
            return self._integer(F.count_distinct(row))
        value = self.term(aggregate.argument, columns)
        match aggregate.name:
            case "COUNT":
                return self._integer(
                    F.count_distinct(value) if aggregate.distinct else F.count(value)
                )
            case "SUM" | "AVG":
                # 0 marks an error among the values: the sum over it is one as well.
                marked = F.coalesce(value, F.lit(0))
                gathered = (F.collect_set if aggregate.distinct else F.collect_list)(marked)
                return self._call(
                    "cqels_sum" if aggregate.name == "SUM" else "cqels_average", gathered
                )
            case "MIN":
                return self._call("cqels_min", value)
            case "MAX":
                return self._call("cqels_max", value)
            case _:  # SAMPLE: any value will do
                return F.any_value(value, F.lit(True))

    def _integer(self, count: Column) -> Column:
        return F.call_function("cqels_integer", count)

    def _call(self, function: str, *arguments: Column) -> Column:
        return F.call_function(function, F.lit(self._room).cast("bigint"), *arguments)


def _is_boolean(expression: Expression) -> bool:
    return isinstance(expression, Or | And | Not | Comparison | In) or (
        isinstance(expression, BuiltinCall)
        and expression.name in ("BOUND", "SAMETERM", "ISNUMERIC", *_TESTS)
    )
