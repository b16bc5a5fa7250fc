"""What each way to join a part of the query costs by itself, for all of them at once."""

from __future__ import annotations

import numpy as np

from adaptive.cost_model import FloatArray, JoinCosts, linear_costs
from adaptive.early_calls import EarlyCalls
from adaptive.plan_operators import PlanOperators
from adaptive.query_graph import QueryGraph
from adaptive.row_estimates import RowEstimates
from adaptive.sub_plans import IntArray, Reach, SubPlans


class OperatorPrices:
    """Costs by slot (see `sub_plans`): of reading it, of building it, and per row that probes it.

    `value` is what a slot costs as an input that is streamed; `held` what it costs as the right
    input of a join, that is with building it; `rows` its rows. A cost model that is linear (see
    `LinearCosts`) is applied to arrays, any other to one alternative at a time. With `calls`, what
    expensive filters cost is added where they can be decided first.
    """

    def __init__(
        self,
        graph: QueryGraph,
        costs: JoinCosts,
        sub_plans: SubPlans,
        estimates: RowEstimates,
        calls: EarlyCalls | None = None,
    ) -> None:
        self._costs = costs
        self._calls = calls
        self._linear = linear_costs(costs)
        self._sub_plans = sub_plans
        self._estimates = estimates
        self.value: FloatArray = np.zeros(sub_plans.slots)
        self.held: FloatArray = np.zeros(sub_plans.slots)
        places = sub_plans.slots + len(sub_plans.near)
        self.rows: FloatArray = np.zeros(places)
        self._fixed: FloatArray = np.zeros(sub_plans.slots)
        self._each: FloatArray = np.zeros(places)
        self._columns = {mask: len(graph.needed_outside(mask)) for mask in sub_plans.kept}
        if calls is not None:
            # Joins that decide the same expensive filters on the same part, after the same ones,
            # pay the same; number 0 is that there are none to decide.
            self._paying: list[tuple[int, int, int]] = [(0, 0, 0)]
            numbers: dict[tuple[int, int, int], int] = {}
            self._pays: IntArray = np.zeros(len(sub_plans.steps), dtype=np.intp)
            for number, step in enumerate(sub_plans.steps):
                mask = sub_plans.parts[sub_plans.union[number]]
                before = sub_plans.decisions[sub_plans.shares[number]] & calls.filters
                decided = sub_plans.decided(mask) & calls.filters
                if step.method != "read" and decided & ~before:
                    key = (mask, before, decided)
                    self._pays[number] = numbers.setdefault(key, len(numbers) + 1)
            self._paying += numbers
            self._paid: FloatArray = np.zeros(len(self._paying))

    def update(self, reach: Reach) -> FloatArray:
        """Re-price what a change reaches; returns each alternative's own cost, without inputs."""
        estimates, linear, parts = self._estimates, self._linear, reach.parts
        self.rows[parts] = estimates.filtered[parts]
        slots = self._read_leaves(reach)
        if reach.static:
            slots += self._read_kept()
        near = self._read_near(reach)
        if linear is not None:
            if near:
                self._each[near] = linear.index_terms(self.rows[near])[1]
            self._fixed[parts], self._each[parts] = linear.hash_terms(self.rows[parts])
            if slots:
                self._fixed[slots], self._each[slots] = linear.index_terms(self.rows[slots])
        self.held[slots] = self.value[slots] + self._fixed[slots]
        self.held[reach.leaves] = self.value[reach.leaves] + self._fixed[reach.leaves]
        # `take` instead of an index in brackets: it is no slower, and these arrays are the largest of an update.
        out = estimates.unfiltered.take(reach.union)
        out *= estimates.shares.take(reach.shares)
        if linear is None:
            own = self._singly(reach.alternatives, out)
        else:
            own = self.rows.take(reach.left)
            own *= self._each.take(reach.term)
            out *= linear.output_row
            own += out
        if self._calls is not None:
            own += self._price_calls(self._calls, reach.alternatives)
        return own

    def set_values(self, parts: IntArray, best: FloatArray) -> None:
        """Enter the cost of the cheapest plans of some parts."""
        self.value[parts] = best
        self.held[parts] = best + self._fixed[parts]

    def costs_of(self, part: int) -> FloatArray:
        """The costs of all alternatives of a part (by number), with their inputs."""
        sub_plans = self._sub_plans
        chosen = np.arange(sub_plans.first[part], sub_plans.first[part + 1])
        costs = self.own_costs(chosen)
        costs += self.value[sub_plans.left[chosen]]
        costs += self.held[sub_plans.right[chosen]]
        return costs

    def own_costs(self, chosen: IntArray) -> FloatArray:
        """The costs of some alternatives by themselves, without their inputs."""
        sub_plans, estimates = self._sub_plans, self._estimates
        out = estimates.unfiltered[sub_plans.union[chosen]]
        out *= estimates.shares[sub_plans.shares[chosen]]
        own: FloatArray
        if self._linear is None:
            own = self._singly(chosen, out)
        else:
            own = self.rows[sub_plans.left[chosen]]
            own *= self._each[sub_plans.term[chosen]]
            out *= self._linear.output_row
            own += out
        if self._calls is not None:
            own += self._paid[self._pays[chosen]]
        return own

    def building(self, parts: IntArray) -> FloatArray:
        """What it costs to build some parts that are there, as the right input of a join."""
        fixed: FloatArray = self._fixed[parts]
        return fixed

    def cost_of(self, operators: PlanOperators) -> float | None:
        """The cost of a plan; None when the cost model is not linear."""
        if self._linear is None:
            return None
        read, left, right, term, union, shares, _ = operators
        cost = self.rows[left]
        cost *= self._each[term]
        cost += self._fixed[right]
        out = self._estimates.unfiltered[union]
        out *= self._estimates.shares[shares]
        return float(self.value[read].sum() + cost.sum() + out.sum() * self._linear.output_row)

    def _read_leaves(self, reach: Reach) -> list[int]:
        """Price the reached relations and their indexes; returns the slots of the indexes."""
        costs, sub_plans = self._costs, self._sub_plans
        slots = []
        for part in reach.leaves.tolist():
            rows = float(self._estimates.unfiltered[part])
            self.value[part] = costs.scan_cost(rows)
            if self._calls is not None:
                mask = sub_plans.parts[part]
                self.value[part] += self._calls.cost(mask, 0, sub_plans.decided(mask))
            slot = sub_plans.index_slot.get(sub_plans.parts[part])
            if slot is not None:
                self.rows[slot] = rows
                changed = self._estimates.changed_rows(sub_plans.parts[part].bit_length() - 1)
                self.value[slot] = costs.window_index_cost(changed)
                slots.append(slot)
        return slots

    def _read_near(self, reach: Reach) -> list[int]:
        """Rows near those that two variables look up in the reached relations; returns their places."""
        sub_plans = self._sub_plans
        if not sub_plans.near:
            return []
        reached = {sub_plans.parts[part].bit_length() - 1 for part in reach.leaves.tolist()}
        places = []
        for number, (position, on) in enumerate(sub_plans.near):
            if position in reached:
                self.rows[sub_plans.slots + number] = self._estimates.near_rows(position, on)
                places.append(sub_plans.slots + number)
        return places

    def _read_kept(self) -> list[int]:
        """Price all pre-joined parts and their indexes; returns the slots of the indexes."""
        costs, sub_plans = self._costs, self._sub_plans
        slots = []
        for mask, read in sub_plans.kept_slot.items():
            rows = float(self._estimates.filtered[sub_plans.number[mask]])
            cost = costs.kept_cost(rows, self._columns[mask])
            self.value[read] = self.held[read] = cost + costs.scan_cost(rows)
            slot = sub_plans.index_slot[mask]
            self.rows[slot] = rows
            self.value[slot] = cost
            slots.append(slot)
        return slots

    def _price_calls(self, calls: EarlyCalls, alternatives: IntArray) -> FloatArray:
        """What expensive filters cost at the joins that are the first to decide them."""
        pays = self._pays[alternatives]
        for number in np.unique(pays).tolist():
            if number:
                self._paid[number] = calls.cost(*self._paying[number])
        paid: FloatArray = self._paid[pays]
        return paid

    def _singly(self, alternatives: IntArray, out: FloatArray) -> FloatArray:
        """The own costs under a cost model that does not say its terms, one call each."""
        sub_plans, costs = self._sub_plans, self._costs
        left = self.rows[sub_plans.left[alternatives]].tolist()
        right = self.rows[sub_plans.term[alternatives]].tolist()
        own = np.zeros(len(out))
        for place, number in enumerate(alternatives.tolist()):
            method = sub_plans.steps[number].method
            if method != "read":
                price = costs.index_join_cost if method == "index" else costs.hash_join_cost
                own[place] = price(left[place], right[place], float(out[place]))
        return own
