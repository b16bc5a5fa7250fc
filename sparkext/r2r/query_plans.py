"""A whole query compiled: its stages and main plan, the columns that are answered, and the order they come in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Distinct,
    Node,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
    Variable,
)
from sparkext.language.expressions import VariableReference
from sparkext.r2r.expand_paths import expand_paths
from sparkext.r2r.graph_variables import bind_graph_variables
from sparkext.r2r.leaves import DEFAULT_GRAPH, Scope
from sparkext.r2r.local_names import number_hidden
from sparkext.r2r.scoped_exists import scope_exists
from sparkext.r2r.solution_functions import complete_calls
from sparkext.r2r.solutions import Solutions
from sparkext.r2r.window_graphs import bind_window_graphs
from sparkext.rewriting.lazy_binds import delay_binds
from sparkext.rewriting.push_filters import push_filters

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from sparkext.r2r.compiler import PatternCompiler


@dataclass(frozen=True)
class Modifiers:
    """ORDER BY, OFFSET and LIMIT of a whole query; they are applied to the answers, not in the plan."""

    keys: tuple[OrderKey, ...] = ()
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class QueryFrames:
    """A compiled query: the first `visible` columns are `variables`, the others only sort.

    `order` lists column numbers, -number - 1 for descending ones.
    """

    frame: DataFrame
    variables: tuple[Variable, ...]
    order: tuple[int, ...] = ()
    offset: int = 0
    limit: int | None = None
    makes_terms: bool = False
    reads_clock: bool = False
    estimated_rows: float = field(default=0.0, compare=False)


def compile_query(
    compiler: PatternCompiler,
    pattern: Node,
    variables: tuple[Variable, ...],
    scope: Scope = DEFAULT_GRAPH,
    base_iri: str | None = None,
) -> QueryFrames:
    """Compile a query's algebra with all its solution modifiers.

    `scope` is that of its outermost patterns, `base_iri` what IRI() resolves against.
    """
    pattern = bind_window_graphs(number_hidden(expand_paths(complete_calls(pattern, base_iri))))
    pattern = bind_graph_variables(pattern, compiler.estimates.dataset.named_graphs)
    if compiler.early_filters:
        pattern = push_filters(pattern, compiler.uncertain.comes_last)
    if compiler.uncertain.lazy:
        pattern = delay_binds(pattern, compiler.uncertain.cached)
    pattern, modifiers, project = _peel(scope_exists(pattern, scope))
    sorting = {v for key in modifiers.keys for v in key.expression.variables}
    if isinstance(project, Distinct | Reduced):
        solutions = compiler.compile(project, scope)
        return _ordered(compiler, solutions.select(variables), None, modifiers)
    needed = frozenset(variables) | sorting
    solutions = compiler.compile(project.input, scope, needed)
    return _ordered(compiler, solutions.select(variables), solutions, modifiers)


def _peel(pattern: Node) -> tuple[Node, Modifiers, Project | Distinct | Reduced]:
    """Take Slice and OrderBy off; the third part is the projection, or the DISTINCT over it."""
    offset, limit = 0, None
    if isinstance(pattern, Slice):
        offset, limit, pattern = pattern.offset, pattern.limit, pattern.input
    outer = pattern
    unique = isinstance(pattern, Distinct | Reduced)
    if isinstance(pattern, Distinct | Reduced):
        pattern = pattern.input
    if unique and not isinstance(pattern, Project):
        return outer, Modifiers((), offset, limit), Project(outer, outer.variables)
    keys: tuple[OrderKey, ...] = ()
    # ASK, CONSTRUCT and DESCRIBE have modifiers, but no projection of their own.
    inner = pattern.input if isinstance(pattern, Project) else pattern
    names = pattern.names if isinstance(pattern, Project) else pattern.variables
    if isinstance(inner, OrderBy):
        keys, inner = inner.keys, inner.input
    project: Project | Distinct | Reduced = Project(inner, names)
    if unique:
        project = Distinct(project)
    return inner, Modifiers(keys, offset, limit), project


def _ordered(
    compiler: PatternCompiler, shown: Solutions, source: Solutions | None, modifiers: Modifiers
) -> QueryFrames:
    """Add the values of sort keys as columns; after DISTINCT (no `source`) only answered variables can sort."""
    variables = shown.variables
    readable = shown if source is None else source
    order: list[int] = []
    extra: list[Column] = []
    for key in modifiers.keys:
        expression = key.expression
        if isinstance(expression, VariableReference) and expression.variable in variables:
            place = variables.index(expression.variable)
        else:
            if source is None and not set(expression.variables) <= set(variables):
                raise UnsupportedFeatureError(
                    "ORDER BY of SELECT DISTINCT can only use projected variables",
                    *(expression.position or (1, 1)),
                )
            place = len(variables) + len(extra)
            readable, (expression,) = compiler.existence.marked(readable, (expression,))
            value = compiler.value(expression, readable.columns)
            extra.append(value.alias(f"order_{len(extra)}"))
        order.append(-place - 1 if key.descending else place)
    frame = shown.frame
    if not variables:  # rows of no columns would not be counted
        frame = frame.select(F.lit(0).cast("bigint").alias("_present"))
    if extra:
        frame = readable.frame.select(*readable.aligned(variables), *extra)
    return QueryFrames(
        frame,
        variables,
        tuple(order),
        modifiers.offset,
        modifiers.limit,
        compiler.makes_terms,
        compiler.reads_clock,
        shown.estimated_rows,
    )
