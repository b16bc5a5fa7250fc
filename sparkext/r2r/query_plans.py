"""A whole query compiled: its stages and main plan, the columns that are answered, and the order they come in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Distinct,
    Join,
    OrderBy,
    OrderKey,
    Project,
    Reduced,
    Slice,
    Window,
)
from sparkext.language.expressions import Expression, VariableReference
from sparkext.language.nodes import Node, Variable
from sparkext.r2r.functions.solution_functions import complete_calls
from sparkext.r2r.leaves.delta_patterns import (
    Timed,
    alternatives,
    not_monotone,
    through,
    timed,
    timed_parts,
)
from sparkext.r2r.leaves.element_patterns import ELEMENT, element_patterns, on_elements
from sparkext.r2r.leaves.scoped_exists import scope_exists
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, Scope, inside_window
from sparkext.r2r.leaves.time_look_ups import look_up_times
from sparkext.r2r.patterns.expand_paths import expand_paths
from sparkext.r2r.patterns.graph_variables import bind_graph_variables
from sparkext.r2r.patterns.local_names import number_hidden
from sparkext.r2r.patterns.occurrences import number_occurrences
from sparkext.r2r.patterns.window_graphs import bind_window_graphs
from sparkext.r2r.relations.frames import PreparedFrames
from sparkext.r2r.relations.solutions import Solutions
from sparkext.rewriting.lazy_binds import delay_binds
from sparkext.rewriting.push_filters import push_filters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from sparkext.r2r.compiler import PatternCompiler


_MOST_DELTA_PLANS = 32


@dataclass(frozen=True)
class Modifiers:
    """ORDER BY, OFFSET and LIMIT of a whole query; they are applied to the answers, not in the plan."""

    keys: tuple[OrderKey, ...] = ()
    offset: int = 0
    limit: int | None = None


@dataclass(frozen=True)
class QueryFrames:
    """A compiled query: the first `visible` columns are `variables`, the others only sort.

    `order` lists column numbers, -number - 1 for descending ones. One that is `volatile` may answer differently at
    another evaluation of the same content.
    """

    frame: DataFrame
    variables: tuple[Variable, ...]
    order: tuple[int, ...] = ()
    offset: int = 0
    limit: int | None = None
    makes_terms: bool = False
    reads_clock: bool = False
    volatile: bool = False
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
    pattern, modifiers, project = _peel(_rewritten(compiler, pattern, scope, base_iri))
    sorting = {v for key in modifiers.keys for v in key.expression.variables}
    if isinstance(project, Distinct | Reduced):
        solutions = compiler.compile(project, scope)
        return _ordered(compiler, solutions.select(variables), None, modifiers)
    needed = frozenset(variables) | sorting
    solutions = compiler.compile(project.input, scope, needed)
    return _ordered(compiler, solutions.select(variables), solutions, modifiers)


def _rewritten(
    compiler: PatternCompiler, pattern: Node, scope: Scope, base_iri: str | None
) -> Node:
    pattern = bind_window_graphs(number_hidden(expand_paths(complete_calls(pattern, base_iri))))
    dataset = compiler.estimates.dataset
    pattern = bind_graph_variables(pattern, lambda: dataset.named_graphs, dataset.is_named)
    pattern = look_up_times(pattern)
    if compiler.early_filters:
        pattern = push_filters(pattern, compiler.uncertain.comes_last)
    if compiler.uncertain.lazy:
        pattern = delay_binds(pattern, compiler.uncertain.cached)
    return number_occurrences(scope_exists(pattern, scope))


@dataclass(frozen=True)
class EventFrame:
    """An event of a MATCH compiled over the elements that arrived: its columns are `variables`, the element, and as
    many triples.

    The variables in `certain` are never unbound.
    """

    frame: DataFrame
    variables: tuple[Variable, ...]
    certain: frozenset[Variable]
    triples: int
    makes_terms: bool


def compile_event(
    compiler: PatternCompiler,
    event: Window,
    number: tuple[int, int],
    base_iri: str | None = None,
    static: Sequence[Node] = (),
) -> EventFrame:
    """Compile EVENT ON :w { P } as solutions of P on each element that arrived (RSEP-QL, equation 4).

    `number` tells the event from all others of its query; with `static` patterns, only solutions that are compatible
    with theirs are found. Raises UnsupportedFeatureError for what cannot be matched on one element.
    """
    restricted = reduce(Join, static, cast(Node, event))
    whole = _rewritten(compiler, restricted, DEFAULT_GRAPH, base_iri)
    dataset = compiler.estimates.dataset
    scope = inside_window(event)
    pattern = on_elements(whole, DEFAULT_GRAPH, scope, number, lambda: dataset.named_graphs)
    triples = tuple(part.triple for part in element_patterns(pattern))
    if not triples:
        raise UnsupportedFeatureError(
            "an event that looks at no element is not supported",
            *(event.position or (1, 1)),
        )
    variables = tuple(v for v in event.variables if not v.hidden)
    shown = (*variables, ELEMENT, *triples)
    solutions = compiler.compile(pattern, DEFAULT_GRAPH, frozenset(shown)).select(shown)
    if isinstance(compiler.frames, PreparedFrames) and compiler.frames.stages:
        raise UnsupportedFeatureError(
            "an event that needs a stage of its own, as EXISTS of values that are drawn does, is not supported",
            *(event.position or (1, 1)),
        )
    certain = solutions.certain & set(variables)
    return EventFrame(solutions.frame, variables, certain, len(triples), compiler.makes_terms)


@dataclass(frozen=True)
class DeltaPattern:
    """A monotone query ready for delta evaluation: its pattern with the times of window rows, and the scope."""

    pattern: Node
    scope: Scope
    variables: tuple[Variable, ...]

    @property
    def timed(self) -> list[Timed]:
        """The window patterns and MATCHes."""
        return timed_parts(self.pattern)

    @property
    def parts(self) -> list[tuple[Node, Timed]]:
        """Each window pattern and MATCH in each alternative of the pattern: there is one plan for each."""
        return [(way, part) for way in alternatives(self.pattern) for part in timed_parts(way)]

    def compile(self, compiler: PatternCompiler, way: Node, part: Timed) -> DataFrame:
        """The derivations that use an arrived row of one part: the answered variables, then the times of all parts."""
        shown = (*self.variables, *(pattern.time for pattern in self.timed))
        found = compiler.compile(through(way, part.place), self.scope, frozenset(shown))
        return found.select(shown).frame


def delta_pattern(
    compiler: PatternCompiler,
    pattern: Node,
    variables: tuple[Variable, ...],
    scope: Scope = DEFAULT_GRAPH,
    base_iri: str | None = None,
) -> DeltaPattern | str:
    """Make a query's pattern ready for delta evaluation, or say what keeps it from that; arguments as for
    `compile_query`."""
    _, modifiers, project = _peel(_rewritten(compiler, pattern, scope, base_iri))
    if modifiers != Modifiers():
        return "ORDER BY, LIMIT or OFFSET"
    whole = project.input if isinstance(project, Distinct | Reduced) else project
    reason = not_monotone(whole, scope)
    if reason is not None:
        return reason
    made = DeltaPattern(timed(whole, scope), scope, variables)
    plans = len(made.parts)
    return made if plans <= _MOST_DELTA_PLANS else f"it would take {plans} plans"


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
    computed: list[Expression] = []
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
            place = len(variables) + len(computed)
            computed.append(expression)
        order.append(-place - 1 if key.descending else place)
    frame = shown.frame
    if not variables:  # rows of no columns would not be counted
        frame = frame.select(F.lit(0).cast("bigint").alias("_present"))
    if computed:
        readable, marked = compiler.marked(readable, computed)
        values = (compiler.value(expression, readable.columns) for expression in marked)
        extra = [value.alias(f"order_{number}") for number, value in enumerate(values)]
        frame = readable.frame.select(*readable.aligned(variables), *extra)
    return QueryFrames(
        frame,
        variables,
        tuple(order),
        modifiers.offset,
        modifiers.limit,
        compiler.makes_terms,
        compiler.reads_clock,
        compiler.volatile,
        shown.estimated_rows,
    )
