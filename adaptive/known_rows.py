"""The row estimates of the plan cache, asked for one set at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adaptive.cardinality import CardinalityEstimator
from adaptive.query_graph import QueryGraph
from adaptive.row_estimates import RowEstimates
from adaptive.statistics import Catalogue
from adaptive.sub_plans import SubPlans


class KnownRows:
    """Answers as a `CardinalityEstimator` of now does, from the arrays where a set is in them.

    After a change of the catalogue `forget` must be called.
    """

    def __init__(
        self, graph: QueryGraph, catalogue: Catalogue, sub_plans: SubPlans, estimates: RowEstimates
    ) -> None:
        self.graph = graph
        self._catalogue = catalogue
        self._sub_plans = sub_plans
        self._estimates = estimates
        self._share = {filters: number for number, filters in enumerate(sub_plans.decisions)}
        self._others: CardinalityEstimator | None = None

    def forget(self) -> None:
        """The catalogue has changed."""
        self._others = None

    def rows(self, mask: int) -> float:
        """Rows of a set of relations after its filters."""
        number = self._sub_plans.number.get(mask)
        if number is None:
            return self._other().rows(mask)
        return float(self._estimates.filtered[number])

    def unfiltered_rows(self, mask: int) -> float:
        """Rows of a set of relations before any filter."""
        number = self._sub_plans.number.get(mask)
        if number is None:
            return self._other().unfiltered_rows(mask)
        return float(self._estimates.unfiltered[number])

    def modelled_rows(self, mask: int) -> float:
        """Rows of the join of a set, before any filter, by all that is known but what executed joins have counted."""
        number = self._sub_plans.number.get(mask)
        if number is None or mask & (mask - 1) == 0:
            return self._other().modelled_rows(mask)
        return self._estimates.modelled(number)

    def changed_rows(self, position: int) -> float:
        """Rows of a relation that arrive and expire between two evaluations: none but of windows."""
        return self._catalogue.changed_rows(self.graph.relations[position])

    def near_rows(self, position: int, on: Sequence[str]) -> float:
        """The rows of a relation among which a look-up by some variables finds its own (see `near_look_ups`)."""
        return self._estimates.near_rows(position, on)

    def decided(self, mask: int) -> int:
        """The filters that a set of relations can decide, bit i = filter i."""
        if mask in self._sub_plans.number:
            return self._sub_plans.decided(mask)
        return self._other().decided(mask)

    def share(self, filters: int) -> float:
        """The share of rows that a set of filters keeps."""
        number = self._share.get(filters)
        if number is None:
            return self._other().share(filters)
        return float(self._estimates.shares[number])

    def distinct_rows(self, mask: int, variables: Iterable[str]) -> float:
        """Distinct rows of a set of relations after projecting to some variables."""
        return self._other().distinct_rows(mask, variables)

    def _other(self) -> CardinalityEstimator:
        if self._others is None:
            self._others = CardinalityEstimator(self.graph, self._catalogue)
        return self._others
