"""The order in which a cluster was joined in the last evaluation, as its operator tells it: plain data, and text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sparkext.r2r.clusters.cluster_choice import ClusterChoice


def explain_order(choice: ClusterChoice) -> dict[str, Any]:
    """Where a cluster's join began and its steps, each with the rows that came and went, and the other ways to begin.

    Times are microseconds, over all threads; `estimated_out` is by what was known when the evaluation had ended, and
    `read` are values read to find the rows. `rivals` are the relations that it could have begun with and what each was
    estimated to take, the cheapest first.
    """
    report = json.loads(choice.order.report())
    names = choice.joined
    driver = report["driver"]
    return {
        "begins_with": names[driver] if driver >= 0 else None,
        "order": report["order"],
        "steps": [
            {
                "step": name,
                "rows_in": rows_in,
                "rows_out": rows_out,
                "estimated_out": estimated,
                "read": read,
                "us": nanos / 1e3,
            }
            for name, rows_in, rows_out, read, nanos, estimated in report["steps"]
        ],
        "rivals": [
            {"begins_with": names[relation], "us": nanos / 1e3}
            for relation, nanos in sorted(report["rivals"], key=lambda rival: rival[1])
        ],
        "decision_us": report["decision_ns"] / 1e3,
    }


def order_lines(order: Mapping[str, Any]) -> list[str]:
    """The same as lines of text."""
    if order["begins_with"] is None:
        return ["not evaluated yet: the order is chosen by what the relations hold then"]
    lines = [f"begins with {order['begins_with']}"]
    for step in order["steps"]:
        lines.append(
            f"then {step['step']}: {step['rows_in']:,} rows in, {step['rows_out']:,} out"
            f" (estimated {step['estimated_out']:,.0f}), {step['read']:,} values read, {step['us']:,.0f} us"
        )
    if len(order["rivals"]) > 1:
        lines.append(f"chosen in {order['decision_us']:,.0f} us from")
        lines += [
            f"  beginning with {rival['begins_with']}: {rival['us']:,.0f} us estimated"
            for rival in order["rivals"]
        ]
    return lines
