"""What `explain()` shows: the chosen orders with estimates, reasons and rivals, beside what the operators counted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from adaptive import Join, explain, explain_choice, format_plan
from sparkext.runtime.explaining.executed_operators import counted_rows, lay_over, operator_tree
from sparkext.runtime.explaining.explained_html import explained_html
from sparkext.runtime.explaining.order_history import in_one_line
from sparkext.runtime.explaining.order_report import explain_order, order_lines
from sparkext.s2r.event_time import format_date_time

if TYPE_CHECKING:
    from sparkext.r2r.clusters.cluster_choice import ClusterChoice
    from sparkext.runtime.explaining.order_history import Switch
    from sparkext.runtime.parts.call_counts import CallCounts

SHOWN_SWITCHES = 5
SHOWN_VALUES = 3


@dataclass(frozen=True)
class Explanation:
    """A query's plan as plain data (`data`) and as text (`str`)."""

    data: dict[str, Any]

    def to_json(self, indent: int | None = 2) -> str:
        """The plain data as JSON text."""
        return json.dumps(self.data, indent=indent)

    def _repr_html_(self) -> str:
        return explained_html(self.data, str(self))

    def __str__(self) -> str:
        lines = [f"query {self.data['query']} runs on {self.data['execution']}"]
        if self.data.get("evaluation", "once") != "once":
            lines.append(self.data["evaluation"])
        for place, choice in enumerate(self.data["choices"], 1):
            lines.append(f"join order {place}:")
            lines.append(_indented(_choice_text(choice)))
        for match in self.data.get("matches", ()):
            lines.extend(_match_lines(match))
        for counted in self.data.get("statistics", ()):
            frequent = ", ".join(
                f"{top['value']} {top['selectivity']:.1%}" for top in counted["top"][:SHOWN_VALUES]
            )
            lines.append(
                f"{counted['relation']}: {counted['card']:,} rows, {counted['distinct']:,} values of"
                f" {counted['variable']}" + (f" (most frequent: {frequent})" if frequent else "")
            )
        for switch in self.data.get("switches", ())[-SHOWN_SWITCHES:]:
            when = format_date_time(int(switch["time"]))
            lines.append(f"switched at {when}: {switch['cause']}")
            lines.append(f"  from {in_one_line(switch['old'])}, {switch['cost_before']:,.0f} us")
            lines.append(f"  to   {in_one_line(switch['new'])}, {switch['cost_after']:,.0f} us")
        for site in self.data.get("calls", ()):
            lines.append(_calls_line(site))
        for plan in self.data["operators"]:
            lines.append(f"operators of {plan['plan']} (rows counted in the last evaluation):")
            lines.extend(_operator_lines(plan["root"], 1))
        return "\n".join(lines)


class Explained(Protocol):
    """What is told of a query beside its plans."""

    name: str
    windows: Mapping[str, Any]
    calls: CallCounts

    @property
    def execution(self) -> str: ...
    @property
    def evaluation(self) -> str: ...
    def history(self) -> tuple[Switch, ...]: ...
    def matches(self) -> list[dict[str, Any]]: ...


def explain_query(
    query: Explained,
    choices: Sequence[ClusterChoice],
    operators: Sequence[dict[str, Any]],
    spark_plan: str,
    statistics: Sequence[dict[str, Any]] = (),
) -> Explanation:
    """Put a query's choices and counts together."""
    roots = [operator_tree(plan["operators"]) for plan in operators]
    laid = lay_over([(choice.plan, choice.contents) for choice in choices], roots)
    shown = []
    for choice, operators_of_it in zip(choices, laid, strict=True):
        measured = counted_rows(operators_of_it)
        if choice.optimized is None:
            measured_plan = explain(choice.plan, measured)
            tree = {"plan": measured_plan, "notes": ["in the order written"]}
            found = {**tree, "considered": []} if isinstance(choice.plan, Join) else measured_plan
        else:
            found = explain_choice(choice.optimized, measured)
        if choice.order is not None:
            found["order"] = explain_order(choice)
        shown.append(found)
    return Explanation(
        {
            "query": query.name,
            "execution": query.execution,
            "evaluation": query.evaluation if query.windows else "once",
            "choices": shown,
            "matches": list(query.matches()),
            "statistics": list(statistics),
            "switches": [
                {
                    "time": switch.time,
                    "old": list(switch.old),
                    "new": list(switch.new),
                    "cost_before": switch.cost_before,
                    "cost_after": switch.cost_after,
                    "cause": switch.cause,
                }
                for switch in query.history()
            ],
            "calls": query.calls.describe(),
            "operators": [
                {"plan": plan["plan"], "root": root.as_dict()}
                for plan, root in zip(operators, roots, strict=True)
            ],
            "spark_plan": spark_plan,
        }
    )


def _choice_text(choice: dict[str, Any]) -> str:
    if "order" not in choice:
        return format_plan(choice)
    notes = [f"note: {note}" for note in choice.get("notes", ())]
    return "\n".join([*order_lines(choice["order"]), *notes])


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


def _match_lines(match: dict[str, Any]) -> list[str]:
    consumed = f", {match['consumed']:,} triples used up" if match["consumes"] else ""
    return [
        f"MATCH {match['selection'].upper()} {{ {match['pattern']} }}, found {match['found']}:",
        f"  {match['matches']:,} matches, {match['open']:,} event mappings are kept{consumed},"
        f" {match['state_bytes']:,} bytes",
        *(f"  {text}" for text in match["unbounded"]),
    ]


def _calls_line(site: dict[str, Any]) -> str:
    last = site["last"]
    lines = [
        f"{site['expression']}: {last['rows_passed']:,} of {last['rows_in']:,} rows, {last['calls']:,} calls"
        f" in {last['seconds'] * 1e3:.3f} ms, {last['cache_hits']:,} cache hits"
    ]
    for kind in site.get("costs", ()):
        where = f"{kind['from']}"
        if kind["samples"]:
            where += f", {kind['samples']:,} samples"
        cached = f", {kind['cache']}" if kind["cache"] else ""
        if kind["cache"] == "looked up" and kind["hit_ratio"] is not None:
            cached += f", {kind['hit_ratio']:.0%} hits"
        lines.append(f"  {kind['call']}: {kind['us']:.3f} us a call ({where}){cached}")
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
