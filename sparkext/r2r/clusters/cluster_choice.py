"""What was chosen for a cluster: its plan, and what that was searched in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adaptive import Catalogue, Join, OptimizedPlan, PlanNode, QueryGraph
from sparkext.language.expressions import Expression
from sparkext.r2r.leaves.leaf import Leaf


@dataclass(frozen=True)
class ClusterSearch:
    """What the order of a cluster was searched in: `leaves` are its relations by name.

    `expensive` are the conditions and the expressions of BINDs that are placed by cost, by their names there.
    """

    graph: QueryGraph
    catalogue: Catalogue
    leaves: Mapping[str, Leaf]
    expensive: Mapping[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True)
class ClusterChoice:
    """The order of one cluster: `optimized` is None where there was nothing to choose, or the order was given.

    `contents` are the names of what its scans and pre-joined parts read, as operators show them; of a derived relation
    there is none.
    """

    label: str
    plan: PlanNode
    optimized: OptimizedPlan | None
    search: ClusterSearch | None = None
    contents: Mapping[frozenset[str], str] = field(default_factory=dict, compare=False)
    order: Any = field(default=None, compare=False)
    """The order of the operator that joins it; None where it is a chain of Spark's joins."""
    joined: tuple[str, ...] = field(default=(), compare=False)
    """What that operator joins, by the numbers of its orders: names of relations and of pre-joined parts."""


def largest_step(plan: PlanNode, rows: Mapping[frozenset[str], float] | None = None) -> float:
    """Rows of the largest thing that executing a plan computes; what is only probed does not count.

    They are those in `rows`, by relations, or else the estimated ones.

    >>> from adaptive import Scan
    >>> plan = Join(Scan("a", estimated_rows=5.0), Scan("b", estimated_rows=9.0), ("x",), "index", estimated_rows=7.0)
    >>> largest_step(plan), largest_step(plan, {frozenset("ab"): 2.0})
    (7.0, 5.0)
    """
    own = (rows or {}).get(plan.relations, plan.estimated_rows)
    if not isinstance(plan, Join):
        return own
    computed = [plan.left] if plan.method == "index" else [plan.left, plan.right]
    return max(own, *(largest_step(side, rows) for side in computed))
