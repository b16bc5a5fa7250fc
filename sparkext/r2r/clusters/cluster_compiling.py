"""What the planning of clusters may ask of the pattern compiler beyond what single operators do."""

from __future__ import annotations

from typing import Protocol

from adaptive import CostModel, PlanNode
from sparkext.language.expressions import Expression
from sparkext.language.nodes import Variable
from sparkext.r2r.clusters.cluster_choice import ClusterChoice
from sparkext.r2r.functions.uncertain_placement import UncertainPlacement
from sparkext.r2r.leaves.flattening import Cluster
from sparkext.r2r.leaves.leaf import Leaf
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.relations.solutions import Solutions


class ClusterCompiling(PatternCompiling, Protocol):
    """A compiler of one query's patterns, as the planning of a cluster sees it.

    `adaptive` says whether orders are chosen by cost, `costs` what steps of a plan cost; the choice made is appended to
    `choices`. `early_filters` is heuristic H3, `cluster_join` whether one operator joins a cluster, in the order of its
    plan if it `pins_orders`, `uncertain` where calls of uncertainty functions go.
    """

    adaptive: bool
    costs: CostModel
    early_filters: bool
    cluster_join: bool
    pins_orders: bool
    uncertain: UncertainPlacement
    choices: list[ClusterChoice]

    def given_order(self) -> PlanNode | None:
        """The order that the next cluster is to have, if it is given."""

    def join(self, cluster: Cluster, needed: frozenset[Variable] | None = None) -> Solutions:
        """The natural join of a cluster's leaves under its conditions, in the chosen order."""

    def leaf(self, leaf: Leaf, name: str, rows: float) -> Solutions:
        """The solutions of one leaf."""

    def keeps(self, leaf: Leaf) -> bool:
        """Whether a static part that is no plain pattern is computed once and kept, by its estimated size."""

    def maker(self) -> ClusterCompiling:
        """A compiler of static parts that are kept."""

    def count_rows_of(self, condition: Expression) -> None:
        """Have the rows of a filter counted though it calls no uncertainty function."""
