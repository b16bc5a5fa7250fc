"""The brain: a query graph and statistics in, a join order out. No Spark, no I/O.

Read `optimizer.py` first; it calls, in this order, `cardinality` (rows of every part), `prejoin`
(which static parts may be kept), `enumerate` or `greedy` (the search, over `alternatives` priced by
`cost_model`), and returns a `plan` that `explain` turns into plain data.

Filters and binds that cost something are placed among the joins: `placement` for a given tree,
priced by `placement_costs`; `placed_search` chooses tree and placement together.
"""

from adaptive.cost_model import CostModel
from adaptive.errors import AdaptiveError
from adaptive.execution_place import runs_sooner_on_driver
from adaptive.explain import explain, explain_choice, format_plan
from adaptive.graph.expensive_calls import HIT_US, CallCost
from adaptive.graph.plan import Join, PlanNode, Prejoined, Scan
from adaptive.graph.query_graph import (
    ColumnStatistics,
    Extend,
    FilterKind,
    JoinFilter,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
)
from adaptive.search.optimizer import OptimizedPlan, optimize
from adaptive.search.placed_search import optimize_placed, place_given
from adaptive.search.placement import Placement
from adaptive.search.prejoin import PrejoinPolicy
from adaptive.statistics.catalogue import Catalogue

__all__ = [
    "HIT_US",
    "AdaptiveError",
    "CallCost",
    "Catalogue",
    "ColumnStatistics",
    "CostModel",
    "Extend",
    "FilterKind",
    "Join",
    "JoinFilter",
    "OptimizedPlan",
    "Placement",
    "PlanNode",
    "PrejoinPolicy",
    "Prejoined",
    "QueryGraph",
    "Relation",
    "RelationKind",
    "RelationStatistics",
    "Scan",
    "explain",
    "explain_choice",
    "format_plan",
    "optimize",
    "optimize_placed",
    "place_given",
    "runs_sooner_on_driver",
]
