"""EXISTS in plans: a semi or an anti join where it stands by itself, elsewhere a column that says what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.language.algebra import Filter, LeftJoin
from sparkext.language.expressions import And, Expression, Not
from sparkext.language.nodes import Node, Variable
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.scoped_exists import ScopedExists, turned
from sparkext.r2r.leaves.scopes import Scope, scope_variables
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.patterns.inner_patterns import has_exists
from sparkext.r2r.patterns.stage_rows import Found, Given
from sparkext.r2r.patterns.substitution import (
    closed,
    free_variables,
    inject,
    read_variables,
    without_order,
)
from sparkext.r2r.relations.solutions import Solutions, join, union
from sparkext.rewriting.bound_variables import certain_variables
from sparkext.rewriting.filters import conjuncts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_INNER = "_inner"


@dataclass(frozen=True)
class Existence:
    """Evaluates conditions and other expressions in which EXISTS may stand, for one compiler of patterns."""

    compiler: PatternCompiling

    def where(
        self, solutions: Solutions, condition: Expression, also: Sequence[str] = ()
    ) -> Solutions:
        """The solutions for which the condition is true; `also` are columns to be kept beside the variables'."""
        parts = [_turned(part) for part in conjuncts(condition)]
        for part in sorted(parts, key=has_exists):  # what is cheap first
            if isinstance(part, ScopedExists):
                how = "left_anti" if part.negated else "left_semi"
                solutions = self._to_be_given(solutions, (part,))
                frame = self._join(solutions, part, how)
                solutions = Solutions(
                    frame, solutions.variables, solutions.certain, solutions.estimated_rows
                )
                continue
            marked, (test,) = self.marked(solutions, (part,))
            kept = marked.where(self.compiler.counted_condition(test, solutions.columns))
            if has_exists(part):
                kept = Solutions(
                    kept.frame.select(*_columns(solutions), *also), *_fields(solutions)
                )
            solutions = kept
        return solutions

    def marked(
        self, solutions: Solutions, expressions: Sequence[Expression]
    ) -> tuple[Solutions, tuple[Expression, ...]]:
        """The solutions with a column for each EXISTS, and the expressions that read these columns instead.

        The added columns are no variables: `select` what is wanted afterwards.
        """
        made: dict[Expression, Found] = {}
        solutions = self._to_be_given(solutions, expressions)
        for part in (p for expression in expressions for p in expression.walk()):
            if isinstance(part, ScopedExists) and part not in made:
                name = f"_found_{self.compiler.number()}"
                frame = self.compiler.room.marked(self._join(solutions, part, "left_semi"), name)
                solutions = Solutions(frame, *_fields(solutions))
                made[part] = Found(name)

        def put(part: Expression) -> Expression:
            if not isinstance(part, ScopedExists):
                return part
            return Not(made[part]) if part.negated else made[part]

        return solutions, tuple(expression.transform(put) for expression in expressions)

    def _join(self, left: Solutions, part: ScopedExists, how: str) -> DataFrame:
        outer = frozenset(part.correlated) & set(left.variables)
        pattern, conditions = _peeled(without_order(part.pattern), outer)
        if closed(pattern, outer):
            wanted = outer | {v for c in conditions for v in read_variables(c)}
            right = self.compiler.compile(
                pattern, part.scope, wanted | set(scope_variables(part.scope))
            )
            build = self._build(right)
            tests = [_compatible(left, right, v) for v in right.variables if v in outer]
            values = {v: column(v) for v in outer} | {
                v: _either(left, v) if v in outer else F.col(column_name(v) + _INNER)
                for v in right.variables
            }
            tests += [self.compiler.condition(c, values) for c in conditions]
        else:
            given, names = self._given(left, outer)
            inner = inject(without_order(part.pattern), given, outer)
            right = self.compiler.compile(inner, part.scope, frozenset(given.names))
            build = self._build(right)
            tests = [
                F.col(column_name(theirs) + _INNER).eqNullSafe(column(ours))
                if ours not in left.certain
                else F.col(column_name(theirs) + _INNER) == column(ours)
                for ours, theirs in names.items()
            ]
        return left.frame.join(build, reduce(lambda a, b: a & b, tests, F.lit(True)), how)

    def _to_be_given(self, left: Solutions, expressions: Iterable[Expression]) -> Solutions:
        """The solutions as `_given` needs them: those that it makes are found again by their values."""
        for part in (p for expression in expressions for p in expression.walk()):
            if isinstance(part, ScopedExists):
                outer = frozenset(part.correlated) & set(left.variables)
                if not closed(_peeled(without_order(part.pattern), outer)[0], outer):
                    return self.compiler.read_twice(left, part.position)
        return left

    def _build(self, right: Solutions) -> DataFrame:
        names = {column_name(v): column_name(v) + _INNER for v in right.variables}
        build = right.frame.withColumnsRenamed(names) if names else right.frame
        return F.broadcast(build) if self.compiler.frames.prepared else build

    def _given(
        self, left: Solutions, outer: frozenset[Variable]
    ) -> tuple[Given, dict[Variable, Variable]]:
        """The outer solutions as a leaf, and under which names it has their values for sure.

        A variable that may be unbound is there twice: the pattern may bind the one, the other tells solutions apart.
        """
        shown = [v for v in left.variables if v in outer]
        names = {v: v if v in left.certain else Variable(f"_:given {v.name}") for v in shown}
        copies = [v for v in shown if v not in left.certain]
        frame = left.frame.select(
            *(column(v) for v in shown),
            *(column(v).alias(column_name(names[v])) for v in copies),
        ).distinct()
        variables = (*shown, *(names[v] for v in copies))
        sure = left.certain & set(shown)
        number = self.compiler.give(Solutions(frame, variables, sure, left.estimated_rows))
        return Given(number, variables, sure), names


