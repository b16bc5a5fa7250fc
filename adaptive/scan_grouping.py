"""Which rows of a scan are best streamed one after the other, for the joins that look most rows up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adaptive.plan import Join, PlanNode, Scan

LEAST_FAN_OUT = 8.0
"""So many look-ups a row, at least, are to make up for grouping it. A guess: what that takes was not measured."""


def grouped_scans(
    plan: PlanNode, variables: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """The scans whose rows are to be grouped, by the variables that are to be equal in neighbours.

    `variables` are those of the relations that may be grouped, in the order of their columns. A scan leads its joins to
    what each of its rows finds there; the join that looks up most rows finds what it needs in the processor's caches if
    rows with the same key follow each other. So those variables count that its key and the scan share. Scans whose rows
    are not multiplied on the way stay as they are.

    Before: 10 rows of `now{?a enters ?room}` lead to 4,000 keys (?b, ?room) of `range{?b at ?room}`, each in any room.
    After: one room after the other.

    >>> now = Scan("now", estimated_rows=10.0)
    >>> known = Join(now, Scan("knows"), ("a",), "index", estimated_rows=4000.0)
    >>> plan = Join(known, Scan("range"), ("b", "room"), "index", estimated_rows=3.0)
    >>> grouped_scans(plan, {"now": ("a", "room")})
    {'now': ('room',)}
    >>> grouped_scans(known, {"now": ("a", "room")})
    {}
    """
    found: dict[str, tuple[str, ...]] = {}
    for root in _pipelines(plan):
        node, joins = root, []
        while isinstance(node, Join):
            joins.append(node)
            node = node.left
        if not isinstance(node, Scan) or node.relation not in variables:
            continue
        own = variables[node.relation]
        sharing = [join for join in joins if set(join.on).intersection(own)]
        if not sharing:
            continue
        most = max(sharing, key=lambda join: join.left.estimated_rows)
        if most.left.estimated_rows >= LEAST_FAN_OUT * max(1.0, node.estimated_rows):
            found[node.relation] = tuple(v for v in own if v in most.on)
    return found


def _pipelines(plan: PlanNode) -> Iterator[PlanNode]:
    """The plan, and what is computed to be held on the right side of a join."""
    yield plan
    node = plan
    while isinstance(node, Join):
        if node.method != "index":
            yield from _pipelines(node.right)
        node = node.left
