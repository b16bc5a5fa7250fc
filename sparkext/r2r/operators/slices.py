"""ORDER BY, OFFSET and LIMIT of sub-selects: the only places inside a pattern where an order means something."""

from __future__ import annotations

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Distinct, OrderBy, OrderKey, Project, Reduced, Slice
from sparkext.language.nodes import Node
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.scopes import Scope
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.relations.solutions import Solutions


def sliced(compiler: PatternCompiling, node: Slice, scope: Scope) -> Solutions:
    """The solutions of a sub-select that is cut (SPARQL 1.1, section 15), in SPARQL's order of its keys.

    Rows that the keys leave equal are told apart by their ids, so that the same ones are cut on every run.
    """
    inner: Node = node.input
    unique = isinstance(inner, Distinct)
    if isinstance(inner, Distinct | Reduced):
        inner = inner.input
    names = inner.variables
    if isinstance(inner, Project):
        inner = inner.input
    keys: tuple[OrderKey, ...] = ()
    if isinstance(inner, OrderBy):
        keys, inner = inner.keys, inner.input
    sorting = frozenset(v for key in keys for v in key.expression.variables)
    solutions = compiler.compile(inner, scope, frozenset(names) | sorting)
    if unique:
        for key in keys:
            if not set(key.expression.variables) <= set(names):
                raise UnsupportedFeatureError(
                    "ORDER BY of SELECT DISTINCT can only use projected variables",
                    *(key.expression.position or (1, 1)),
                )
        shown = solutions.select(names)
        solutions = Solutions(
            shown.frame.distinct(), shown.variables, shown.certain, shown.estimated_rows
        )
    marked, expressions = compiler.marked(solutions, tuple(key.expression for key in keys))
    values = []
    for place, expression in enumerate(expressions):
        value = compiler.value(expression, solutions.columns)
        values.append(value.alias(f"_key{place}"))
    known = [v for v in names if v in solutions.variables]
    frame = marked.frame.select(*(column(v) for v in known), *values)
    order = [f"{'-' if key.descending else ''}_key{place}" for place, key in enumerate(keys)]
    ties = [column_name(v) for v in known]
    frame = compiler.room.slice(frame, order, ties, node.offset, node.limit)
    rows = solutions.estimated_rows
    if node.limit is not None:
        rows = min(rows, float(node.limit))
    cut = Solutions(
        frame.select(*(column(v) for v in known)),
        tuple(known),
        solutions.certain & set(known),
        rows,
    )
    return cut.select(names)
