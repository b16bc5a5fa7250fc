"""The table of placed sub-plans that survives from one evaluation to the next.

Every connected part of the query keeps the cost of its cheapest plan for each set of items applied
to its rows: the order of joins and the places of filters and binds are chosen together, exactly for
the parts that are compared (see `placed_space`). As in `PlanCache`, a change of statistics re-prices
what it reaches and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from adaptive.alternatives import RowEstimator
from adaptive.cardinality import CardinalityEstimator
from adaptive.cost_model import FloatArray, JoinCosts, LinearCosts, linear_costs
from adaptive.enumerate import COST_TOLERANCE
from adaptive.errors import SearchError
from adaptive.item_prices import ItemPrices
from adaptive.known_rows import KnownRows
from adaptive.optimizer import greedy_parts
from adaptive.placed_items import PlacedItems
from adaptive.placed_space import PlacedAlternatives, PlacedSpace, placed_space
from adaptive.placed_states import PlacedReach, PlacedStates
from adaptive.placement_costs import PlacementCosts
from adaptive.plan import Join, JoinMethod, PlanNode, Prejoined, Scan
from adaptive.prejoin import PrejoinCandidate, PrejoinPolicy, prejoin_candidates, static_parts
from adaptive.query_graph import RelationKind, RelationStatistics, bits
from adaptive.row_estimates import RowEstimates
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import SubPlans, Touched

# Sets of relations are numbers of 64 bits here, and so are a part's number and its items together.
_MOST_RELATIONS = 62
_MOST_ITEMS = 20


class PlacedTable:
    """The cheapest plan with placed items, under a catalogue that changes.

    Made by `placed_table`. `apply` must be called after each change of the catalogue; `pricing` has
    what placements cost now.
    """

    def __init__(
        self,
        items: PlacedItems,
        catalogue: Catalogue,
        costs: LinearCosts,
        prejoin: PrejoinPolicy,
        budget: int,
        bushy: bool,
    ) -> None:
        self.items = items
        self.graph = items.without
        self.catalogue = catalogue
        self._costs = costs
        self._policy = prejoin
        self._budget = budget
        self._bushy = bushy
        self._static_parts = static_parts(items.early, prejoin)
        self.candidates: tuple[PrejoinCandidate, ...] = ()
        """The static parts that might be pre-joined, those that are refused among them."""
        self._take_candidates()
        space = placed_space(items, self._allowed, budget, self._known_parts)
        if space is None:
            raise SearchError(f"more than {budget:,} pairs of parts, even of those that are close")
        self.space: PlacedSpace = space
        """What is compared."""
        self._rebuild(space)

    # -- making it ----------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether all plans of H3 and H4 are among those compared.

        Not where there are too many cross products, or H4 keeps a pre-joined part without one of
        the filters inside. In a query beyond the budget, they are searched among fewer as well.
        """
        static = frozenset(
            variable
            for relation in self.graph.relations
            if relation.kind is RelationKind.STATIC
            for variable in relation.variables
        )
        inside = any(item.variables <= static for item in self.items.items)
        return self.space.crossed and not inside

    def _take_candidates(self) -> None:
        self.candidates = self._candidates_now()
        self._allowed = {c.mask: c for c in self.candidates if c.refusal is None}

    def _rebuild(self, space: PlacedSpace) -> Touched:
        self.space = space
        guess = CardinalityEstimator(self.graph, self.catalogue)
        alternatives = PlacedAlternatives(
            self.items, guess, self._costs, self._allowed, self._bushy
        )
        self._alternatives = alternatives
        self._sub_plans = SubPlans(alternatives, space.pairs)
        self._states = PlacedStates(alternatives, self._sub_plans)
        self._estimates = RowEstimates(self.graph, self.catalogue, self._sub_plans)
        self._rows = KnownRows(self.graph, self.catalogue, self._sub_plans, self._estimates)
        self._prices = ItemPrices(self._states, self._estimates)
        count = len(self._states.items)
        self._rows_of: FloatArray = np.zeros(count)
        self._value: FloatArray = np.full(count, np.inf)
        self._value[self._states.parts :] = 0.0
        self._fixed: FloatArray = np.zeros(self._states.terms)
        self._each: FloatArray = np.zeros(self._states.terms)
        self._own: FloatArray = np.zeros(len(self._states.step))
        self._union = self._states.part[self._states.target]
        self._shares = self._sub_plans.shares[self._states.step]
        self._estimates.sync()
        self._estimates.estimate(self._sub_plans.everything)
        self._forget()
        self._prices.sync(self.pricing)
        reach = self._states.everything()
        self._price_kept()
        changed = self._minimise(reach)
        return Touched(len(reach.parts), len(reach.alternatives), changed, rebuilt=True)

    def _known_parts(self) -> set[int]:
        """The parts of plans under H3 and H4 that are found greedily."""
        parts: set[int] = set()
        for graph in (self.items.strict, self.items.late):
            estimator = CardinalityEstimator(graph, self.catalogue)
            parts |= greedy_parts(estimator, self._costs, self.candidates, self._bushy)
        return parts

    def _candidates_now(self) -> tuple[PrejoinCandidate, ...]:
        if not self._policy.enabled:
            return ()
        estimator = CardinalityEstimator(self.items.early, self.catalogue)
        return prejoin_candidates(estimator, self._policy, self._static_parts)

    # -- changes ------------------------------------------------------------------------------------

    def apply(
        self,
        changed: Mapping[str, RelationStatistics],
        pairs: Mapping[tuple[str, str], float] | None = None,
        observed: Iterable[OperatorCounts] = (),
    ) -> Touched:
        """As `PlanCache.apply`; also takes over what the catalogue knows of filters and binds."""
        for (left, right), rows in (pairs or {}).items():
            self.catalogue.set_match(left, right, rows)
        self.catalogue.fold(observed)
        for name, statistics in changed.items():
            self.catalogue.update(name, statistics)
        sets, filters = self._estimates.sync()
        self._forget()
        if sets or filters:
            self._estimates.estimate(self._sub_plans.reach(sets, filters))
        moved = self._prices.sync(self.pricing)
        if not sets and not filters and not moved:
            return Touched()
        reach = self._states.reach(sets, filters, moved)
        if reach.static:
            before = self._allowed.keys()
            self._take_candidates()
            if before != self._allowed.keys():
                space = placed_space(self.items, self._allowed, self._budget, self._known_parts)
                assert space is not None  # there is one, whatever is kept
                return self._rebuild(space)
            self._price_kept()
        moved = self._minimise(reach)
        return Touched(len(reach.parts), len(reach.alternatives), moved)

    def _forget(self) -> None:
        self._rows.forget()
        self.pricing = PlacementCosts(self.items, self._rows, self._costs, self.catalogue)
        self._plan: PlanNode | None = None

    def _price_kept(self) -> None:
        """Rows and prices of pre-joined parts and their indexes."""
        costs, known, states = self._costs, self._sub_plans, self._states
        for mask in known.kept:
            index, read = (states.first[s] for s in (known.index_slot[mask], known.kept_slot[mask]))
            rows = float(self._estimates.filtered[known.number[mask]] * self._prices.shares[index])
            cost = costs.kept_cost(rows, len(self._allowed[mask].variables))
            self._rows_of[index] = self._rows_of[read] = rows
            self._value[index] = cost
            self._value[read] = cost + costs.scan_cost(rows)
            fixed, each = costs.index_terms(self._rows_of[index : index + 1])
            self._fixed[index], self._each[index] = fixed[0], each[0]

    def _minimise(self, reach: PlacedReach) -> int:
        """Price what is reached anew, small parts first; returns the number of changed parts."""
        states, value = self._states, self._value
        before = value[reach.states]
        with np.errstate(over="ignore"):
            self._price(reach)
            for level in reach.levels:
                value[level.states] = np.inf
                if level.joins is None:
                    self._read(level.states)
                else:
                    chosen = reach.alternatives[level.joins.first : level.joins.last]
                    cost = self._own[chosen] + value[states.left[chosen]]
                    cost += value[states.right[chosen]]
                    best = np.minimum.reduceat(cost, level.joins.starts)
                    value[level.joins.targets] = best
                for round_ in level.steps:
                    chosen = reach.steps[round_.first : round_.last]
                    cost = value[states.source[chosen]] + self._prices.costs[chosen]
                    best = np.minimum.reduceat(cost, round_.starts)
                    value[round_.targets] = np.minimum(value[round_.targets], best)
        return len(np.unique(states.part[reach.states[before != value[reach.states]]]))

    def _price(self, reach: PlacedReach) -> None:
        states, estimates, costs = self._states, self._estimates, self._costs
        chosen = reach.states
        rows = estimates.filtered[states.part[chosen]] * self._prices.shares[chosen]
        self._rows_of[chosen] = rows
        self._fixed[chosen], self._each[chosen] = costs.hash_terms(rows)
        for part in reach.parts[reach.parts < len(self.graph.relations)].tolist():
            self._price_index(part)
        held = np.zeros(len(states.items), dtype=np.bool_)
        held[chosen] = True
        for place in np.flatnonzero(held[states.crossed]).tolist():
            right = float(self._rows_of[states.crossed[place]])
            fixed = costs.cross_join_cost(0.0, right, 0.0)
            self._fixed[len(states.items) + place] = fixed
            self._each[len(states.items) + place] = costs.cross_join_cost(1.0, right, 0.0) - fixed
        chosen = reach.alternatives
        term = states.term[chosen]
        own = self._rows_of[states.left[chosen]] * self._each[term] + self._fixed[term]
        out = estimates.unfiltered[self._union[chosen]] * estimates.shares[self._shares[chosen]]
        out *= self._prices.shares[states.target[chosen]] * costs.output_row
        self._own[chosen] = own + out
        self._prices.update(reach.steps, self.pricing)

    def _price_index(self, part: int) -> None:
        """The index of a relation: all its rows, whatever is applied to those that are read."""
        mask = self._sub_plans.parts[part]
        slot = self._sub_plans.index_slot.get(mask)
        if slot is None:
            return
        state = self._states.first[slot]
        rows = float(self._estimates.unfiltered[part])
        changed = self._estimates.changed_rows(mask.bit_length() - 1)
        self._rows_of[state] = rows
        self._value[state] = self._costs.window_index_cost(changed)
        fixed, each = self._costs.index_terms(self._rows_of[state : state + 1])
        self._fixed[state], self._each[state] = fixed[0], each[0]
        for number, (position, on) in enumerate(self._sub_plans.near):
            if 1 << position == mask:
                near = np.array([self._estimates.near_rows(position, on)])
                self._each[self._states.near_place + number] = self._costs.index_terms(near)[1][0]

    def _read(self, chosen: np.ndarray[tuple[int], np.dtype[np.intp]]) -> None:
        """Relations as they are read, before any item."""
        for state in chosen[self._states.items[chosen] == 0].tolist():
            rows = float(self._estimates.unfiltered[self._states.part[state]])
            self._value[state] = self._costs.scan_cost(rows)

    # -- the plan -----------------------------------------------------------------------------------

    @property
    def estimator(self) -> RowEstimator:
        """The row estimates of now, without any item."""
        return self._rows

    def plan(self) -> PlanNode:
        """The cheapest plan, read off the table from the top, with the rows and costs of now."""
        if self._plan is None:
            self._plan = self.pricing.repriced(self._whole(with_items=True))
        return self._plan

    def joins_alone(self) -> PlanNode:
        """The cheapest order of the joins, with no item anywhere: what is cheapest if all of them come last."""
        return self._whole(with_items=False)

    def _whole(self, with_items: bool) -> PlanNode:
        applied, found = 0, []
        for component in self.space.components:
            items = self.items.addable(component) & ~applied if with_items else 0
            applied |= items
            number = self._sub_plans.number[component]
            found.append((self._states.state(number, items), component))
        found.sort(key=lambda each: (self._rows_of[each[0]], each[1]))
        plans = [self._node(state) for state, _ in found]
        plan = plans[0]
        for other in plans[1:]:
            crossed = [Join(a, b, (), "cross") for a, b in ((plan, other), (other, plan))]
            plan = min(crossed, key=lambda each: self.pricing.price(each).cost)
        return plan

    def _node(self, state: int) -> PlanNode:
        """The cheapest plan of a state; of equal ones that whose items came with its inputs."""
        states, sub_plans, graph = self._states, self._sub_plans, self.graph
        applied: list[int] = []
        while (alternative := self._joined(state)) is None:
            part = sub_plans.parts[states.part[state]]
            if part & (part - 1) == 0 and states.items[state] == 0:
                break
            step = self._stepped(state)
            applied.append(int(states.item[step]))
            state = int(states.source[step])
        part = sub_plans.parts[states.part[state]]
        decided = sub_plans.decided(part)
        names = tuple(self.items.items[number].name for number in reversed(applied))
        if alternative is None:
            return Scan(graph.names(part)[0], (*self._cheap(decided), *names))
        how = sub_plans.steps[states.step[alternative]]
        if how.method == "read":
            return self._kept(part)
        before = self._alternatives.decided_before(how)
        left = self._node(int(states.left[alternative]))
        right: PlanNode
        if how.method != "index":
            right = self._node(int(states.right[alternative]))
        elif how.right in self._allowed:
            right = self._kept(how.right)
        else:
            right = Scan(graph.names(how.right)[0])
        on = graph.shared_variables(how.left, how.right)
        method: JoinMethod = how.method
        return Join(left, right, on, method, (*self._cheap(decided & ~before), *names))

    def _joined(self, state: int) -> int | None:
        """The cheapest alternative that leads to a state, None where a step is cheaper."""
        states, value = self._states, self._value
        first, last = np.searchsorted(states.target, [state, state + 1]).tolist()
        if first == last:
            return None
        with np.errstate(over="ignore"):
            cost = self._own[first:last] + value[states.left[first:last]]
            cost += value[states.right[first:last]]
        near = cost * (1.0 - COST_TOLERANCE) <= value[state]
        return first + int(np.argmax(near)) if near.any() else None

    def _stepped(self, state: int) -> int:
        states = self._states
        chosen = np.flatnonzero(states.result == state)
        cost = self._value[states.source[chosen]] + self._prices.costs[chosen]
        return int(chosen[np.argmax(cost * (1.0 - COST_TOLERANCE) <= cost.min())])

    def _kept(self, mask: int) -> Prejoined:
        part = self._allowed[mask]
        names = frozenset(self.graph.names(mask))
        return Prejoined(part.name, names, part.variables, part.filters)

    def _cheap(self, filters: int) -> tuple[str, ...]:
        return tuple(self.graph.filters[number].name for number in bits(filters))


def placed_table(
    items: PlacedItems,
    catalogue: Catalogue,
    costs: JoinCosts,
    prejoin: PrejoinPolicy,
    budget: int,
    bushy: bool,
) -> PlacedTable | None:
    """The table of a query; None where it would be too large, or the cost model is not linear."""
    linear = linear_costs(costs)
    relations = len(items.graph.relations)
    if linear is None or relations > _MOST_RELATIONS or len(items.items) > _MOST_ITEMS:
        return None
    if not items.few():
        return None
    try:
        return PlacedTable(items, catalogue, linear, prejoin, budget, bushy)
    except SearchError:
        return None
