"""What a plan does at its dearest, so that a plan which does otherwise can be asked for."""

from __future__ import annotations

from adaptive.plan import Join, PlanNode, walk


def dearest_order(plan: PlanNode) -> tuple[frozenset[str], frozenset[str]] | None:
    """The relations that make the rows grow before the dearest join, and those that this join adds.

    A plan in which the first come after the second is another way to the answers, not the same one
    with its last steps in another order. None where nothing grows before the dearest join. The
    costs and rows at the nodes must be those of now.

    >>> from adaptive.plan import Scan
    >>> now, crowd, knows = (Scan(n, estimated_rows=r) for n, r in (("now", 4), ("crowd", 9), ("knows", 9)))
    >>> met = Join(now, crowd, ("room",), "index", estimated_rows=800, cost=20)
    >>> sorted(map(sorted, dearest_order(Join(met, knows, ("a", "b"), "index", estimated_rows=2, cost=90))))
    [['crowd'], ['knows']]
    """
    joins = [node for node in walk(plan) if isinstance(node, Join)]
    if not joins:
        return None
    dearest = max(joins, key=_own_cost)
    before = [node for node in walk(dearest.left) if isinstance(node, Join)]
    if not before:
        return None
    growing = max(before, key=_growth)
    if _growth(growing) <= 1.0:
        return None
    return growing.right.relations, dearest.right.relations


def _own_cost(join: Join) -> float:
    return join.cost - join.left.cost - join.right.cost


def _growth(join: Join) -> float:
    return join.estimated_rows / max(1.0, join.left.estimated_rows)
