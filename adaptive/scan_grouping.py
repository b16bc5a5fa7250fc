"""Which rows of a scan are best streamed one after the other, for the joins that look most rows up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adaptive.plan import Join, PlanNode, Scan

LEAST_FAN_OUT = 8.0
"""So many look-ups a row, at least, are to make up for grouping it. A guess: what that takes was not measured."""


def grouped_scans(
    plan: PlanNode,
    variables: Mapping[str, tuple[str, ...]],
    rows: Mapping[frozenset[str], float] | None = None,
) -> dict[str, tuple[str, ...]]:
    """Leading scans with the variables that are to be equal in neighbours, none where the scan stays as it is.

    `variables` are those of the relations that may be grouped, in the order of their columns; rows are those in
    `rows`, by relations, or else the estimated ones. A scan leads its joins to what each of its rows finds there; the
    join that looks up most rows finds what it needs in the processor's caches if rows with the same key follow each
    other. So those variables count that its key and the scan share. Scans whose rows are not multiplied on the way
    stay as they are.

    Before: 10 rows of `now{?a enters ?room}` lead to 4,000 keys (?b, ?room) of `range{?b at ?room}`, each in any room.
    After: one room after the other.

    >>> now = Scan("now", estimated_rows=10.0)
    >>> known = Join(now, Scan("knows"), ("a",), "index", estimated_rows=4000.0)
    >>> plan = Join(known, Scan("range"), ("b", "room"), "index", estimated_rows=3.0)
    >>> grouped_scans(plan, {"now": ("a", "room")})
    {'now': ('room',)}
    >>> grouped_scans(plan, {"now": ("a", "room")}, {frozenset({"now", "knows"}): 20.0})
    {'now': ()}
    """
    counted = rows or {}

    def rows_of(node: PlanNode) -> float:
        return counted.get(node.relations, node.estimated_rows)

    found: dict[str, tuple[str, ...]] = {}
    for node, joins in _led(plan):
        if node.relation not in variables:
            continue
        own = variables[node.relation]
        found[node.relation] = ()
        sharing = [join for join in joins if set(join.on).intersection(own)]
        most = max(sharing, key=lambda join: rows_of(join.left), default=None)
        if most is not None and rows_of(most.left) >= LEAST_FAN_OUT * max(1.0, rows_of(node)):
            found[node.relation] = tuple(v for v in own if v in most.on)
    return found


def leading_scans(plan: PlanNode) -> set[str]:
    """The relations whose rows are streamed through joins, here or for what a join is to hold.

    >>> stage = Join(Scan("b"), Scan("c"), ("x",), "index")
    >>> sorted(leading_scans(Join(Scan("a"), stage, ("x",), "hash")))
    ['a', 'b']
    """
    return {scan.relation for scan, joins in _led(plan) if joins}


def _led(plan: PlanNode) -> Iterator[tuple[Scan, list[Join]]]:
    """Each scan that leads, and the joins that its rows pass, the last one first."""
    for root in _pipelines(plan):
        node, joins = root, []
        while isinstance(node, Join):
            joins.append(node)
            node = node.left
        if isinstance(node, Scan):
            yield node, joins


def _pipelines(plan: PlanNode) -> Iterator[PlanNode]:
    """The plan, and what is computed to be held on the right side of a join."""
    yield plan
    node = plan
    while isinstance(node, Join):
        if node.method != "index":
            yield from _pipelines(node.right)
        node = node.left
