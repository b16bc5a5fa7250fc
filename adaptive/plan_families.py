"""What a plan does before what, so that a plan which does otherwise can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from adaptive.plan import Join, PlanNode, Scan, walk
from adaptive.query_graph import QueryGraph

Order = tuple[frozenset[str], frozenset[str]]
"""Relations that a plan has before others, and those."""


def dearest_order(plan: PlanNode) -> Order | None:
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


def small_changes(plan: PlanNode) -> Iterator[Order]:
    """What a plan has before what, where the other way round is a small change: neighbours, and what could come second.

    Plans that differ so may cost the same, and yet not take the same time: look-ups before or after
    a join that few rows pass, another relation that is streamed and divided among threads. Of what is
    built for the evaluation, each relation but the first could also come after the step that follows.

    >>> from adaptive.plan import Scan
    >>> plan = Scan("a")
    >>> for name in "bcd":
    ...     plan = Join(plan, Scan(name), ("x",), "index")
    >>> ["".join(*one) + " before " + "".join(*other) for one, other in
    ...  ((tuple([first]), tuple([then])) for first, then in small_changes(plan))]
    ['b before d', 'a before b', 'b before c', 'c before d']
    >>> both = Join(Scan("a"), Join(Scan("b"), Scan("c"), ("x",), "index"), ("x",), "hash")
    >>> next(small_changes(Join(both, Scan("d"), ("x",), "index")))
    (frozenset({'c'}), frozenset({'d'}))
    """
    sides: list[PlanNode] = []
    while isinstance(plan, Join):
        sides.append(plan.right)
        plan = plan.left
    sides = [plan, *reversed(sides)]
    for built, following in pairwise(sides):
        while isinstance(built, Join):
            yield built.right.relations, following.relations
            built = built.left
    steps = [side.relations for side in sides]
    for late in steps[3:]:
        yield steps[1], late
    yield from pairwise(steps)


def streamed_first(plan: PlanNode) -> str | None:
    """The relation that a plan streams, and joins all others to; None where that is a pre-joined part.

    >>> streamed_first(Join(Join(Scan("now"), Scan("name"), ("x",), "index"), Scan("room"), ("y",), "index"))
    'now'
    """
    while isinstance(plan, Join):
        plan = plan.left
    return plan.relation if isinstance(plan, Scan) else None


def flipped(plan: PlanNode, graph: QueryGraph) -> PlanNode | None:
    """The same plan, but that the second relation is streamed and the first one looked up; None where that cannot be.

    Rows of what was looked up then come one after the other for each key, and so do the keys of
    later look-ups.

    >>> from adaptive.plan import describe
    >>> from adaptive.query_graph import Relation, RelationKind
    >>> plan = Join(Join(Scan("now"), Scan("room"), ("x",), "index"), Scan("range"), ("x",), "index")
    >>> graph = QueryGraph(tuple(Relation(n, ("x",), RelationKind.WINDOW) for n in ("now", "room", "range")))
    >>> describe(flipped(plan, graph))
    '((room now) range)'
    """
    if not isinstance(plan, Join):
        return None
    if isinstance(plan.left, Join):
        left = flipped(plan.left, graph)
        return None if left is None else replace(plan, left=left)
    first, second = plan.left, plan.right
    if plan.method != "index" or not isinstance(first, Scan) or not isinstance(second, Scan):
        return None
    if first.filters or second.filters or plan.filters:
        return None
    if not graph.relations[graph.positions[first.relation]].indexable:
        return None
    return replace(plan, left=second, right=first)


def last_streamed(plan: PlanNode) -> PlanNode | None:
    """The same plan, but that its last relation is streamed and the rest is built; None where it cannot be.

    What was joined before is a loop of its own then, which ends in a table.

    >>> from adaptive.plan import describe
    >>> plan = Join(Join(Scan("now"), Scan("room"), ("x",), "index"), Scan("name"), ("y",), "index")
    >>> describe(last_streamed(plan))
    '(name (now room)*)'
    """
    if not isinstance(plan, Join) or not isinstance(plan.left, Join) or plan.method != "index":
        return None
    last = plan.right
    if not isinstance(last, Scan) or last.filters or plan.filters:
        return None
    return replace(plan, left=last, right=plan.left, method="hash")


def turned(plan: PlanNode, graph: QueryGraph, last: bool) -> tuple[PlanNode, ...]:
    """The same plan, but that its second relation is streamed, or with `last` also its last one (a bushy plan)."""
    found = (flipped(plan, graph), last_streamed(plan) if last else None)
    return tuple(other for other in found if other is not None)
