"""What `explain()` shows: the chosen orders with estimates, reasons and rivals, beside what the operators counted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptive import Join, PlanNode, Scan, explain, explain_choice, format_plan
from adaptive.explain import node_id

if TYPE_CHECKING:
    from sparkext.r2r.cluster_plans import ClusterChoice
    from sparkext.runtime.prepared_query import PreparedQuery

_JOINS = ("BroadcastHashJoin", "BroadcastNestedLoopJoin")
_PASSED = ("Project", "HashAggregate", "ObjectHashAggregate", "StageBuild")


@dataclass(frozen=True)
class Operator:
    """One executed operator: rows out in the last evaluation, None where Spark does not count them."""

    name: str
    detail: str
    rows: int | None
    children: tuple[Operator, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, the same tree."""
        return {
            "operator": self.name,
            "detail": self.detail,
            "actual_rows": self.rows,
            "children": [child.as_dict() for child in self.children],
        }


@dataclass(frozen=True)
class Explanation:
    """A query's plan as plain data (`data`) and as text (`str`)."""

    data: dict[str, Any]

    def to_json(self, indent: int | None = 2) -> str:
        """The plain data as JSON text."""
        return json.dumps(self.data, indent=indent)

    def __str__(self) -> str:
        lines = [f"query {self.data['query']} runs on {self.data['execution']}"]
        for place, choice in enumerate(self.data["choices"], 1):
            lines.append(f"join order {place}:")
            lines.append(_indented(format_plan(choice)))
        for plan in self.data["operators"]:
            lines.append(f"operators of {plan['plan']} (rows counted in the last evaluation):")
            lines.extend(_operator_lines(plan["root"], 1))
        return "\n".join(lines)


def explain_query(
    query: PreparedQuery,
    choices: Sequence[ClusterChoice],
    operators: Sequence[dict[str, Any]],
    spark_plan: str,
) -> Explanation:
    """Put a query's choices and counts together."""
    roots = [operator_tree(plan["operators"]) for plan in operators]
    shown = []
    for choice in choices:
        measured = counted_rows(choice.plan, roots)
        if choice.optimized is None:
            tree = {"plan": explain(choice.plan, measured), "notes": ["in the order written"]}
            shown.append(
                {**tree, "considered": []} if isinstance(choice.plan, Join) else tree["plan"]
            )
        else:
            shown.append(explain_choice(choice.optimized, measured))
    return Explanation(
        {
            "query": query.name,
            "execution": query.execution,
            "choices": shown,
            "operators": [
                {"plan": plan["plan"], "root": root.as_dict()}
                for plan, root in zip(operators, roots, strict=True)
            ],
            "spark_plan": spark_plan,
        }
    )


def counted_rows(plan: PlanNode, roots: Sequence[Operator]) -> dict[str, dict[str, float]]:
    """What executed operators counted for the parts of a join order, by node id; empty where none fits it."""
    if isinstance(plan, Join):
        for root in roots:
            for top in _subtrees(root):
                found: dict[str, dict[str, float]] = {}
                if _match(plan, top, found):
                    return found
    return {}


def operator_tree(rows: Sequence[Sequence[Any]]) -> Operator:
    """The tree of a listing root first, each row (depth, name, detail, rows)."""

    def build(place: int) -> tuple[Operator, int]:
        depth, name, detail, count = rows[place]
        children = []
        after = place + 1
        while after < len(rows) and rows[after][0] > depth:
            child, after = build(after)
            children.append(child)
        return Operator(name, detail, None if count < 0 else count, tuple(children)), after

    return build(0)[0]


def _subtrees(root: Operator) -> list[Operator]:
    return [root, *(tree for child in root.children for tree in _subtrees(child))]


def _match(plan: PlanNode, operator: Operator, found: dict[str, dict[str, float]]) -> bool:
    """Lay a chosen order over executed operators of the same shape, noting the rows that each part gave."""
    rows: int | None = None
    while operator.name not in _JOINS and len(operator.children) == 1:
        if operator.name == "Filter" and rows is None:
            rows = operator.rows
        elif operator.name not in (*_PASSED, "Filter"):
            break
        operator = operator.children[0]
    if isinstance(plan, Join):
        if operator.name not in _JOINS or len(operator.children) != 2:
            return False
        left, right = operator.children
        if not (_match(plan.left, left, found) and _match(plan.right, right, found)):
            return False
        _note(plan, operator.rows if rows is None else rows, found)
        return True
    if operator.name in ("RelationScan", "IndexedRelation", "RowScan", "IndexedRows"):
        _note(plan, operator.rows if rows is None else rows, found)
        return True
    return isinstance(plan, Scan)  # a derived relation: its own joins are matched by themselves


def _note(plan: PlanNode, rows: int | None, found: dict[str, dict[str, float]]) -> None:
    if rows is not None:
        found[node_id(plan.relations)] = {"actual_rows": float(rows)}


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _operator_lines(operator: dict[str, Any], depth: int) -> list[str]:
    rows = operator["actual_rows"]
    counted = "" if rows is None else f": {rows:,} rows"
    detail = f" {operator['detail']}" if operator["detail"] else ""
    lines = [f"{'  ' * depth}{operator['operator']}{detail}{counted}"]
    for child in operator["children"]:
        lines.extend(_operator_lines(child, depth + 1))
    return lines
