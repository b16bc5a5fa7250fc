"""Where filters and BINDs that call uncertainty functions go in a plan, as far as the settings say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sparkext.language.expressions import Expression
from sparkext.language.uncertainty import calls_uncertainty


@dataclass(frozen=True)
class UncertainPlacement:
    """`filters`: early (heuristic H3), late (H4), or where they cost least; `lazy`: BINDs wait for what reads them.

    `cached` tells whether a call with the same arguments is made twice.
    """

    filters: Literal["early", "late", "cost"] = "cost"
    lazy: bool = True
    cached: bool = True

    def comes_last(self, condition: Expression) -> bool:
        """Whether heuristic H4 keeps a condition until all joins of its group are made."""
        return self.filters == "late" and calls_uncertainty(condition)
