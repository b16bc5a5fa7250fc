"""What a query has told before a restart and finds again, by evaluating an instant once more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Recollection:
    """One instant of a query; `turn` is how many evaluations of all queries there had been with the one that is
    repeated, `waiting` those of the query that are still to be found."""

    turn: int
    waiting: list[Recollection]
    again: Callable[[], object]

    def find(self) -> None:
        """Find it; where that fails, it is not tried once more."""
        self.waiting.remove(self)
        self.again()
