"""What a follower of plans decides, and what it has done: a decision before an evaluation, and a switch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from adaptive.plan import PlanNode, describe


@dataclass(frozen=True)
class Decision:
    """What to do before an evaluation: stay, prepare `plan` in the background, or switch to it.

    `saving` is the expected saving in microseconds; `cost` what the running plan is expected to
    cost in this evaluation, `best` the cheapest plan. `beside` is to be prepared, or rehearsed, as well.
    """

    kind: Literal["stay", "prepare", "switch"]
    plan: PlanNode
    saving: float
    reason: str
    cost: float
    best: float
    beside: PlanNode | None = None


@dataclass(frozen=True)
class Switch:
    """One change of plan: when, from and to what, what they should cost, and its cause.

    `time` is the instant of the evaluation before which it was decided, the first one by the new plan; or, where it was
    decided between two evaluations, of the earlier one.

    Costs are in microseconds: those expected at that time, or, in a state of the streams in which all was tried, those
    that were measured there, or expected when costs were looked at last. A plan that was not measured in such a state
    is taken to cost a quarter more than the fastest there at least.
    """

    time: float
    old: PlanNode
    new: PlanNode
    cost_before: float
    cost_after: float
    cause: str
    moved: tuple[str, ...] = ()
    """Where expensive filters and binds went, one sentence each (see `plan_moves`)."""

    @property
    def change(self) -> str:
        """What is different, in one line: the order of the joins, and where filters and binds went.

        >>> from adaptive.plan import Join, Scan
        >>> def plan(late, early=()):
        ...     return Join(Scan("a", early), Scan("b"), ("x",), "index", late)
        >>> moved = ("filter f from after join 1 to scan a",)
        >>> Switch(0.0, plan(("f",)), plan((), ("f",)), 9.0, 5.0, "call of f: 1 -> 2", moved).change
        'filter f from after join 1 to scan a, of (a b)'
        """
        old, new = describe(self.old), describe(self.new)
        if old == new and self.moved:
            return f"{'; '.join(self.moved)}, of {new}"
        return "; ".join((f"from {old} to {new}", *self.moved))
