"""Solution mappings as a Spark DataFrame of term ids, and the joins of SPARQL between two of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.language.nodes import Variable
from sparkext.r2r.functions.variable_columns import column, column_name, unbound

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


@dataclass(frozen=True)
class Solutions:
    """A bag of solution mappings: one BIGINT column a variable, null where unbound.

    `certain` are the variables that are never null; `content` is the name of the one relation of ours that is read, as
    operators show it, if that is known.
    """

    frame: DataFrame
    variables: tuple[Variable, ...]
    certain: frozenset[Variable]
    estimated_rows: float = field(default=0.0, compare=False)
    content: str = field(default="", compare=False)

    @property
    def columns(self) -> dict[Variable, Column]:
        """Each variable with its column, for expressions."""
        return {variable: column(variable) for variable in self.variables}

    def where(self, condition: Column) -> Solutions:
        """Only the rows for which the condition is true."""
        return Solutions(
            self.frame.where(condition), self.variables, self.certain, self.estimated_rows
        )

    def select(self, variables: Iterable[Variable]) -> Solutions:
        """Only these variables, in this order; one that is not in scope is unbound in every row."""
        chosen = tuple(dict.fromkeys(variables))
        return Solutions(
            self.frame.select(*self.aligned(chosen)),
            chosen,
            self.certain & set(chosen),
            self.estimated_rows,
        )

    def aligned(self, variables: Iterable[Variable]) -> list[Column]:
        """The columns of these variables, unbound for those not in scope."""
        return [
            column(v) if v in self.variables else unbound().alias(column_name(v)) for v in variables
        ]


def join(
    left: Solutions, right: Solutions, rows: float, broadcast: bool, also: Iterable[str] = ()
) -> Solutions:
    """Compatible mappings joined (SPARQL 1.1, section 18.5, Join).

    With `broadcast` the right side is the build side. A variable that may be unbound on either side joins with
    anything where it is: such columns are compared only where both are bound, and the bound one is kept. `also` are
    columns of the left frame that are kept beside the variables'.
    """
    return _combine(left, right, rows, broadcast, "inner", None, also)


def left_join(
    left: Solutions, right: Solutions, condition: Column | None, rows: float, broadcast: bool
) -> Solutions:
    """OPTIONAL: each left mapping with the compatible right ones for which the condition holds, or by itself.

    The condition sees the left side's columns and, where the left side has none, the right side's.
    """
    return _combine(left, right, rows, broadcast, "left", condition)


def minus(
    left: Solutions, right: Solutions, shared: Iterable[Variable], broadcast: bool
) -> Solutions:
    """The left mappings that no right one is compatible with and shares a bound variable with (section 18.5, Minus).

    `shared` are the variables of both patterns; inside GRAPH ?g, whose variable both sides may have beside, only
    mappings of one graph are compared.
    """
    theirs = {v: f"{column_name(v)}_right" for v in left.variables if v in right.variables}
    build = right.frame.select(*(column(v).alias(name) for v, name in theirs.items()))
    tests = [_compatible(left, right, v, name) for v, name in theirs.items()]
    shared = set(shared)
    if not shared & left.certain & right.certain:
        both = [
            column(v).isNotNull() & F.col(theirs[v]).isNotNull() for v in sorted_by_name(shared)
        ]
        tests.append(reduce(lambda a, b: a | b, both))
    build = F.broadcast(build) if broadcast else build
    frame = left.frame.join(build, reduce(lambda a, b: a & b, tests), "left_anti")
    return Solutions(frame, left.variables, left.certain, left.estimated_rows)


def sorted_by_name(variables: Iterable[Variable]) -> list[Variable]:
    """Variables in an order that is the same on every run."""
    return sorted(variables, key=lambda v: v.name)


def _combine(
    left: Solutions,
    right: Solutions,
    rows: float,
    broadcast: bool,
    how: str,
    condition: Column | None,
    also: Iterable[str] = (),
) -> Solutions:
    shared = [v for v in left.variables if v in right.variables]
    theirs = {v: f"{column_name(v)}_right" for v in shared}
    build = right.frame.withColumnsRenamed({column_name(v): name for v, name in theirs.items()})
    build = F.broadcast(build) if broadcast else build
    tests = [_compatible(left, right, v, theirs[v]) for v in shared]
    if condition is not None:
        tests.append(condition)
    if tests:
        joined = left.frame.join(build, reduce(lambda a, b: a & b, tests), how)
    elif how == "inner":
        joined = left.frame.crossJoin(build)
    else:
        joined = left.frame.join(build, F.lit(True), how)
    output = [_kept(left, v, theirs) for v in left.variables]
    added = tuple(v for v in right.variables if v not in left.variables)
    output.extend(column(v) for v in added)
    output.extend(F.col(name) for name in also)
    certain = left.certain | right.certain if how == "inner" else left.certain
    return Solutions(joined.select(*output), left.variables + added, certain, rows)


def _kept(left: Solutions, variable: Variable, theirs: dict[Variable, str]) -> Column:
    if variable not in theirs or variable in left.certain:
        return column(variable)
    either = F.coalesce(column(variable), F.col(theirs[variable]))
    return either.alias(column_name(variable))


def _compatible(left: Solutions, right: Solutions, variable: Variable, renamed: str) -> Column:
    ours, theirs = column(variable), F.col(renamed)
    test = ours == theirs
    if variable not in left.certain:
        test = test | ours.isNull()
    if variable not in right.certain:
        test = test | theirs.isNull()
    return test


def union(left: Solutions, right: Solutions) -> Solutions:
    """The mappings of both sides, all kept (SPARQL 1.1, section 18.5, Union)."""
    variables = tuple(dict.fromkeys(left.variables + right.variables))
    return Solutions(
        left.select(variables).frame.unionAll(right.select(variables).frame),
        variables,
        left.certain & right.certain,
        left.estimated_rows + right.estimated_rows,
    )
