"""What is still to be tried in one state of the streams."""

from __future__ import annotations

from dataclasses import dataclass, field

from adaptive.measured_times import MEASURED_RUNS
from adaptive.plan import PlanNode
from adaptive.plan_families import Order, small_changes, streamed_first
from adaptive.query_graph import QueryGraph, RelationKind


@dataclass
class StateTrials:
    """Who is still to be tried in a state, and what an evaluation took before the first trial, in microseconds.

    Of each of `leads`, the cheapest plan that streams it first is still to be looked for. `changes` are small changes
    of the plan `base` that are so, too (None: another relation is streamed), `left` how many more may be, now if that
    plan is the one that `serves` there; `seen` are the plans that were tried or are to be. The one that is `asked` for
    had its rehearsal `cut` short so often. After `again` more runs, `quiet` of which have been, the closest are
    compared once more. What is `dear` served elsewhere, and was too dear here.
    """

    usual: float
    rivals: list[PlanNode]
    leads: list[str]
    left: int
    base: PlanNode
    changes: list[Order | None]
    seen: set[PlanNode]
    serves: bool = True
    asked: PlanNode | None = None
    waited: int = 0
    cut: int = 0
    quiet: int = 0
    again: int = 0
    dear: set[PlanNode] = field(default_factory=set)

    @property
    def varies(self) -> bool:
        """Whether small changes of the base may be tried now."""
        return bool(self.left and self.changes and self.serves)

    def vary_from(self, plan: PlanNode, runs: int) -> None:
        """Go on from a plan that serves after so many runs: what is faster than the plans before it."""
        self.serves = runs >= MEASURED_RUNS
        if self.serves and self.base != plan:
            self.base, self.changes = plan, changes_of(plan)
        if self.serves and not self.changes:
            self.left = 0


def windows_not_streamed(graph: QueryGraph, plan: PlanNode) -> list[str]:
    """The windows that a plan does not stream first."""
    windows = [r.name for r in graph.relations if r.kind is RelationKind.WINDOW]
    return [name for name in windows if name != streamed_first(plan)]


def changes_of(plan: PlanNode) -> list[Order | None]:
    """The small changes of a plan, and None: another relation is streamed."""
    return [None, *small_changes(plan)]
