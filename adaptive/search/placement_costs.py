"""Rows and costs of plans whose expensive filters and binds may sit at any node."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from adaptive.cost_model import JoinCosts
from adaptive.errors import PlanError
from adaptive.graph.plan import Join, PlanNode, Prejoined
from adaptive.graph.query_graph import bits
from adaptive.search.alternatives import RowEstimator
from adaptive.search.placed_items import PlacedItem, PlacedItems
from adaptive.statistics.cardinality import MAX_ROWS, filter_selectivity
from adaptive.statistics.catalogue import Catalogue


class Applied(NamedTuple):
    """What is behind some rows: relations joined, cheap filters and items applied (bit i each)."""

    mask: int
    cheap: int
    items: int


class Part(NamedTuple):
    """A part of a plan: what is behind its rows, how many, and the microseconds of it all."""

    applied: Applied
    rows: float
    cost: float


class ItemUse(NamedTuple):
    """An item at one node: rows that come in, calls made for them, and their microseconds."""

    item: PlacedItem
    rows: float
    calls: float
    cost: float


class PlacementCosts:
    """Prices plans under the statistics of now: `estimator` is over the graph without the items.

    The rows of a node are those of its relations after its cheap filters, times the selectivities
    of the items applied so far, taken as independent. Without any item, a plan costs what
    `PlanPricing` says.
    """

    def __init__(
        self,
        items: PlacedItems,
        estimator: RowEstimator,
        costs: JoinCosts,
        catalogue: Catalogue,
    ) -> None:
        self.items = items
        self.graph = items.without
        self._estimator = estimator
        self._costs = costs
        self._catalogue = catalogue
        self._cheap = {f.name: 1 << number for number, f in enumerate(self.graph.filters)}
        self.selectivities = tuple(self._selectivity(item) for item in items.items)
        self._shares = {0: 1.0}
        self._uses: dict[tuple[int, Applied], ItemUse] = {}
        self._base: dict[tuple[int, int], float] = {}
        self._sources: dict[int, list[tuple[int, float, float]]] = {}

    def _selectivity(self, item: PlacedItem) -> float:
        if item.filter is None:
            return 1.0
        if item.needs:  # there are no counts of what a bind computes: guess by the kind alone
            return filter_selectivity(replace(item.filter, variables=frozenset()), self._fewest)
        return filter_selectivity(item.filter, self._fewest)

    def _fewest(self, variable: str) -> float:
        graph, catalogue = self.graph, self._catalogue
        return min(
            catalogue.distinct(graph.relations[position].name, variable)
            for position in bits(graph.members[variable])
        )

    # -- rows ---------------------------------------------------------------------------------------

    def share(self, items: int) -> float:
        """The share of rows that a set of items keeps."""
        share = self._shares.get(items)
        if share is None:
            share = math.prod(self.selectivities[number] for number in bits(items))
            self._shares[items] = share
        return share

    def rows(self, applied: Applied) -> float:
        """Rows of a join of relations after some filters."""
        return self._joined(applied.mask, applied.cheap) * self.share(applied.items)

    def decided(self, mask: int) -> int:
        """The cheap filters that a set of relations decides."""
        return self._estimator.decided(mask)

    def _joined(self, mask: int, cheap: int) -> float:
        known = self._base.get((mask, cheap))
        if known is None:
            estimator = self._estimator
            if cheap == estimator.decided(mask):
                known = estimator.rows(mask)
            else:
                known = estimator.unfiltered_rows(mask) * estimator.share(cheap)
            self._base[mask, cheap] = known
        return known

    # -- joins --------------------------------------------------------------------------------------

    def leaf(self, plan: PlanNode, probed: bool = False) -> Part:
        """A relation or pre-join without its items: streamed, or an index there already."""
        estimator, costs = self._estimator, self._costs
        mask = self.graph.mask(plan.relations)
        if isinstance(plan, Prejoined):
            applied = Applied(mask, self.cheap(plan), self.placed(plan))
            rows = self.rows(applied)
            cost = costs.kept_cost(rows, len(plan.variables))
            return Part(applied, rows, cost if probed else cost + costs.scan_cost(rows))
        unfiltered = estimator.unfiltered_rows(mask)
        if not probed:
            applied = Applied(mask, self.cheap(plan), 0)
            return Part(applied, self.rows(applied), costs.scan_cost(unfiltered))
        cost = costs.window_index_cost(estimator.changed_rows(mask.bit_length() - 1))
        return Part(Applied(mask, 0, 0), unfiltered, cost)

    def join(self, plan: Join, left: Part, right: Part) -> Part:
        """The join of two parts, before its own items; cheap filters come first."""
        mask = left.applied.mask | right.applied.mask
        cheap = left.applied.cheap | right.applied.cheap
        items = left.applied.items | right.applied.items
        estimator, costs = self._estimator, self._costs
        out = estimator.unfiltered_rows(mask) * estimator.share(cheap) * self.share(items)
        if plan.method == "index":
            join_cost = costs.index_join_cost
        elif plan.method == "hash":
            join_cost = costs.hash_join_cost
        else:
            join_cost = costs.cross_join_cost
        cost = left.cost + right.cost + join_cost(left.rows, right.rows, out)
        applied = Applied(mask, cheap | self.cheap(plan), items)
        return Part(applied, self.rows(applied), cost)

    def cheap(self, plan: PlanNode) -> int:
        """The filters of a node that are not placed by cost."""
        found = 0
        for name in plan.filters:
            if name in self._cheap:
                found |= self._cheap[name]
            elif name not in self.items.number:
                raise PlanError(f"the plan applies the unknown filter {name!r}")
        return found

    def placed(self, plan: PlanNode) -> int:
        """The items that a node applies."""
        number = self.items.number
        return sum(1 << number[name] for name in plan.filters if name in number)

    def order(self, plan: PlanNode) -> tuple[int, ...]:
        """The items that a node applies, in that order, by number."""
        number = self.items.number
        return tuple(number[name] for name in plan.filters if name in number)

    # -- items --------------------------------------------------------------------------------------

    def use(self, number: int, applied: Applied) -> ItemUse:
        """What applying one more item costs where so much has been applied before."""
        known = self._uses.get((number, applied))
        if known is None:
            known = self._uses[number, applied] = self._use(number, applied)
        return known

    def _use(self, number: int, applied: Applied) -> ItemUse:
        item = self.items.items[number]
        rows = self.rows(applied)
        if item.call_cost is None:
            return ItemUse(item, rows, 0.0, 0.0)
        distinct = self.distinct_inputs(number, applied) if item.call_cost.cached else rows
        calls = item.call_cost.calls(rows, distinct)
        return ItemUse(item, rows, calls, item.call_cost.cost(rows, distinct))

    def distinct_inputs(self, number: int, applied: Applied) -> float:
        """Distinct combinations of an item's inputs in the rows there, as estimated.

        For each relation that brings some of them: its distinct combinations of these, of which a
        combination survives if one of its rows does. A filter on the same relation thins them out
        even where a join has multiplied the rows.
        """
        joined = self._joined(applied.mask, applied.cheap)
        room = 1.0
        for position, base, values in self.combinations(number):
            own = self._filtering(position, applied.items)
            others = joined * self.share(applied.items & ~own)
            kept = min(1.0, others / base) * self.share(own) if base else 0.0
            lost: float = (1.0 - kept) ** max(1.0, base / values)
            room = min(MAX_ROWS, room * values * (1.0 - lost))
        return min(room, joined * self.share(applied.items))

    def _filtering(self, position: int, items: int) -> int:
        """Those of some items that read nothing but one relation."""
        bound = self.items.addable(1 << position)
        return items & bound

    def combinations(self, number: int) -> list[tuple[int, float, float]]:
        """(position, rows, distinct combinations) of the relations that bring an item's inputs."""
        found = self._sources.get(number)
        if found is not None:
            return found
        graph, catalogue = self.graph, self._catalogue
        found = []
        waiting = set(self.items.items[number].inputs)
        while waiting:
            position = max(
                range(len(graph.relations)),
                key=lambda p: (
                    len(waiting.intersection(graph.relations[p].variables)),
                    -catalogue[graph.relations[p].name].rows,
                    -p,
                ),
            )
            relation = graph.relations[position]
            base = catalogue[relation.name].rows
            brought = [v for v in relation.variables if v in waiting]
            counts = [catalogue.distinct(relation.name, variable) for variable in brought]
            room = min(math.prod(counts), MAX_ROWS)
            thrown = -room * math.expm1(-base / room)
            values = max(1.0, *counts, min(base, room, thrown))
            found.append((position, base, min(values, max(1.0, base))))
            waiting -= set(brought)
        self._sources[number] = found
        return found

    def after(self, part: Part, order: tuple[int, ...]) -> Part:
        """A part after some items, applied in that order."""
        applied, cost = part.applied, part.cost
        for number in order:
            cost += self.use(number, applied).cost
            applied = applied._replace(items=applied.items | 1 << number)
        return Part(applied, self.rows(applied), cost)

    # -- plans --------------------------------------------------------------------------------------

    def price(self, plan: PlanNode, seen: Callable[[PlanNode, Part], None] | None = None) -> Part:
        """Rows and cost of a plan as it stands; `seen` is called for each of its nodes."""
        if isinstance(plan, Join):
            left = self.price(plan.left, seen)
            probed = plan.method == "index"
            right = self.leaf(plan.right, True) if probed else self.price(plan.right, seen)
            part = self.after(self.join(plan, left, right), self.order(plan))
        else:
            part = self.leaf(plan)
            if not isinstance(plan, Prejoined):
                part = self.after(part, self.order(plan))
        if seen is not None:
            seen(plan, part)
        return part

    def repriced(self, plan: PlanNode) -> PlanNode:
        """The same plan with the rows and costs of now at every node."""
        parts: dict[int, Part] = {}
        self.price(plan, lambda node, part: parts.update({id(node): part}))
        return self._entered(plan, parts)

    def _entered(self, plan: PlanNode, parts: dict[int, Part]) -> PlanNode:
        part = parts.get(id(plan)) or self.leaf(plan, probed=True)
        if isinstance(plan, Join):
            left, right = self._entered(plan.left, parts), self._entered(plan.right, parts)
            plan = replace(plan, left=left, right=right)
        return replace(plan, estimated_rows=part.rows, cost=part.cost)

    def uses(self, plan: PlanNode) -> list[tuple[PlanNode, ItemUse]]:
        """Every item at every node that applies it, pre-joined parts left out."""
        found: list[tuple[PlanNode, ItemUse]] = []

        def look(node: PlanNode, part: Part) -> None:
            order = () if isinstance(node, Prejoined) else self.order(node)
            before = part.applied.items
            for number in order:
                before &= ~(1 << number)
            for number in order:
                applied = part.applied._replace(items=before)
                found.append((node, self.use(number, applied)))
                before |= 1 << number

        self.price(plan, look)
        return found
