"""What the rows that operators counted in an evaluation say about the estimates of its plan."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from adaptive.filter_observation import FilterCounts
from adaptive.followed_filters import FollowedFilters
from adaptive.linked_counts import linked_counts
from adaptive.placed_plan_cache import PlacedPlanCache
from adaptive.plan import PlanNode
from adaptive.plan_cache import PlanCache
from adaptive.statistics import OperatorCounts


def beside_estimates(
    counts: Collection[OperatorCounts],
    plan: PlanNode,
    cache: PlanCache | PlacedPlanCache,
    filters: FollowedFilters | None = None,
    passed: Mapping[str, FilterCounts] | None = None,
) -> tuple[OperatorCounts, ...]:
    """The counts of a plan beside what was expected of it, and what they say of cycles by themselves.

    A count keeps its estimate where the plan has no such part. What one relation without filters
    counts is known already, and left out. With `filters`, estimates are for what these have really
    let through, `passed`.
    """
    graph = cache.graph
    linked: tuple[OperatorCounts, ...] = ()
    if filters is None:
        expected, estimator = cache.expected_rows(plan), cache.estimator
        counted = {count.relations: count.actual for count in counts if len(count.relations) > 1}
        linked = tuple(
            linked_counts(
                graph,
                plan,
                counted,
                lambda names: estimator.rows(graph.mask(names)),
                lambda names: estimator.modelled_rows(graph.mask(names)),
            )
        )
    else:
        graph = filters.cache.items.without
        expected = filters.expected_rows(plan, passed or {})
    known = (
        replace(count, estimated=expected.get(count.relations, count.estimated))
        for count in counts
        if len(count.relations) > 1 or graph.filters_within(graph.mask(count.relations))
    )
    return (*known, *linked)
