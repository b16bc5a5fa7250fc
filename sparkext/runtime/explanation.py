"""What `explain()` shows: the chosen orders with estimates, reasons and rivals, beside what the operators counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adaptive import Join, PlanNode, explain, explain_choice, format_plan
from adaptive.plan import describe
from sparkext.runtime.executed_operators import counted_rows, lay_over, operator_tree
from sparkext.s2r.event_time import format_date_time

if TYPE_CHECKING:
    from sparkext.r2r.cluster_plans import ClusterChoice
    from sparkext.runtime.join_orders import CompiledPlans
    from sparkext.runtime.prepared_query import PreparedQuery

SHOWN_SWITCHES = 5
SHOWN_VALUES = 3


@dataclass(frozen=True)
class Explanation:
    """A query's plan as plain data (`data`) and as text (`str`)."""

    data: dict[str, Any]

    def to_json(self, indent: int | None = 2) -> str:
        """The plain data as JSON text."""
        return json.dumps(self.data, indent=indent)

    def __str__(self) -> str:
        lines = [f"query {self.data['query']} runs on {self.data['execution']}"]
        if self.data.get("evaluation", "once") != "once":
            lines.append(self.data["evaluation"])
        for place, choice in enumerate(self.data["choices"], 1):
            lines.append(f"join order {place}:")
            lines.append(_indented(format_plan(choice)))
        for window in self.data.get("grouped", ()):
            by = ", ".join(f"?{variable}" for variable in window["by"])
            lines.append(f"rows of {window['relation']} are read grouped by {by}")
        for counted in self.data.get("statistics", ()):
            about = "" if counted["exact"] else "about "
            frequent = ", ".join(
                f"{top['value']} {top['selectivity']:.1%}" for top in counted["top"][:SHOWN_VALUES]
            )
            lines.append(
                f"{counted['relation']}: {counted['card']:,} rows, {about}{counted['distinct']:,} values of"
                f" {counted['variable']}" + (f" (most frequent: {frequent})" if frequent else "")
            )
        for switch in self.data.get("switches", ())[-SHOWN_SWITCHES:]:
            when = format_date_time(int(switch["time"]))
            lines.append(f"switched at {when}: {switch['cause']}")
            costs = f"{switch['cost_before']:,.0f} us", f"{switch['cost_after']:,.0f} us"
            if switch["old"] == switch["new"]:
                lines.append(f"  in {switch['new']}: {costs[0]} before, {costs[1]} after")
            else:
                lines.append(f"  from {switch['old']}, {costs[0]}")
                lines.append(f"  to   {switch['new']}, {costs[1]}")
            lines.extend(f"  {moved}" for moved in switch["moved"])
        if prepared := self.data.get("prepared", ()):
            held = sum(plans["held_bytes"] for plans in prepared) / 2**20
            served = sum(plans["runs"] > 0 for plans in prepared)
            lines.append(
                f"{len(prepared)} plans are prepared, {served} of them have served; build sides of live data hold"
                f" about {held:.1f} MiB"
            )
        for site in self.data.get("calls", ()):
            lines.append(_calls_line(site))
        for plan in self.data["operators"]:
            lines.append(f"operators of {plan['plan']} (rows counted in the last evaluation):")
            lines.extend(_operator_lines(plan["root"], 1))
        return "\n".join(lines)


def explain_query(
    query: PreparedQuery,
    choices: Sequence[ClusterChoice],
    operators: Sequence[dict[str, Any]],
    spark_plan: str,
    statistics: Sequence[dict[str, Any]] = (),
    prepared: Sequence[CompiledPlans] = (),
    taken: Mapping[int, Mapping[PlanNode, float]] | None = None,
) -> Explanation:
    """Put a query's choices and counts together, with the plans that could run at once.

    `taken` are the microseconds that evaluations by plans of some choices, by number, have taken.
    """
    roots = [operator_tree(plan["operators"]) for plan in operators]
    laid = lay_over([(choice.plan, choice.contents) for choice in choices], roots)
    shown = []
    for place, (choice, operators_of_it) in enumerate(zip(choices, laid, strict=True)):
        measured = counted_rows(operators_of_it)
        if choice.optimized is None:
            tree = {"plan": explain(choice.plan, measured), "notes": ["in the order written"]}
            shown.append(
                {**tree, "considered": []} if isinstance(choice.plan, Join) else tree["plan"]
            )
        else:
            shown.append(explain_choice(choice.optimized, measured, (taken or {}).get(place)))
    return Explanation(
        {
            "query": query.name,
            "execution": query.execution,
            "evaluation": query.evaluation if query.windows else "once",
            "choices": shown,
            "grouped": [
                {"relation": name, "by": list(together)}
                for choice in choices
                for name, together in choice.row_orders.grouped.items()
            ],
            "statistics": list(statistics),
            "switches": [
                {
                    "time": switch.time,
                    "old": describe(switch.old),
                    "new": describe(switch.new),
                    "cost_before": switch.cost_before,
                    "cost_after": switch.cost_after,
                    "cause": switch.cause,
                    "moved": list(switch.moved),
                }
                for switch in query.history()
            ],
            "prepared": [
                {
                    "orders": list(plans.shown),
                    "runs": plans.use.runs,
                    "held_bytes": plans.jvm.memoryBytes(),
                }
                for plans in prepared
            ],
            "calls": query.calls.describe(),
            "operators": [
                {"plan": plan["plan"], "root": root.as_dict()}
                for plan, root in zip(operators, roots, strict=True)
            ],
            "spark_plan": spark_plan,
        }
    )


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _calls_line(site: dict[str, Any]) -> str:
    last = site["last"]
    lines = [
        f"{site['expression']}: {last['rows_passed']:,} of {last['rows_in']:,} rows, {last['calls']:,} calls"
        f" in {last['seconds'] * 1e3:.3f} ms, {last['cache_hits']:,} spared"
    ]
    for price in site.get("prices", ()):
        where = f"{price['from']}"
        if price["samples"]:
            where += f", {price['samples']:,} samples"
        cached = f", {price['cache']}" if price["cache"] else ""
        if price["cache"] == "looked up" and price["spared"] is not None:
            cached += f", {price['spared']:.0%} spared"
        lines.append(f"  {price['call']}: {price['us']:.3f} us a call ({where}){cached}")
    return "\n".join(lines)


def _operator_lines(operator: dict[str, Any], depth: int) -> list[str]:
    rows = operator["actual_rows"]
    counted = "" if rows is None else f": {rows:,} rows"
    if operator["seconds"] is not None:
        counted += f"{',' if counted else ':'} {operator['seconds'] * 1e3:.3f} ms"
    detail = f" {operator['detail']}" if operator["detail"] else ""
    lines = [f"{'  ' * depth}{operator['operator']}{detail}{counted}"]
    for child in operator["children"]:
        lines.extend(_operator_lines(child, depth + 1))
    return lines
