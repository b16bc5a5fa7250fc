"""In which order the scans of a compiled cluster read the rows of windows: as they are kept, or grouped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from adaptive import PlanNode
from adaptive.scan_grouping import grouped_scans

if TYPE_CHECKING:
    from sparkext.language.algebra import Variable
    from sparkext.r2r.frames import GroupBy


class RowOrders:
    """The windows that a compiled plan of one cluster reads; `adaptive.scan_grouping` says which to group, and how."""

    def __init__(self) -> None:
        self._variables: dict[str, tuple[str, ...]] = {}
        self._tell: dict[str, GroupBy] = {}
        self.grouped: dict[str, tuple[str, ...]] = {}
        """The windows whose rows are grouped, and by which variables."""

    def add(self, name: str, variables: Sequence[Variable], tell: GroupBy) -> None:
        """A window, read as it is kept; `tell` groups its rows by some columns."""
        self._variables[name] = tuple(variable.name for variable in variables)
        self._tell[name] = tell

    def follow(self, plan: PlanNode, rows: Mapping[frozenset[str], float] | None = None) -> bool:
        """Group the rows that lead to many look-ups; whether other ones are, or in other ways, than before.

        Counted `rows`, by relations, count more than what was estimated in the plan.
        """
        if not self._tell:
            return False
        wanted = grouped_scans(plan, self._variables, rows)
        changed = {name: by for name, by in wanted.items() if by != self.grouped.get(name, ())}
        for name, by in changed.items():
            own = self._variables[name]
            self._tell[name]([own.index(variable) for variable in by])
        self.grouped = {name: by for name, by in wanted.items() if by}
        return bool(changed)
