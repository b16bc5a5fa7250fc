"""What the rows that operators counted in an evaluation say about the estimates of its plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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


def surprising(counts: Iterable[OperatorCounts], factor: float) -> list[OperatorCounts]:
    """The counts that are further than a factor off what was expected, and off by another factor than their parts.

    >>> pair, triple = frozenset({"a", "b"}), frozenset({"a", "b", "c"})
    >>> first = OperatorCounts(pair, 100.0, 1_000.0)
    >>> [c.actual for c in surprising([OperatorCounts(triple, 200.0, 2_100.0), first], 1.5)]
    [1000.0]
    >>> [c.actual for c in surprising([OperatorCounts(triple, 200.0, 200.0), first], 1.5)]
    [1000.0, 200.0]
    """
    found: list[OperatorCounts] = []
    for count in sorted(counts, key=lambda count: len(count.relations)):
        parts = (part for part in reversed(found) if part.relations <= count.relations)
        inherited = next((_off(part) for part in parts), 1.0)
        off = _off(count)
        if max(off, inherited) > factor * min(off, inherited):
            found.append(count)
    return found


def _off(count: OperatorCounts) -> float:
    return max(1.0, count.actual) / max(1.0, count.estimated)