def optional_where_found(
    compiler: PatternCompiling, node: LeftJoin, scope: Scope, needed: frozenset[Variable] | None
) -> Solutions:
    """OPTIONAL with EXISTS in its condition: the joined solutions that pass it, and the left ones that have none.

    Solutions that are equal have the same fate, so the left ones may be told by their values.
    """
    assert node.condition is not None
    if needed is not None:
        needed |= set(node.left.variables) | set(node.condition.variables)
    prepared = compiler.frames.prepared
    place = node.condition.position
    left = compiler.read_twice(compiler.compile(node.left, scope, needed), place)
    right = compiler.read_twice(compiler.compile(node.right, scope, needed), place)
    rows = max(left.estimated_rows, 1.0)
    kept = [column(v).alias(f"{column_name(v)}_left") for v in left.variables]
    wide = Solutions(left.frame.select("*", *kept), left.variables, left.certain, rows)
    own = [f"{column_name(v)}_left" for v in left.variables]
    joined = join(wide, right, rows, prepared, also=own)
    passed = compiler.where(joined, node.condition, also=own)
    build = passed.frame.select(*own)
    build = F.broadcast(build) if prepared else build
    tests = [
        (column(v) == F.col(name)) if v in left.certain else column(v).eqNullSafe(F.col(name))
        for v, name in zip(left.variables, own, strict=True)
    ]
    rest = left.frame.join(build, reduce(lambda a, b: a & b, tests, F.lit(True)), "left_anti")
    found = Solutions(passed.frame.select(*_columns(passed)), *_fields(passed))
    return union(found, Solutions(rest, *_fields(left)))


def _peeled(pattern: Node, outer: frozenset[Variable]) -> tuple[Node, list[Expression]]:
    """Filters on top that read outer variables become conditions of the join, where the rest is closed."""
    conditions: list[Expression] = []
    while isinstance(pattern, Filter) and not has_exists(pattern.condition):
        if closed(pattern, outer) or not closed(pattern.input, outer):
            break
        if (
            outer
            & read_variables(pattern.condition)
            & free_variables(pattern.input) - certain_variables(pattern.input)
        ):
            break
        parts = conjuncts(pattern.condition)
        inner = [p for p in parts if outer & read_variables(p) <= certain_variables(pattern.input)]
        conditions += [p for p in parts if p not in inner]
        below = pattern.input
        if inner:
            below = Filter(reduce(And, inner), below, position=pattern.position)
        pattern = without_order(below)
        if inner:
            break
    return pattern, conditions


def _turned(part: Expression) -> Expression:
    """`!EXISTS` as NOT EXISTS."""
    if isinstance(part, Not) and isinstance(part.operand, ScopedExists):
        return turned(part.operand)
    return part


def _compatible(left: Solutions, right: Solutions, variable: Variable) -> Column:
    ours, theirs = column(variable), F.col(column_name(variable) + _INNER)
    test = ours == theirs
    if variable not in left.certain:
        test = test | ours.isNull()
    if variable not in right.certain:
        test = test | theirs.isNull()
    return test


def _either(left: Solutions, variable: Variable) -> Column:
    theirs = F.col(column_name(variable) + _INNER)
    return column(variable) if variable in left.certain else F.coalesce(column(variable), theirs)


def _columns(solutions: Solutions) -> list[Column]:
    # Rows of no variables need a column all the same.
    return [column(v) for v in solutions.variables] or [F.lit(1).cast("bigint").alias("_present")]


def _fields(like: Solutions) -> tuple[tuple[Variable, ...], frozenset[Variable], float]:
    return like.variables, like.certain, like.estimated_rows
