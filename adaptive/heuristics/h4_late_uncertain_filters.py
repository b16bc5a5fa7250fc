"""H4: filters that call uncertainty functions come last, after all joins, as their calls are expensive.

It overrides H3 for these filters alone. A bind that calls such a function goes with them, and so
does whatever reads its variable.
"""

from __future__ import annotations

from dataclasses import replace

from adaptive.graph.plan import Join, PlanNode, Prejoined, walk
from adaptive.graph.query_graph import QueryGraph


def uncertain_names(graph: QueryGraph) -> frozenset[str]:
    """The names of the filters and binds that H4 moves."""
    names: set[str] = set()
    variables: set[str] = set()
    for extend in graph.extends:
        if extend.uncertain or extend.inputs & variables:
            names.add(extend.name)
            variables.add(extend.variable)
    names.update(f.name for f in graph.filters if f.uncertain or f.variables & variables)
    return frozenset(names)


def apply_uncertain_filters_last(plan: PlanNode, graph: QueryGraph) -> PlanNode:
    """The same plan with all filters and binds that call uncertainty functions at its top.

    What lies inside a pre-joined part stays there: it was applied when that was made. Estimates are
    left as they were.

    Before, the probability is computed for each observation in the window; after, only for those of
    sectors that are closed. The comparison of the temperature stays where H3 has put it:

    >>> from adaptive.graph.plan import Scan
    >>> from adaptive.graph.query_graph import JoinFilter, Relation, RelationKind
    >>> graph = QueryGraph(
    ...     (Relation("oxygen", ("sector", "level", "temperature"), RelationKind.WINDOW),
    ...      Relation("closed", ("sector",), RelationKind.STATIC)),
    ...     (JoinFilter("low", frozenset({"level"}), uncertain=True),
    ...      JoinFilter("hot", frozenset({"temperature"}))))
    >>> before = Join(Scan("oxygen", ("low", "hot")), Scan("closed"), ("sector",), "index")
    >>> after = apply_uncertain_filters_last(before, graph)
    >>> after.filters, after.left.filters
    (('low',), ('hot',))
    """
    inside = {name for node in walk(plan) if isinstance(node, Prejoined) for name in node.filters}
    moved = uncertain_names(graph) - inside
    bare = without_filters(plan, moved)
    if isinstance(bare, Prejoined):
        return bare
    last = [extend.name for extend in graph.extends if extend.name in moved]
    last += [filter_.name for filter_ in graph.filters if filter_.name in moved]
    return replace(bare, filters=(*bare.filters, *last))


def without_filters(plan: PlanNode, names: frozenset[str]) -> PlanNode:
    """The same plan without some filters and binds, but for what pre-joined parts have applied."""
    if isinstance(plan, Prejoined):
        return plan
    kept = tuple(name for name in plan.filters if name not in names)
    if not isinstance(plan, Join):
        return replace(plan, filters=kept)
    left, right = without_filters(plan.left, names), without_filters(plan.right, names)
    return replace(plan, left=left, right=right, filters=kept)
