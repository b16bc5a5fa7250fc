"""OPTIONAL and MINUS in plans: outer and anti joins by compatibility."""

from __future__ import annotations

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import LeftJoin, Minus
from sparkext.language.nodes import Variable
from sparkext.r2r.functions.function_table import is_rowwise
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.scopes import Scope, scope_variables
from sparkext.r2r.operators.existence import optional_where_found
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.patterns.inner_patterns import has_exists
from sparkext.r2r.relations.solutions import Solutions, left_join, minus


def optional(
    compiler: PatternCompiling, node: LeftJoin, scope: Scope, needed: frozenset[Variable] | None
) -> Solutions:
    """The left solutions, extended where the right side matches and the condition holds.

    `needed` are the variables that are read above (None: all). Raises UnsupportedFeatureError for a condition that has
    another value for each solution.
    """
    if needed is not None:
        needed |= set(node.left.variables) & set(node.right.variables)
        needed |= set(node.condition.variables if node.condition is not None else ())
    unrepeatable = node.condition is not None and is_rowwise(node.condition)
    if node.condition is not None and has_exists(node.condition) and not unrepeatable:
        return optional_where_found(compiler, node, scope, needed)
    left = compiler.compile(node.left, scope, needed)
    right = compiler.compile(node.right, scope, needed)
    condition = None
    if node.condition is not None:
        columns = {v: column(v) for v in (*right.variables, *left.variables)}
        for variable in right.variables:
            if variable in left.variables and variable not in left.certain:
                columns[variable] = F.coalesce(
                    column(variable), F.col(f"{column_name(variable)}_right")
                )
        if is_rowwise(node.condition):
            raise UnsupportedFeatureError(
                "a FILTER of OPTIONAL that has another value for each solution is not supported",
                *(node.condition.position or (1, 1)),
            )
        condition = compiler.condition(node.condition, columns)
    rows = max(left.estimated_rows, 1.0)
    return left_join(left, right, condition, rows, broadcast=compiler.frames.prepared)


def without_compatible(
    compiler: PatternCompiling, node: Minus, scope: Scope, needed: frozenset[Variable] | None
) -> Solutions:
    """The left solutions of a MINUS that no right one is compatible with and shares a variable with."""
    shared = frozenset(node.left.variables) & frozenset(node.right.variables)
    if not shared:
        return compiler.compile(node.left, scope, needed)
    if needed is not None:
        needed |= shared
    read = shared | set(scope_variables(scope))
    left = compiler.compile(node.left, scope, needed)
    right = compiler.compile(node.right, scope, read)
    return minus(left, right, shared, broadcast=compiler.frames.prepared)
