"""A query in the JVM, and the plans that it runs."""

from __future__ import annotations

import json
from typing import Any

from sparkext.runtime.parts.call_counts import CallCounts
from sparkext.runtime.queries.compiled_plans import CompiledPlans


class JvmQuery:
    """A query with its plans; `jvm` evaluates it. To be used under the engine's lock."""

    def __init__(self, jvm: Any, plans: CompiledPlans, calls: CallCounts) -> None:
        self.jvm = jvm
        self.plans = plans
        self.executed = False
        """Whether they ran, so that their operators have counted rows."""
        self._calls = calls
        calls.tell(jvm)

    def replace(self, plans: CompiledPlans) -> None:
        """Run other plans: those before them are out of date."""
        self.plans, self.executed = plans, False
        self.jvm.replacePlans(plans.jvm)
        if plans.matches:
            self.jvm.setMatches(list(plans.matches))
        self._calls.tell(self.jvm)

    def evaluate(self, bounds: str) -> dict[str, Any]:
        """Evaluate, the windows moved to `bounds`; what comes back has "crowded" where other plans are needed first."""
        outcome: dict[str, Any] = json.loads(self.jvm.evaluate(bounds, self.plans.slices))
        if "crowded" not in outcome:
            self.plans.note(outcome)
        return outcome
