"""The expensive filters and binds of one followed query: counts in, statistics for its plans out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adaptive.filter_observation import FilterCounts, FilterEstimator
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode, walk
from adaptive.query_graph import bits
from adaptive.statistics import OperatorCounts


class FollowedFilters:
    """One estimator for each item of a plan cache, which is told what they have found.

    `learned` are estimators that have seen an item already, by its name: they go on.
    """

    def __init__(
        self, cache: PlacedPlanCache, learned: Mapping[str, FilterEstimator] | None = None
    ) -> None:
        self.cache = cache
        self._estimators = {
            item.name: (learned or {}).get(item.name) or FilterEstimator()
            for item in cache.items.items
        }

    def observe(self, plan: PlanNode, counts: Mapping[str, FilterCounts]) -> None:
        """Take in what one evaluation of a plan counted at its items.

        Names that are none of the query's items are left out: their filters have no price. The
        statistics stand in the catalogue at once, and are used with the next `apply`.
        """
        pricing, number = self.cache.pricing, self.cache.items.number
        binds = set(bits(self.cache.items.binds))
        distinct: dict[str, float] = {}
        for _, use in pricing.uses(plan):
            name, price = use.item.name, use.item.price
            if price is not None and price.cached and name in counts:
                found = min(use.distinct, float(max(1, counts[name].rows_in)))
                distinct[name] = distinct.get(name, 0.0) + found
        for name, counted in counts.items():
            if name in number:
                estimator = self._estimators[name]
                if number[name] in binds:  # rows that got no value stay
                    counted = replace(counted, rows_passed=counted.rows_in)
                estimator.observe(counted, distinct.get(name))
                self.cache.catalogue.set_filter(name, estimator.statistics)

    def expected_rows(
        self, plan: PlanNode, counts: Mapping[str, FilterCounts]
    ) -> dict[frozenset[str], float]:
        """Rows expected of every part of a plan, given what its items really kept.

        So what is off is the estimate of a join, and is not corrected there and at the filter too.
        """
        binds = self.cache.items.names(self.cache.items.binds)
        shares = {
            name: counted.rows_passed / counted.rows_in
            for name, counted in counts.items()
            if counted.rows_in and name not in binds
        }
        return self.cache.expected_rows(plan, shares)

    def before_them(
        self, plan: PlanNode, counts: Iterable[OperatorCounts]
    ) -> Iterable[OperatorCounts]:
        """Those counts of a plan's operators that no filter among the items has thinned out; binds keep all rows."""
        thinning = self.cache.items.number.keys() - self.cache.items.names(self.cache.items.binds)
        thinned = [node.relations for node in walk(plan) if thinning.intersection(node.filters)]
        return [c for c in counts if not any(part <= c.relations for part in thinned)]
