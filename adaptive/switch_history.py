"""Every change of plan of one join cluster, with its cause."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from adaptive.placed_items import PlacedItem
from adaptive.plan import PlanNode
from adaptive.plan_moves import moves
from adaptive.plan_switch import Switch
from adaptive.query_graph import QueryGraph
from adaptive.statistics import Catalogue
from adaptive.switch_cause import cause, snapshot

_REMEMBERED = 10_000


class SwitchHistory:
    """The last 10,000 switches; what the catalogue held at one of them is compared with what it held at the one before.

    `items` are the filters and binds that are placed by cost.
    """

    def __init__(
        self, graph: QueryGraph, catalogue: Catalogue, items: Iterable[PlacedItem] = ()
    ) -> None:
        self._graph = graph
        self._catalogue = catalogue
        self._kinds = {item.name: "bind" if item.filter is None else "filter" for item in items}
        self._switches: deque[Switch] = deque(maxlen=_REMEMBERED)
        self._known = snapshot(graph, catalogue)

    @property
    def switches(self) -> tuple[Switch, ...]:
        """All that are remembered, the latest last."""
        return tuple(self._switches)

    def add(
        self, instant: float, old: PlanNode, new: PlanNode, costs: tuple[float, float], because: str
    ) -> None:
        """One plan has given way to another; where no reason is told, the statistic that moved most is the cause."""
        known = snapshot(self._graph, self._catalogue)
        moved = moves(old, new, self._kinds) if self._kinds else ()
        why = because or cause(self._known, known)
        self._switches.append(Switch(instant, old, new, *costs, why, moved))
        self._known = known
