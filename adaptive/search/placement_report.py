"""Where each expensive filter and bind of a plan went, and what other places would have cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from adaptive.graph.plan import PlanNode, Prejoined, walk
from adaptive.search.placement import Placement, moves
from adaptive.search.placement_costs import PlacementCosts

Place: TypeAlias = Literal["early", "middle", "late", "only", "pre-joined"]


@dataclass(frozen=True)
class PlacedFilter:
    """One filter or bind of a plan; rows, calls and costs (in microseconds) of one evaluation.

    `nodes` are the sets of relations after whose join it is applied. `early_cost` and `late_cost`
    are what the whole plan would cost with this one as low or as high as the others allow; both are
    the plan's own cost where there is nothing to move. `call_us` is the cost of a call,
    `selectivity` the share of rows kept, `calls` those expected after remembered results.
    """

    name: str
    kind: Literal["filter", "bind"]
    nodes: tuple[frozenset[str], ...]
    place: Place
    selectivity: float
    call_us: float
    rows: float
    calls: float
    cost: float
    early_cost: float
    late_cost: float


@dataclass(frozen=True)
class PlacementReport:
    """All filters and binds of a plan, its cost, and that of the best plans of H3 and of H4."""

    placement: Placement
    chosen_cost: float
    early_cost: float
    late_cost: float
    filters: tuple[PlacedFilter, ...]


def report(
    plan: PlanNode,
    costs: PlacementCosts,
    placement: Placement,
    early_cost: float,
    late_cost: float,
) -> PlacementReport:
    """The placement of a plan, whose cost is that of now; other costs are handed in."""
    cost = costs.price(plan).cost
    uses = costs.uses(plan)
    inside = {
        name: node.relations
        for node in walk(plan)
        if isinstance(node, Prejoined)
        for name in node.filters
    }
    shown = []
    for number, item in enumerate(costs.items.items):
        mine = [(node, use) for node, use in uses if use.item is item]
        nodes = tuple(node.relations for node, _ in mine)
        place, early, late = _place(plan, number, nodes, costs)
        if item.name in inside and not nodes:
            place, nodes = "pre-joined", (inside[item.name],)
        shown.append(
            PlacedFilter(
                name=item.name,
                kind="bind" if item.filter is None else "filter",
                nodes=nodes,
                place=place,
                selectivity=costs.selectivities[number],
                call_us=0.0 if item.call_cost is None else item.call_cost.call_us,
                rows=sum(use.rows for _, use in mine),
                calls=sum(use.calls for _, use in mine),
                cost=sum(use.cost for _, use in mine),
                early_cost=cost if early is None else early,
                late_cost=cost if late is None else late,
            )
        )
    return PlacementReport(placement, cost, early_cost, late_cost, tuple(shown))


def _place(
    plan: PlanNode, number: int, nodes: tuple[frozenset[str], ...], costs: PlacementCosts
) -> tuple[Place, float | None, float | None]:
    """How early an item is, and the costs of the plan with it at the lowest and highest other node.

    None stands for where it is already.
    """
    others: dict[frozenset[str], float] = {}
    for target, moved in moves(plan, number, costs):
        others[target] = min(others.get(target, math.inf), costs.price(moved).cost)
    if not others or not nodes:
        return "only", None, None
    lowest = min(map(len, others.keys() | nodes))
    highest = max(map(len, others.keys() | nodes))
    early = min((cost for key, cost in others.items() if len(key) == lowest), default=None)
    late = min((cost for key, cost in others.items() if len(key) == highest), default=None)
    if max(map(len, nodes)) == highest:
        return "late", early, None
    if min(map(len, nodes)) == lowest:
        return "early", None, late
    return "middle", early, late
