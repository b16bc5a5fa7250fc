"""How a prepared query's join operators joined in the last run, as explanations show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkext.runtime.explaining.executed_operators import Operator

Report = Mapping[str, Any]
"""What the JVM tells of an operator: {"driver", "rivals", "steps"}, see ClusterOrder.scala."""


def explained(names: Sequence[str], report: Report | None, rows: int | None) -> dict[str, Any]:
    """One cluster's order and its steps, each over those before it; `rows` are its answers, if they were counted.

    >>> told = explained(["0:a", "1:b"], {"driver": 1, "rivals": [[0, 9000.0]],
    ...     "steps": [["rows of 0:a from 0:a", 4, 8, 8, 2000, 7.6]]}, 8)
    >>> told["join_order"], told["plan"]["actual_rows"], told["considered"][0]["order"]
    (['1:b', '0:a'], 8, 'from 0:a')
    """
    if report is None:
        notes = ["a chain of Spark's joins, in Spark's order"]
        return {
            "join_order": list(names),
            "plan": _node("joins", ", ".join(names), rows, None),
            "notes": notes,
            "considered": [],
        }
    driver = report["driver"]
    if driver < 0:
        plan = _node("join", ", ".join(names), rows, None)
        return {"join_order": list(names), "plan": plan, "notes": [], "considered": []}
    order = [names[driver]]
    steps = report["steps"]
    plan = _node("read", names[driver], steps[0][1] if steps else rows, None)
    for name, _, out, _, nanos, expected in steps:
        order += [
            one
            for one in name.removeprefix("in ").rpartition(" from ")[2].split(" and ")
            if one in names and one not in order
        ]
        plan = {**_node("step", name, out, expected), "seconds": nanos / 1e9, "children": [plan]}
    if rows is not None:
        plan["actual_rows"] = rows
    considered = [
        {"order": f"from {names[place]}", "cost": nanos / 1e3, "label": "estimated"}
        for place, nanos in sorted(report["rivals"], key=lambda rival: rival[1])
        if place != driver
    ]
    return {"join_order": order, "plan": plan, "notes": [], "considered": considered}


def _node(operator: str, what: str, rows: int | None, expected: float | None) -> dict[str, Any]:
    counted = {} if rows is None else {"actual_rows": rows}
    return {
        "operator": operator,
        "relations": [what],
        "filters": [],
        "estimated_rows": expected if expected is not None else rows or 0,
        "own_cost": 0.0,
        "children": [],
        **counted,
    }


def answers_of(clusters: Sequence[Sequence[str]], roots: Sequence[Operator]) -> list[int | None]:
    """How many rows the operators of clusters gave, by the names that these join."""
    joins = [one for root in roots for one in _all(root) if one.name == "RowJoin"]
    found: list[int | None] = []
    for names in clusters:
        match = next((one for one in joins if one.detail == ", ".join(names)), None)
        if match is not None:
            joins.remove(match)
        found.append(match.rows if match is not None else None)
    return found


def _all(operator: Operator) -> Iterator[Operator]:
    yield operator
    for child in operator.children:
        yield from _all(child)
