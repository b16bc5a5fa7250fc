"""The operators of executed plans, and which of them give the rows of the parts of a chosen join order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adaptive import Join, PlanNode
from adaptive.explain import node_id

_JOINS = ("BroadcastHashJoin", "BroadcastNestedLoopJoin")
_INNER = ("Inner", "Cross")
_SCANS = ("RelationScan", "IndexedRelation", "RowScan", "IndexedRows")
_PASSED = (
    "Project",
    "HashAggregate",
    "ObjectHashAggregate",
    "SortAggregate",
    "Sort",
    "StageBuild",
    "BroadcastExchange",
)

Contents = Mapping[frozenset[str], str]
"""What is read for a part of a plan, by its relations: the name that scans of it show."""


@dataclass(frozen=True)
class Operator:
    """One executed operator: rows out in the last evaluation, None where Spark does not count them.

    `seconds` is what its pipeline took, None inside one; `place` is its number in the listing, root first.
    """

    name: str
    detail: str
    rows: int | None
    children: tuple[Operator, ...]
    seconds: float | None = None
    place: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the same tree."""
        return {
            "operator": self.name,
            "detail": self.detail,
            "actual_rows": self.rows,
            "seconds": self.seconds,
            "children": [child.as_dict() for child in self.children],
        }


Laid = dict[str, tuple[int, Operator]]
"""Node id of a chosen order -> the number of the executed plan and the operator that gives the node's rows."""


def operator_tree(rows: Sequence[Sequence[Any]]) -> Operator:
    """The tree of a listing root first, each row (depth, name, detail, rows, nanoseconds)."""

    def build(place: int) -> tuple[Operator, int]:
        depth, name, detail, count, nanos = rows[place]
        children = []
        after = place + 1
        while after < len(rows) and rows[after][0] > depth:
            child, after = build(after)
            children.append(child)
        counted = None if count < 0 else count
        seconds = None if nanos < 0 else nanos / 1e9
        return Operator(name, detail, counted, tuple(children), seconds, place), after

    return build(0)[0]


def counted_rows(laid: Laid) -> dict[str, dict[str, float]]:
    """What the operators counted that an order was laid over, by node id."""
    measured: dict[str, dict[str, float]] = {}
    for node, (_, operator) in laid.items():
        if operator.rows is not None:
            measured[node] = {"actual_rows": float(operator.rows)}
        if operator.seconds is not None:
            measured.setdefault(node, {})["seconds"] = operator.seconds
    return measured


def lay_over(plans: Sequence[tuple[PlanNode, Contents]], roots: Sequence[Operator]) -> list[Laid]:
    """Find the chosen orders of a query among the operators of executed plans; empty for one that is not there.

    An order lies over inner joins of its shape that read what it reads; a part of which that is not known, a derived
    relation, lies over anything. Where several orders could lie over the same joins, they come in turn.

    >>> from adaptive import Scan
    >>> rooms, people = Scan("room"), Scan("person")
    >>> reads = {rooms.relations: "rooms", people.relations: "people"}
    >>> rows = [[0, "BroadcastHashJoin", "LeftOuter k", 9, -1], [1, "BroadcastHashJoin", "Inner k", 5, -1],
    ...     [2, "RelationScan", "rooms", 3, -1], [2, "IndexedRelation", "people", -1, -1],
    ...     [1, "IndexedRelation", "names", -1, -1]]
    >>> laid, = lay_over([(Join(rooms, people, ("k",), "index"), reads)], [operator_tree(rows)])
    >>> [counted["actual_rows"] for counted in counted_rows(laid).values()]
    [3.0, 5.0]
    """
    taken: set[tuple[int, int]] = set()
    return [_lay(plan, contents, roots, taken) for plan, contents in plans]


def _lay(
    plan: PlanNode, contents: Contents, roots: Sequence[Operator], taken: set[tuple[int, int]]
) -> Laid:
    if not isinstance(plan, Join):
        return {}
    for number, root in enumerate(roots):
        for top in _subtrees(root):
            found: dict[str, Operator] = {}
            lain_over = _match(plan, contents, top, found)
            if lain_over is not None and (number, lain_over.place) not in taken:
                taken.add((number, lain_over.place))
                return {node: (number, operator) for node, operator in found.items()}
    return {}


def _subtrees(root: Operator) -> list[Operator]:
    return [root, *(tree for child in root.children for tree in _subtrees(child))]


def _match(
    plan: PlanNode, contents: Contents, operator: Operator, found: dict[str, Operator]
) -> Operator | None:
    """Lay an order over operators, noting which gives the rows of each part: the topmost, None if it does not fit."""
    filtered: Operator | None = None
    seconds = operator.seconds
    while not _is_inner(operator):
        if seconds is None:
            seconds = operator.seconds
        if operator.name in _JOINS:
            filtered = (
                None  # an outer, semi or anti join: of what it gives, the order has the left side
            )
        elif len(operator.children) != 1 or operator.name not in (*_PASSED, "Filter"):
            break
        # What is built of static rows alone runs once; how many they are stays known where they are built.
        elif operator.name in ("Filter", "StageBuild") and filtered is None:
            filtered = operator
        operator = operator.children[0]
    if isinstance(plan, Join):
        if not _is_inner(operator):
            return None
        sides = zip((plan.left, plan.right), operator.children, strict=True)
        if any(_match(side, contents, child, found) is None for side, child in sides):
            return None
        found[node_id(plan.relations)] = replace(filtered or operator, seconds=seconds)
        return operator
    reads = contents.get(plan.relations)
    if operator.name in _SCANS:
        if reads is not None and reads != operator.detail:
            return None
        found[node_id(plan.relations)] = filtered or operator
        return operator
    return (
        operator if reads is None else None
    )  # a derived relation: its own joins are laid over by themselves


def _is_inner(operator: Operator) -> bool:
    return operator.name in _JOINS and operator.detail.startswith(_INNER)
