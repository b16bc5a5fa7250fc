"""How the join orders of a query have changed: when, from what to what, and what had moved."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkext.answers.html_tables import texts_table
from sparkext.s2r.event_time import format_date_time

REMEMBERED = 10_000
"""Evaluations and switches of a query that are remembered."""

# What the JVM calls an order that was asked for, or that comes back after it: nothing has been chosen anew.
_PINNED = "pinned"


@dataclass(frozen=True)
class Switch:
    """One change of a join order: when (the instant, in milliseconds), from and to what, and its cause.

    An order is where it begins and its steps. Costs are in microseconds: what either order takes by what was known
    after the first evaluation by the new one.
    """

    time: float
    old: tuple[str, ...]
    new: tuple[str, ...]
    cost_before: float
    cost_after: float
    cause: str

    @property
    def change(self) -> str:
        """What is different, in one line.

        >>> Switch(0.0, ("a", "?x from b"), ("b", "?x from a"), 9.0, 5.0, "rows of a: 1 -> 90").change
        'from a > ?x from b to b > ?x from a'
        """
        return f"from {in_one_line(self.old)} to {in_one_line(self.new)}"


def in_one_line(order: Sequence[str]) -> str:
    """An order as text.

    >>> in_one_line(("now", "?b from range and knows", "?name from names"))
    'now > ?b from range and knows > ?name from names'
    """
    return " > ".join(order)


class Switches(tuple[Switch, ...]):
    """Changes of a join order, oldest first; a table in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        rows = [
            (
                format_date_time(int(switch.time)),
                switch.cause,
                in_one_line(switch.old),
                in_one_line(switch.new),
                f"{switch.cost_before:,.0f}",
                f"{switch.cost_after:,.0f}",
            )
            for switch in reversed(self)
        ]
        columns = ("when", "cause", "from", "to", "us before", "us after")
        return texts_table(columns, rows, f"{len(self):,} changes of the join order, newest first")


class OrderHistory:
    """The switches of one query, the last ones of them, and the orders that its clusters have now."""

    def __init__(self) -> None:
        self._switches: deque[Switch] = deque(maxlen=REMEMBERED)
        self._orders: dict[int, tuple[str, ...]] = {}

    @property
    def switches(self) -> tuple[Switch, ...]:
        """All that are remembered, oldest first."""
        return Switches(self._switches)

    @property
    def orders(self) -> tuple[str, ...]:
        """The order of each cluster that has run, in one line."""
        return tuple(in_one_line(order) for _, order in sorted(self._orders.items()))

    def note(self, outcome: Mapping[str, Any], instant: int) -> None:
        """Take in what the JVM tells of an evaluation: orders that are new, with what came before them."""
        for cluster, old, new, before, after, cause in outcome.get("changes", ()):
            known = self._orders.get(cluster)
            self._orders[cluster] = tuple(new)
            if cause == _PINNED:
                continue
            if old:
                self._add(instant, tuple(old), tuple(new), before, after, cause)
            elif known is not None and known != tuple(new):  # by plans for new static data
                self._add(instant, known, tuple(new), before, after, "static data have changed")

    def _add(
        self,
        instant: int,
        old: tuple[str, ...],
        new: tuple[str, ...],
        before: float,
        after: float,
        cause: str,
    ) -> None:
        self._switches.append(Switch(instant, old, new, before / 1e3, after / 1e3, cause))
