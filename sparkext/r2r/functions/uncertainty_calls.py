"""Uncertainty functions as Spark columns: what one call gives another is a distribution or a number, not a term."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F

from sparkext.language.expressions import Comparison, Constant, Expression, FunctionCall
from sparkext.language.nodes import Variable
from sparkext.language.uncertainty import (
    RSPU,
    UncertaintyFunction,
    calls_uncertainty,
    uncertainty_function,
)
from static_data.terms import XSD, Literal

if TYPE_CHECKING:
    from pyspark.sql import Column

_DOUBLE_BY_PROMOTION: Final = {XSD + name for name in ("integer", "decimal", "double")}

Columns = Mapping[Variable, "Column"]


def compares_numbers(comparison: Comparison) -> bool:
    """Whether both sides are the doubles of uncertainty functions, or one is and the other a number in the query.

    Such a comparison is one of doubles in SPARQL, too: integers and decimals are promoted (SPARQL 1.1, section 17.3).
    Spark takes NaN for the greatest double; the functions never give it, and where it is written, terms are compared.
    """
    sides = comparison.left, comparison.right
    numbers = [_gives_number(side) for side in sides]
    constants = [_is_number(side) for side in sides]
    return any(numbers) and all(n or c for n, c in zip(numbers, constants, strict=True))


def _gives_number(expression: Expression) -> bool:
    function = uncertainty_function(expression)
    return function is not None and function.gives == "number"


def _is_number(expression: Expression) -> bool:
    if not isinstance(expression, Constant) or not isinstance(expression.term, Literal):
        return False
    term = expression.term
    return term.datatype.value in _DOUBLE_BY_PROMOTION and term.lexical.strip() != "NaN"


class CallSites:
    """The numbers of a query's filters, BINDs and other expressions that call uncertainty functions.

    The same occurrence of an expression has the same number in all plans of the query; `number` gives a new one.
    """

    def __init__(self, number: Callable[[], int]) -> None:
        self._number = number
        self._sites: dict[tuple[Expression, int], int] = {}

    def apart(self) -> CallSites:
        """Sites of which this query is told nothing, for what is not computed in its evaluations."""
        return CallSites(self._number)

    def of(self, expression: Expression) -> int:
        """The number of an expression where it occurs."""
        place = expression, expression.occurrence
        if place not in self._sites:
            self._sites[place] = self._number()
        return self._sites[place]

    def known(self, expression: Expression) -> int | None:
        """The number of an expression where it occurs, None if it has not been given one."""
        return self._sites.get((expression, expression.occurrence))

    @property
    def all(self) -> list[tuple[Expression, int]]:
        """Every expression that has been given a number, once for each of its occurrences."""
        return [(expression, number) for (expression, _), number in list(self._sites.items())]


class UncertaintyCalls:
    """Compiles the calls of one query.

    `term` compiles any other expression to a column of term ids, `room` is the engine's number, `user_function` gives
    the number of a function by its IRI.
    """

    def __init__(
        self,
        room: int,
        sites: CallSites,
        term: Callable[[Expression, Columns], Column],
        user_function: Callable[[str], int | None],
    ) -> None:
        self._room = room
        self._sites = sites
        self._term = term
        self._user_function = user_function
        self._site: int | None = None
        self._rows_counted: set[Expression] = set()

    def count_rows_of(self, expression: Expression) -> None:
        """Have a filter's rows counted though it calls no such function: it reads what a BIND has made by one."""
        self._rows_counted.add(expression)

    @contextmanager
    def at(self, expression: Expression) -> Iterator[None]:
        """Have calls that are compiled in this block counted under the expression's site."""
        before = self._site
        if calls_uncertainty(expression):
            self._site = self._sites.of(expression)
        try:
            yield
        finally:
            self._site = before

    def counted(
        self,
        expression: Expression,
        compile: Callable[[Expression, Columns], Column],
        given: Columns,
    ) -> Column:
        """A filter or BIND compiled so that its rows and calls are counted under its own site."""
        with self.at(expression):
            value = compile(expression, given)
        if not (calls_uncertainty(expression) or expression in self._rows_counted):
            return value
        return F.call_function(
            "cqels_counted", self._site_column(self._sites.of(expression)), value
        )

    def term(self, call: FunctionCall, columns: Columns) -> Column:
        """A call's value as a term id."""
        function = _function(call)
        value = self._value(call, function, columns)
        to_term = "doubleterm" if function.gives == "number" else "term"
        return self._invoke(to_term, call, value)

    def user_term(self, call: FunctionCall, columns: Columns) -> Column | None:
        """The value of a user's function as a term id, None if there is no such function."""
        number = self._user_function(call.function)
        if number is None:
            return None
        values = F.array(*(self._term(part, columns) for part in call.arguments))
        site = self._site_column(self._sites.of(call) if self._site is None else self._site)
        return F.call_function(
            "cqels_user_function", site, F.lit(number), values.cast("array<bigint>")
        )

    def condition(self, call: FunctionCall, columns: Columns) -> Column:
        """The effective boolean value of a call: of a number, whether it is not 0; of a distribution, an error."""
        function = _function(call)
        if function.gives == "distribution":
            return F.lit(None).cast("boolean")
        return self._value(call, function, columns) != F.lit(0.0)

    def comparison(self, comparison: Comparison, columns: Columns) -> Column:
        """A comparison for which `compares_numbers` holds."""
        left, right = (
            self._side(s, columns, comparison) for s in (comparison.left, comparison.right)
        )
        match comparison.operator:
            case "=":
                return left == right
            case "!=":
                return left != right
            case "<":
                return left < right
            case "<=":
                return left <= right
            case ">":
                return left > right
            case _:
                return left >= right

    def _side(self, side: Expression, columns: Columns, around: Comparison) -> Column:
        function = uncertainty_function(side)
        if function is None:
            return self._invoke("number", around, self._term(side, columns))
        assert isinstance(side, FunctionCall)
        return self._value(side, function, columns)

    def _value(self, call: FunctionCall, function: UncertaintyFunction, columns: Columns) -> Column:
        """A call's value: an object of the JVM's class Distribution, or a DOUBLE."""
        first, *others = call.arguments
        read = self._number if function.numbers_only else self._operand
        arguments = [self._distribution(first, columns), *(read(o, columns, call) for o in others)]
        return self._invoke(call.function.removeprefix(RSPU).lower(), call, *arguments)

    def _distribution(self, expression: Expression, columns: Columns) -> Column:
        function = uncertainty_function(expression)
        if function is not None and function.gives == "distribution":
            assert isinstance(expression, FunctionCall)
            return self._value(expression, function, columns)
        return self._invoke("distribution", expression, self._term(expression, columns))

    def _operand(self, expression: Expression, columns: Columns, call: FunctionCall) -> Column:
        function = uncertainty_function(expression)
        if function is None:
            return self._invoke("operand", call, self._term(expression, columns))
        assert isinstance(expression, FunctionCall)
        value = self._value(expression, function, columns)
        if function.gives == "distribution":
            return value
        return F.call_function("cqels_rspu_point", value)

    def _number(self, expression: Expression, columns: Columns, call: FunctionCall) -> Column:
        function = uncertainty_function(expression)
        if function is not None and function.gives == "number":
            assert isinstance(expression, FunctionCall)
            return self._value(expression, function, columns)
        return self._invoke("number", call, self._term(expression, columns))

    def _invoke(self, name: str, place: Expression, *arguments: Column) -> Column:
        site = self._sites.of(place) if self._site is None else self._site
        return F.call_function(f"cqels_rspu_{name}", self._site_column(site), *arguments)

    def _site_column(self, site: int) -> Column:
        return F.call_function("cqels_site", F.lit(self._room).cast("bigint"), F.lit(site))


def _function(call: FunctionCall) -> UncertaintyFunction:
    function = uncertainty_function(call)
    assert function is not None
    return function
