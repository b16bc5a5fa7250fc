"""SPARQL expressions as Spark columns over term ids; a type error is null, which Spark's logic treats as SPARQL's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.casts import cast_of
from sparkext.language.expressions import (
    Aggregate,
    And,
    Arithmetic,
    BuiltinCall,
    Comparison,
    Constant,
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
from sparkext.language.nodes import PatternTerm, QuotedPattern, Variable
from sparkext.language.uncertainty import is_user_call, uncertainty_function
from sparkext.r2r.functions.function_table import TERM_FUNCTIONS, TESTS, TESTS_OF_IDS, is_rowwise
from sparkext.r2r.functions.uncertainty_calls import CallSites, UncertaintyCalls, compares_numbers
from sparkext.r2r.functions.variable_columns import unbound
from sparkext.r2r.patterns.stage_rows import Found, LatestTime
from static_data.terms import Literal

if TYPE_CHECKING:
    from pyspark.sql import Column

_ARITHMETIC = {"+": "cqels_add", "-": "cqels_subtract", "*": "cqels_multiply", "/": "cqels_divide"}
_NOTHING = Constant(Literal(""))
_FEW_CHOICES = 30


class ExpressionCompiler:
    """Compiles expressions for one engine.

    `room` is the engine's number, by which functions find its dictionary; `encode` gives the id of a constant.
    """

    def __init__(
        self,
        room: int,
        encode: Callable[[str], int],
        sites: CallSites | None = None,
        user_function: Callable[[str], int | None] = lambda _: None,
    ) -> None:
        self._room = room
        self._encode = encode
        self._sites = sites or CallSites(lambda: 0)
        self._user_function = user_function
        self._uncertain = UncertaintyCalls(room, self._sites, self.term, user_function)

    def apart(self) -> ExpressionCompiler:
        """A compiler of expressions whose calls and rows are not counted for this query."""
        return ExpressionCompiler(
            self._room, self._encode, self._sites.apart(), self._user_function
        )

    def calls_at(self, expression: Expression) -> AbstractContextManager[None]:
        """Have calls of uncertainty functions in the expression counted together."""
        return self._uncertain.at(expression)

    def count_rows_of(self, expression: Expression) -> None:
        """Have the rows of a filter counted though it calls no uncertainty function."""
        self._uncertain.count_rows_of(expression)

    def counted_term(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """As `term`, for a BIND: calls of uncertainty functions and their rows are counted."""
        return self._uncertain.counted(expression, self.term, columns)

    def counted_condition(
        self, expression: Expression, columns: Mapping[Variable, Column]
    ) -> Column:
        """As `condition`, for a filter: calls of uncertainty functions and their rows are counted."""
        return self._uncertain.counted(expression, self.condition, columns)

    def term(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The expression's value as a term id (BIGINT), null for an error or an unbound variable."""
        match expression:
            case VariableReference():
                return columns.get(expression.variable, unbound())
            case Constant():
                return self._constant(expression.term.n3())
            case Arithmetic():
                return self._call(
                    _ARITHMETIC[expression.operator],
                    self.term(expression.left, columns),
                    self.term(expression.right, columns),
                )
            case UnaryMinus():
                return self._call("cqels_negate", self.term(expression.operand, columns))
            case UnaryPlus():
                return self._call("cqels_plus", self.term(expression.operand, columns))
            case QuotedPatternExpression():
                return self._quoted(expression.pattern, columns)
            case FunctionCall() if (target := cast_of(expression)) is not None:
                return self._on_terms(f"cast_{target.lower()}", expression.arguments, columns)
            case FunctionCall() if uncertainty_function(expression) is not None:
                return self._uncertain.term(expression, columns)
            case FunctionCall() if is_user_call(expression):
                value = self._uncertain.user_term(expression, columns)
                if value is None:
                    raise _unsupported(expression)
                return value
            case LatestTime():
                return self._latest([self.term(time, columns) for time in expression.times])
            case BuiltinCall() if not _is_boolean(expression):
                return self._builtin(expression, columns)
            case _:
                return F.call_function("cqels_boolean", self._boolean(expression, columns))

    def _builtin(self, call: BuiltinCall, columns: Mapping[Variable, Column]) -> Column:
        arguments = call.arguments
        match call.name:
            case "IF":
                return self._choice(call, columns)
            case "COALESCE":
                values = [self.term(part, columns) for part in arguments]
                return F.coalesce(*values) if values else unbound()
            case "CONCAT":
                return self._call("cqels_concat", self._array(arguments, columns))
            case "SUBSTR":
                name = "substr" if len(arguments) == 2 else "substr_of"
                return self._on_terms(name, arguments, columns)
            case "REPLACE":
                flags = (*arguments, _NOTHING)[:4]
                fixed = _are_constant(flags[1], flags[3])
                return self._on_terms("replace_constant" if fixed else "replace", flags, columns)
            case "NOW":
                # The argument keeps Spark from computing this once and for all.
                return self._on_terms("now", (_NOTHING,), columns)
            case "BNODE" if arguments:
                row = (*arguments, BuiltinCall("ROW", ()))[:2]
                return self._on_terms("bnode_of", row, columns)
            case "RAND" | "UUID" | "STRUUID" | "BNODE" | "ROW":
                return self._call(f"cqels_{call.name.lower()}")
            case "IRI":
                return self._on_terms("iri", (*arguments, _NOTHING)[:2], columns)
            case name if name in TERM_FUNCTIONS:
                return self._on_terms(name.lower(), arguments, columns)
            case _:
                raise _unsupported(call)

    def _choice(self, call: BuiltinCall, columns: Mapping[Variable, Column]) -> Column:
        condition, yes, no = call.arguments
        test = self.condition(condition, columns)
        either = self.term(yes, columns), self.term(no, columns)
        if is_rowwise(condition):
            given = [F.coalesce(value, F.lit(0).cast("bigint")) for value in either]
            return F.call_function("cqels_choose", test, *given)
        # An error in the test is an error of the whole: CASE would take the other branch.
        return F.when(test, either[0]).when(~test, either[1])

    def _quoted(self, pattern: QuotedPattern, columns: Mapping[Variable, Column]) -> Column:
        def part(term: PatternTerm) -> Column:
            match term:
                case Variable():
                    return columns.get(term, unbound())
                case QuotedPattern():
                    return self._quoted(term, columns)
                case _:
                    return self._constant(term.n3())

        return self._call(
            "cqels_triple", part(pattern.subject), part(pattern.predicate), part(pattern.object)
        )

    def _constant(self, text: str) -> Column:
        return F.call_function("cqels_term", F.lit(self._encode(text)))

    def _array(
        self, expressions: tuple[Expression, ...], columns: Mapping[Variable, Column]
    ) -> Column:
        values = F.array(*(self.term(part, columns) for part in expressions))
        return values.cast("array<bigint>")

    def condition(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The expression's effective boolean value (SPARQL 1.1, section 17.2.2), null for an error."""
        if _is_boolean(expression):
            return self._boolean(expression, columns)
        if isinstance(expression, FunctionCall) and uncertainty_function(expression) is not None:
            return self._uncertain.condition(expression, columns)
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
            case Comparison() if compares_numbers(expression):
                return self._uncertain.comparison(expression, columns)
            case Comparison():
                left = self.term(expression.left, columns)
                return self._compare(
                    expression.operator, left, self.term(expression.right, columns)
                )
            case In():
                found = self._among(expression, columns)
                return ~found if expression.negated else found
            case Found():
                return F.col(expression.name)
            case BuiltinCall(name="BOUND"):
                return self.term(expression.arguments[0], columns).isNotNull()
            case BuiltinCall(name="SAMETERM"):
                left, right = (self.term(part, columns) for part in expression.arguments)
                return left == right
            case BuiltinCall(name="REGEX"):
                flags = (*expression.arguments, _NOTHING)[:3]
                fixed = _are_constant(*flags[1:])
                return self._on_terms("regex_constant" if fixed else "regex", flags, columns)
            case BuiltinCall(name=name) if name in TESTS_OF_IDS:
                value = self.term(expression.arguments[0], columns)
                return F.call_function(f"cqels_{name.lower()}", value)
            case BuiltinCall(name=name) if name in TESTS:
                return self._on_terms(name.lower(), expression.arguments, columns)
            case _:
                raise _unsupported(expression)

    def _among(self, expression: In, columns: Mapping[Variable, Column]) -> Column:
        operand = self.term(expression.operand, columns)
        computed = not isinstance(expression.operand, VariableReference | Constant)
        if computed or len(expression.choices) > _FEW_CHOICES:
            # An operand is computed once, not once for each choice; thousands of comparisons nest too deep.
            return self._call("cqels_in", operand, self._choices(expression.choices, columns))
        found = F.lit(False)
        for choice in expression.choices:
            found = found | self._compare("=", operand, self.term(choice, columns))
        return found

    def _choices(
        self, choices: tuple[Expression, ...], columns: Mapping[Variable, Column]
    ) -> Column:
        constants = [choice.term.n3() for choice in choices if isinstance(choice, Constant)]
        if len(choices) <= _FEW_CHOICES or len(constants) < len(choices):
            return self._array(choices, columns)
        # Spark makes one value of them: thousands of terms by themselves are too long a method.
        ids = F.array(*(F.lit(self._encode(text)) for text in constants))
        return ids.cast("array<bigint>")

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
        self,
        aggregate: Aggregate,
        columns: Mapping[Variable, Column],
        all_columns: list[Column],
        certain: frozenset[Variable] = frozenset(),
    ) -> Column:
        """One set function over a group (SPARQL 1.1, section 18.5.1).

        `all_columns` are those of the variables that a query can name, which COUNT(DISTINCT *) looks at; `certain` are
        the variables that are never unbound there.
        """
        if aggregate.argument is None:
            if not aggregate.distinct:
                return self._integer(F.count(F.lit(1)))
            # Unbound variables are values here: two rows that lack the same ones are equal.
            # Without any, all rows are.
            values = [F.coalesce(column, F.lit(0)) for column in all_columns] or [F.lit(0)]
            return self._integer(F.count_distinct(F.struct(*values)))
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
            case "GROUP_CONCAT":
                marked = F.coalesce(value, F.lit(0))
                gathered = (F.collect_set if aggregate.distinct else F.collect_list)(marked)
                between = self._constant(Literal(aggregate.separator or "").n3())
                return self._call("cqels_group_concat", gathered, between)
            case "MIN" | "MAX":
                found = self._call(f"cqels_{aggregate.name.lower()}", value)
                argument = aggregate.argument
                if isinstance(argument, VariableReference) and argument.variable in certain:
                    return found
                # An error among the values is one of the whole, as in a sum.
                return F.when(F.count(value) == F.count(F.lit(1)), found)
            case _:  # SAMPLE: any value will do
                return F.any_value(value, F.lit(True))

    def _latest(self, times: list[Column]) -> Column:
        """The greatest of times as `TimeCells` of the JVM writes them, unbound ones left out."""
        if not times:
            return unbound()
        latest = times[0] if len(times) == 1 else F.greatest(*times)
        return F.when(latest.isNotNull(), self._integer(F.shiftright(latest, 1)))

    def _integer(self, count: Column) -> Column:
        return F.call_function("cqels_integer", count)

    def _on_terms(
        self, name: str, arguments: tuple[Expression, ...], columns: Mapping[Variable, Column]
    ) -> Column:
        return self._call(f"cqels_{name}", *(self.term(part, columns) for part in arguments))

    def _call(self, function: str, *arguments: Column) -> Column:
        return F.call_function(function, F.lit(self._room).cast("bigint"), *arguments)


def _are_constant(*expressions: Expression) -> bool:
    return all(isinstance(part, Constant) for part in expressions)


def _is_boolean(expression: Expression) -> bool:
    return isinstance(expression, Or | And | Not | Comparison | In | Found) or (
        isinstance(expression, BuiltinCall) and expression.name in {"BOUND", "SAMETERM", *TESTS}
    )


def _unsupported(expression: Expression) -> UnsupportedFeatureError:
    name = getattr(expression, "name", type(expression).__name__)
    if isinstance(expression, FunctionCall):
        name = f"the function <{expression.function}>"
    return UnsupportedFeatureError(f"{name} is not supported", *(expression.position or (1, 1)))
