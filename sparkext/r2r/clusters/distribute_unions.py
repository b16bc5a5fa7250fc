"""A static UNION in a join that would be computed as a whole: the join is distributed over its sides instead.

Join distributes over union, in bags too (SPARQL 1.1, section 18.5). A static union that is too large to be kept, or
has variables that one side leaves unbound, would be computed at each evaluation; its sides are looked up instead. All
else is then computed once for each side, so nothing beside it may draw lots.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sparkext.language.algebra import Union
from sparkext.language.support import expressions_of
from sparkext.r2r.functions.function_table import is_rowwise
from sparkext.r2r.leaves.flattening import Cluster, flatten
from sparkext.r2r.leaves.leaf import DerivedLeaf, Leaf

MOST_CLUSTERS = 8


def distributed(cluster: Cluster, keeps: Callable[[Leaf], bool]) -> list[Cluster]:
    """The cluster, or several whose solutions together are its own; `keeps` says which leaves are there as a whole.

    Before: leaves ``Window(w, t1)``, ``Union(t2, t3)``; after: ``Window(w, t1)``, ``t2`` and ``Window(w, t1)``, ``t3``.
    """
    whole = [cluster]
    for leaf in cluster.leaves:
        if not _is_looked_up(leaf, cluster) or _draws_beside(leaf, cluster) or keeps(leaf):
            continue
        assert isinstance(leaf, DerivedLeaf) and isinstance(leaf.node, Union)
        sides = [flatten(side, leaf.scope) for side in leaf.node.children]
        parts = [_with(one, leaf, side) for one in whole for side in sides]
        if len(parts) > MOST_CLUSTERS:
            break
        whole = parts
    return whole


def _is_looked_up(leaf: Leaf, cluster: Cluster) -> bool:
    """Whether other leaves say for which values a static union is wanted."""
    if not (isinstance(leaf, DerivedLeaf) and isinstance(leaf.node, Union) and leaf.static):
        return False
    others = {v for other in cluster.leaves if other is not leaf for v in other.variables}
    return not others.isdisjoint(leaf.variables)


def _draws_beside(leaf: Leaf, cluster: Cluster) -> bool:
    """Whether another leaf has an expression whose value is another one each time that it is computed."""
    return any(
        is_rowwise(expression)
        for other in cluster.leaves
        if isinstance(other, DerivedLeaf) and other is not leaf
        for node in other.node.walk()
        for expression in expressions_of(node)
    )


def _with(cluster: Cluster, leaf: Leaf, side: Cluster) -> Cluster:
    leaves = [part for one in cluster.leaves for part in (side.leaves if one is leaf else (one,))]
    return replace(
        cluster, leaves=tuple(leaves), conditions=(*cluster.conditions, *side.conditions)
    )
