"""GROUP BY and aggregates in plans (SPARQL 1.1, section 18.5.1)."""

from __future__ import annotations

from typing import cast

from sparkext.language.algebra import Group
from sparkext.language.expressions import Aggregate
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.scopes import Scope
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.relations.solutions import Solutions
from sparkext.rewriting.bound_variables import certain_variables


def grouped(compiler: PatternCompiling, node: Group, scope: Scope) -> Solutions:
    """A row for each group of equal keys: the keys' variables, then those of the aggregates."""
    expressions = tuple(e for _, e in (*node.keys, *node.aggregates))
    read = frozenset(v for expression in expressions for v in expression.variables)
    counts_rows = any(a.argument is None and a.distinct for _, a in node.aggregates)
    inner = compiler.compile(node.input, scope, None if counts_rows else read)
    inner, marked = compiler.marked(inner, expressions)
    columns = inner.columns
    keys = [
        compiler.value(expression, columns).alias(column_name(key))
        for (key, _), expression in zip(node.keys, marked, strict=False)
    ]
    aggregates = [
        compiler.aggregate(cast(Aggregate, aggregate), inner).alias(column_name(name))
        for (name, _), aggregate in zip(node.aggregates, marked[len(node.keys) :], strict=True)
    ]
    by_key = inner.frame.groupBy(*keys)
    frame = by_key.agg(*aggregates) if aggregates else inner.frame.select(*keys).distinct()
    variables = tuple(dict.fromkeys([k for k, _ in node.keys] + [n for n, _ in node.aggregates]))
    rows = max(1.0, inner.estimated_rows) if node.keys else 1.0
    return Solutions(
        frame.select(*(column(v) for v in variables)), variables, certain_variables(node), rows
    )
