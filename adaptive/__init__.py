"""The brain: a query graph and statistics in, a join order out. No Spark, no I/O; arrays by NumPy.

Read `optimizer.py` first; it calls, in this order, `cardinality` (rows of every part), `prejoin`
(which static parts may be kept), `enumerate` or `greedy` (the search, over `alternatives` priced by
`cost_model`), and returns a `plan` that `explain` turns into plain data.

Filters and binds that cost something are placed among the joins: `placement` for a given tree,
priced by `placement_costs`; `placed_plan_cache` chooses tree and placement together. Its table is
`placed_table`: parts of the query, each with every set of items applied (`placed_states`), of which
`placed_space` says which are compared.
"""

from adaptive.cost_model import CostModel
from adaptive.errors import AdaptiveError
from adaptive.execution_place import runs_sooner_on_driver
from adaptive.expensive_calls import HIT_US, CallPrice, FilterStatistics
from adaptive.explain import explain, explain_choice, format_plan
from adaptive.optimizer import OptimizedPlan, optimize
from adaptive.placed_plan_cache import (
    PlacedPlanCache,
    optimize_placed,
    place_given,
    plan_cache,
)
from adaptive.placement import Placement
from adaptive.placement_report import PlacedFilter, PlacementReport
from adaptive.plan import Join, PlanNode, Prejoined, Scan
from adaptive.plan_cache import PlanCache
from adaptive.prejoin import PrejoinPolicy
from adaptive.query_graph import (
    ColumnStatistics,
    Extend,
    FilterKind,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.statistics import Catalogue, OperatorCounts
from adaptive.sub_plans import Touched

__all__ = [
    "HIT_US",
    "AdaptiveError",
    "CallPrice",
    "Catalogue",
    "ColumnStatistics",
    "CostModel",
    "Extend",
    "FilterKind",
    "FilterStatistics",
    "Join",
    "JoinFilter",
    "OperatorCounts",
    "OptimizedPlan",
    "PlacedFilter",
    "PlacedPlanCache",
    "Placement",
    "PlacementReport",
    "PlanCache",
    "PlanNode",
    "PrejoinPolicy",
    "Prejoined",
    "QueryGraph",
    "Relation",
    "RelationKind",
    "RelationStatistics",
    "Scan",
    "Touched",
    "explain",
    "explain_choice",
    "format_plan",
    "optimize",
    "optimize_placed",
    "place_given",
    "plan_cache",
    "runs_sooner_on_driver",
]
