"""A query compiled: its frames, its clusters, what the JVM executes, and where that runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from adaptive import PlanNode
from sparkext.r2r.clusters.cluster_choice import ClusterChoice, largest_step
from sparkext.r2r.query_plans import QueryFrames
from sparkext.runtime.queries.delta_plans import DeltaPlans
from sparkext.runtime.queries.execution_place import Place, PlaceRule

Orders = tuple[PlanNode, ...]
"""The plan of each join cluster of a query, in the order in which clusters are compiled."""


@dataclass
class _Counted:
    """Where plans run by what they counted last; None before they have run."""

    place: Place | None = None


@dataclass(frozen=True)
class CompiledPlans:
    """A query compiled; `jvm` holds its plans, `seconds` is what making them took, `orders` are its clusters'
    first ones.

    `rule` decides where they run; with `delta` plans, instants are evaluated by these, on the driver; else it says why
    not. `matches` find the events of its MATCHes.
    """

    orders: Orders
    frames: QueryFrames
    choices: tuple[ClusterChoice, ...]
    jvm: Any
    seconds: float
    rule: PlaceRule
    delta: DeltaPlans | str = ""
    matches: Sequence[Any] = ()
    _counted: _Counted = field(default_factory=_Counted, compare=False)

    @property
    def place(self) -> Place:
        """Where the plans run: as rows were counted last, and before that as they were expected."""
        if self._counted.place is None:
            largest = max((largest_step(choice.plan) for choice in self.choices), default=0.0)
            cost = sum(choice.plan.cost for choice in self.choices)
            self._counted.place = self.rule.place(largest, cost)
        return self._counted.place

    def note(self, outcome: Mapping[str, Any]) -> None:
        """Have the plans run from now on where an evaluation, as the JVM tells of it, would have ended soonest."""
        if outcome.get("largest", -1) >= 0:
            self._counted.place = self.rule.place(outcome["largest"], outcome["busy_ns"] / 1e3)

    @property
    def slices(self) -> int:
        """0 for plans that run on the driver, else the number of slices of a Spark job."""
        return self.place.slices
