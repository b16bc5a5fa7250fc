"""A query in the JVM: the plans that it ran last, and those that it will run."""

from __future__ import annotations

import json
import math
from typing import Any

from sparkext.runtime.call_counts import CallCounts
from sparkext.runtime.join_orders import CompiledPlans


class JvmQuery:
    """A query that runs one of its plans; `jvm` evaluates it. To be used under the engine's lock."""

    def __init__(self, jvm: Any, plans: CompiledPlans, calls: CallCounts) -> None:
        self.jvm = jvm
        self.plans = plans
        """The plans that ran last, or that the first evaluation runs."""
        self.executed = False
        """Whether they ran, so that their operators have counted rows."""
        self._next: CompiledPlans | None = None
        self._told = True
        self._calls = calls
        calls.tell(jvm)

    def use(self, plans: CompiledPlans) -> None:
        """Run other plans from the next evaluation on: until then, all is told of those that ran last."""
        self._next = plans

    @property
    def coming(self) -> CompiledPlans:
        """The plans of the next evaluation, as far as it has been decided about."""
        return self.plans if self._next is None else self._next

    def replace(self, plans: CompiledPlans) -> None:
        """Run other plans whatever was chosen before: those before them are out of date."""
        self.plans, self._next = plans, None
        self.jvm.replacePlans(plans.jvm)
        self._told, self.executed = True, False
        self._calls.tell(self.jvm)

    def evaluate(self, bounds: str, ask: bool = False) -> dict[str, Any]:
        """Evaluate, the windows moved to `bounds`; with `ask`, only tell news of the statistics if there are some."""
        self._take_next()
        slices = self.plans.slices
        if self._told:
            told = self.jvm.evaluate(bounds, slices, ask)
        else:
            # A change of plans is no call of its own.
            told = self.jvm.evaluateWith(self.plans.jvm, bounds, slices, ask)
            self._told = True
        outcome: dict[str, Any] = json.loads(told)
        return outcome

    def _take_next(self) -> None:
        plans, self._next = self._next, None
        if plans is not None:
            self.plans = plans
            self._told, self.executed = False, False
            self._calls.tell(self.jvm)

    def run_with(self, plans: CompiledPlans) -> dict[str, Any]:
        """Execute other plans once over what the windows hold now."""
        self.jvm.replacePlans(plans.jvm)
        try:
            outcome: dict[str, Any] = json.loads(self.jvm.evaluate("", plans.slices, False))
            return outcome
        finally:
            self._told = False

    def rehearse(self, plans: CompiledPlans, most: float) -> float:
        """The seconds of a run of plans that answers nothing; infinity if it was given up after so many seconds."""
        nanos = self.jvm.rehearse(plans.jvm, plans.slices, round(most * 1e9))
        return nanos / 1e9 if nanos >= 0 else math.inf

    def release(self, *tried: CompiledPlans) -> None:
        """Have plans give back what they hold of live data, unless they serve."""
        for plans in tried:
            if plans is not self.plans and plans is not self.coming:
                plans.jvm.release()
