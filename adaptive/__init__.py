"""The brain: a query graph and statistics in, a join order out. No Spark, no I/O; arrays by NumPy.

Read `optimizer.py` first; it calls, in this order, `cardinality` (rows of every part), `prejoin`
(which static parts may be kept), `enumerate` or `greedy` (the search, over `alternatives` priced by
`cost_model`), and returns a `plan` that `explain` turns into plain data.

A plan that follows a stream is the work of `plan_follower`: `plan_cache` keeps the table of that
search right while statistics change (numbered in `sub_plans`, estimated in `row_estimates`, priced
in `operator_prices`), `plan_choice` says which plan is to run, by costs and by what was measured
(`measured_plans`), and `switching` when another plan is worth the change.

Filters and binds that cost something are placed among the joins: `placement` for a given tree,
priced by `placement_costs`; `placed_plan_cache` chooses tree and placement together, by what
`filter_observation` has seen. Its table is `placed_table`: parts of the query, each with every set
of items applied (`placed_states`), of which `placed_space` says which are compared.
"""

from adaptive.cost_model import CostModel
from adaptive.decision_budget import DecisionBudget
from adaptive.errors import AdaptiveError
from adaptive.execution_place import runs_sooner_on_driver
from adaptive.expensive_calls import HIT_US, CallPrice, FilterStatistics
from adaptive.explain import explain, explain_choice, format_plan
from adaptive.filter_observation import FilterCounts, FilterEstimator
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
from adaptive.plan_follower import PlanFollower
from adaptive.plan_switch import Decision, Switch
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
from adaptive.switching import SwitchPolicy

__all__ = [
    "HIT_US",
    "AdaptiveError",
    "CallPrice",
    "Catalogue",
    "ColumnStatistics",
    "CostModel",
    "Decision",
    "DecisionBudget",
    "Extend",
    "FilterCounts",
    "FilterEstimator",
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
    "PlanFollower",
    "PlanNode",
    "PrejoinPolicy",
    "Prejoined",
    "QueryGraph",
    "Relation",
    "RelationKind",
    "RelationStatistics",
    "Scan",
    "Switch",
    "SwitchPolicy",
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
