"""The plans of a query that are ready to run: how many are kept, and which go first."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from adaptive.errors import PlanError
from adaptive.plan import PlanNode


class PreparedPlans(Collection[PlanNode]):
    """At most `size` plans, the one used last standing last.

    Those that never served go first, then those used longest ago: a state of the streams that comes back needs what
    served in it, however many plans were tried in others meanwhile.

    >>> from adaptive.plan import Scan
    >>> first, tried, new = (Scan(name) for name in "abc")
    >>> plans = PreparedPlans(first, 2)
    >>> plans.add(tried, running=first)
    ()
    >>> plans.add(new, running=first) == (tried,)
    True
    >>> list(plans) == [first, new]
    True
    """

    def __init__(self, first: PlanNode, size: int) -> None:
        if size < 1:
            raise PlanError(f"at least one prepared plan must be kept, not {size}")
        self._size = size
        self._served: dict[PlanNode, bool] = {first: True}

    def __contains__(self, plan: object) -> bool:
        return plan in self._served

    def __iter__(self) -> Iterator[PlanNode]:
        return iter(self._served)

    def __len__(self) -> int:
        return len(self._served)

    @property
    def served(self) -> tuple[PlanNode, ...]:
        """Those that have run, the one used last standing first."""
        return tuple(plan for plan in reversed(self._served) if self._served[plan])

    def serve(self, plan: PlanNode) -> None:
        """A plan runs from now on."""
        self._served.pop(plan, None)
        self._served[plan] = True

    def add(self, plan: PlanNode, running: PlanNode) -> tuple[PlanNode, ...]:
        """A plan is ready; returns what is no longer kept, never the running one."""
        self._served[plan] = self._served.pop(plan, False)
        others = [old for old in self._served if old not in (running, plan)]
        others.sort(key=lambda old: self._served[old])
        dropped = tuple(others[: max(0, len(self._served) - self._size)])
        for old in dropped:
            del self._served[old]
        return dropped

    def remove(self, plan: PlanNode) -> None:
        """A plan cannot run after all."""
        self._served.pop(plan, None)
