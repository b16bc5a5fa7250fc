"""H3: filters are applied as early as their variables are bound, so that fewer rows travel on.

A filter is one condition here: conjunctions were taken apart when the query graph was made.
"""

from __future__ import annotations

from dataclasses import replace

from adaptive.graph.plan import Join, PlanNode, Prejoined, walk
from adaptive.graph.query_graph import QueryGraph


def apply_filters_early(plan: PlanNode, graph: QueryGraph) -> PlanNode:
    """The same plan with each filter and bind at the first step that binds its variables.

    What comes out of a probed index is filtered by the join. Estimates are left as they were.

    Before, the filter on the window waits for the join; after, it does not:

    >>> from adaptive.graph.plan import Scan
    >>> from adaptive.graph.query_graph import JoinFilter, Relation, RelationKind
    >>> graph = QueryGraph((Relation("now", ("person", "room"), RelationKind.WINDOW),
    ...                     Relation("name", ("person", "label"), RelationKind.STATIC)),
    ...                    (JoinFilter("not_lobby", frozenset({"room"})),))
    >>> before = Join(Scan("now"), Scan("name"), ("person",), "index", ("not_lobby",))
    >>> after = apply_filters_early(before, graph)
    >>> after.filters, after.left.filters
    ((), ('not_lobby',))
    >>> apply_filters_last(after, graph) == before
    True
    """
    return _early(plan, graph, set())[0]


def _early(
    plan: PlanNode, graph: QueryGraph, bound_before: set[str]
) -> tuple[PlanNode, frozenset[str]]:
    """The plan, and the filters and binds that it has applied.

    `bound_before` collects the binds applied anywhere so far: each is applied once.
    """
    if isinstance(plan, Prejoined):
        return plan, frozenset(plan.filters)
    if not isinstance(plan, Join):
        own = _applicable(plan, graph, frozenset(), bound_before)
        return replace(plan, filters=own), frozenset(own)
    left, done = _early(plan.left, graph, bound_before)
    right = plan.right
    if plan.method != "index":
        right, more = _early(plan.right, graph, bound_before)
        done |= more
    elif isinstance(right, Prejoined):
        done |= frozenset(right.filters)
    own = _applicable(plan, graph, done, bound_before)
    return replace(plan, left=left, right=right, filters=own), done | frozenset(own)


def _applicable(
    plan: PlanNode, graph: QueryGraph, done: frozenset[str], bound_before: set[str]
) -> tuple[str, ...]:
    """Binds, then filters, that a step can apply and that nothing below it has."""
    bound = graph.variables(graph.mask(plan.relations))
    if not graph.extends:
        return tuple(f.name for f in graph.filters if f.variables <= bound and f.name not in done)
    bound |= {extend.variable for extend in graph.extends if extend.name in done}
    own = []
    for extend in graph.extends:
        if extend.name not in bound_before and extend.inputs <= bound:
            bound |= {extend.variable}
            bound_before.add(extend.name)
            own.append(extend.name)
    own += [f.name for f in graph.filters if f.variables <= bound and f.name not in done]
    return tuple(own)


def apply_filters_last(plan: PlanNode, graph: QueryGraph) -> PlanNode:
    """The same plan with all filters at its top, as without H3.

    Filters inside a pre-joined part stay there: they were applied when it was made.
    """
    kept = {name for node in walk(plan) if isinstance(node, Prejoined) for name in node.filters}
    bare = _without_filters(plan)
    if isinstance(bare, Prejoined):
        return bare
    names = tuple(extend.name for extend in graph.extends)
    names += tuple(filter_.name for filter_ in graph.filters if filter_.name not in kept)
    return replace(bare, filters=names)


def _without_filters(plan: PlanNode) -> PlanNode:
    if isinstance(plan, Prejoined):
        return plan
    if not isinstance(plan, Join):
        return replace(plan, filters=())
    left, right = _without_filters(plan.left), _without_filters(plan.right)
    return replace(plan, left=left, right=right, filters=())
