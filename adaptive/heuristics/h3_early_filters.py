"""H3: filters are applied as early as their variables are bound, so that fewer rows travel on.

A filter is one condition here: conjunctions were taken apart when the query graph was made.
"""

from __future__ import annotations

from dataclasses import replace

from adaptive.plan import Join, PlanNode, Prejoined, walk
from adaptive.query_graph import QueryGraph


def apply_filters_early(plan: PlanNode, graph: QueryGraph) -> PlanNode:
    """The same plan with each filter at the first step that binds its variables.

    What comes out of a probed index is filtered by the join. Estimates are left as they were.

    Before, the filter on the window waits for the join; after, it does not:

    >>> from adaptive.plan import Scan
    >>> from adaptive.query_graph import JoinFilter, Relation, RelationKind
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
    return _early(plan, graph)[0]


def _early(plan: PlanNode, graph: QueryGraph) -> tuple[PlanNode, frozenset[str]]:
    """The plan, and the filters that it has applied."""
    if isinstance(plan, Prejoined):
        return plan, frozenset(plan.filters)
    decided = [filter_.name for filter_ in graph.filters_within(graph.mask(plan.relations))]
    if not isinstance(plan, Join):
        return replace(plan, filters=tuple(decided)), frozenset(decided)
    left, done = _early(plan.left, graph)
    right = plan.right
    if plan.method != "index":
        right, more = _early(plan.right, graph)
        done |= more
    elif isinstance(right, Prejoined):
        done |= frozenset(right.filters)
    own = tuple(name for name in decided if name not in done)
    return replace(plan, left=left, right=right, filters=own), frozenset(decided)


def apply_filters_last(plan: PlanNode, graph: QueryGraph) -> PlanNode:
    """The same plan with all filters at its top, as without H3.

    Filters inside a pre-joined part stay there: they were applied when it was made.
    """
    kept = {name for node in walk(plan) if isinstance(node, Prejoined) for name in node.filters}
    bare = _without_filters(plan)
    if isinstance(bare, Prejoined):
        return bare
    names = tuple(filter_.name for filter_ in graph.filters if filter_.name not in kept)
    return replace(bare, filters=names)


def _without_filters(plan: PlanNode) -> PlanNode:
    if isinstance(plan, Prejoined):
        return plan
    if not isinstance(plan, Join):
        return replace(plan, filters=())
    left, right = _without_filters(plan.left), _without_filters(plan.right)
    return replace(plan, left=left, right=right, filters=())
