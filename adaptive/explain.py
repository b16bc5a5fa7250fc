"""A plan as plain data for JSON, with what was measured merged in, and as indented text.

Node ids name the part of the query that a node covers, so a measurement stays with its part when
the plan around it changes: `now+creator1` is the join of these two in every plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from adaptive.graph.plan import Join, PlanNode, Prejoined, describe, join_order
from adaptive.search.optimizer import OptimizedPlan
from adaptive.search.placement_report import PlacementReport

Tree: TypeAlias = dict[str, Any]

# Node id -> what was measured there; keys such as "actual_rows" and "seconds".
Measured: TypeAlias = Mapping[str, Mapping[str, float]]


def node_id(relations: Iterable[str]) -> str:
    """The id of the node that covers these relations, the same in every plan.

    >>> node_id({"name1", "now"})
    'name1+now'
    """
    return "+".join(sorted(relations))


def explain(plan: PlanNode, measured: Measured | None = None, probed: bool = False) -> Tree:
    """A plan as a tree of dicts: operator, relations, on, method, rows, costs, filters, children.

    `cost` is that of the whole sub-tree in microseconds, `own_cost` the node's part of it.
    `probed` says that the plan is the right side of an index join.

    >>> from adaptive.graph.plan import Scan
    >>> tree = explain(Join(Scan("now"), Scan("name1"), ("person1",), "index"),
    ...                {"name1+now": {"actual_rows": 12, "seconds": 0.5}})
    >>> tree["operator"], tree["actual_rows"], [child["operator"] for child in tree["children"]]
    ('Join', 12, ['Scan', 'Index'])
    """
    tree: Tree = {"node_id": node_id(plan.relations)}
    if isinstance(plan, Join):
        tree |= {"operator": "Join", "method": plan.method, "on": list(plan.on)}
    elif isinstance(plan, Prejoined):
        tree |= {"operator": "Prejoined", "name": plan.name, "variables": list(plan.variables)}
    else:
        tree |= {"operator": "Index" if probed else "Scan"}
    children = [explain(plan.left, measured)] if isinstance(plan, Join) else []
    if isinstance(plan, Join):
        children.append(explain(plan.right, measured, plan.method == "index"))
    tree |= {
        "relations": sorted(plan.relations),
        "filters": list(plan.filters),
        "estimated_rows": plan.estimated_rows,
        "cost": plan.cost,
        "own_cost": max(0.0, plan.cost - sum(child.cost for child in plan.children)),
        "children": children,
    }
    return tree | dict((measured or {}).get(tree["node_id"], {}))


def explain_choice(choice: OptimizedPlan, measured: Measured | None = None) -> Tree:
    """The chosen plan with its reasons and its rivals, as plain data.

    A query with expensive filters or binds also has `placement` (see `explain_placement`).
    """
    tree: Tree = {
        "plan": explain(choice.plan, measured),
        "join_order": list(join_order(choice.plan)),
        "cost": choice.cost,
        "distinct_output": choice.distinct_output,
        "search": choice.search,
        "pairs": choice.pairs,
        "notes": list(choice.notes),
        "considered": [
            {"order": describe(rival.plan), "cost": rival.cost, "label": rival.label}
            for rival in choice.considered
        ],
    }
    if choice.placement is not None:
        tree["placement"] = explain_placement(choice.placement)
    return tree


def explain_placement(report: PlacementReport) -> Tree:
    """Where each expensive filter and bind went, as plain data; all costs in microseconds.

    `chosen_cost` is the plan's, `early_cost` and `late_cost` are those of the best plans under H3
    and H4. Each filter's own `early_cost` and `late_cost` are the plan's with that one moved.
    """
    return {
        "placement": report.placement,
        "chosen_cost": report.chosen_cost,
        "early_cost": report.early_cost,
        "late_cost": report.late_cost,
        "filters": [
            {
                "name": placed.name,
                "kind": placed.kind,
                "nodes": [node_id(relations) for relations in placed.nodes],
                "place": placed.place,
                "selectivity": placed.selectivity,
                "call_us": placed.call_us,
                "rows": placed.rows,
                "calls": placed.calls,
                "cost": placed.cost,
                "early_cost": placed.early_cost,
                "late_cost": placed.late_cost,
                "chosen_cost": report.chosen_cost,
            }
            for placed in report.filters
        ],
    }


def _placement_lines(tree: Tree) -> list[str]:
    lines = [
        f"filters placed by {tree['placement']}: {tree['chosen_cost']:,.0f} us, "
        f"early {tree['early_cost']:,.0f} us, late {tree['late_cost']:,.0f} us"
    ]
    if tree["placement"] != "cost":
        lines[0] = lines[0].replace(" by ", " ", 1)
    for placed in tree["filters"]:
        lines.append(
            f"  {placed['kind']} {placed['name']} after {', '.join(placed['nodes'])} "
            f"({placed['place']}): ~{placed['rows']:,.0f} rows, {placed['calls']:,.0f} calls of "
            f"{placed['call_us']:,.3g} us, keeps {placed['selectivity']:.1%}; whole plan "
            f"{placed['chosen_cost']:,.0f} us, with this one early {placed['early_cost']:,.0f} us, "
            f"late {placed['late_cost']:,.0f} us"
        )
    return lines


def format_plan(tree: Tree, indent: int = 0) -> str:
    """The text view of what `explain` or `explain_choice` returned, one line a node.

    >>> from adaptive.graph.plan import Scan
    >>> print(format_plan(explain(Join(
    ...     Scan("now", estimated_rows=1000, cost=20), Scan("name1", estimated_rows=2e5),
    ...     ("person1",), "index", ("distinct",), estimated_rows=1000, cost=175))))
    index join on person1, filter distinct: ~1,000 rows, 155 us
      scan now: ~1,000 rows, 20 us
      index name1: ~200,000 rows
    """
    if "plan" in tree:
        lines = [format_plan(tree["plan"])]
        if "placement" in tree:
            lines += _placement_lines(tree["placement"])
        lines += [f"- {note}" for note in tree["notes"]]
        lines += [
            f"instead {rival['order']}: {rival['cost']:,.0f} us ({rival['label']})"
            for rival in tree["considered"]
        ]
        return "\n".join(lines)
    lines = ["  " * indent + _line(tree)]
    lines += [format_plan(child, indent + 1) for child in tree["children"]]
    return "\n".join(lines)


def _line(tree: Tree) -> str:
    operator = tree["operator"]
    if operator == "Join":
        head = f"{tree['method']} join"
        head += f" on {', '.join(tree['on'])}" if tree["on"] else ""
    elif operator == "Prejoined":
        head = f"pre-joined {tree['name']} ({', '.join(tree['variables'])})"
    else:
        head = f"{operator.lower()} {tree['relations'][0]}"
    if tree["filters"]:
        head += f", filter {', '.join(tree['filters'])}"
    facts = [f"~{tree['estimated_rows']:,.0f} rows"]
    if "actual_rows" in tree:
        facts.append(f"{tree['actual_rows']:,.0f} counted")
    if tree["own_cost"] >= 0.5:
        facts.append(f"{tree['own_cost']:,.0f} us")
    if "seconds" in tree:
        facts.append(f"{tree['seconds'] * 1e3:,.3f} ms measured")
    return f"{head}: {', '.join(facts)}"
