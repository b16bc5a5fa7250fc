"""Where filters and BINDs that call uncertainty functions go in a plan, and what these calls are taken to cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from adaptive import HIT_US, CallCost, Placement
from sparkext.language.expressions import Expression, FunctionCall
from sparkext.language.uncertainty import calls_uncertainty, is_user_call, uncertainty_function

CALL_US = 2.0
"""Microseconds of a call of a function of `rspu:`, until some have been measured."""


@dataclass(frozen=True)
class UncertainPlacement:
    """`filters`: early (heuristic H3), late (H4), or where they cost least; `lazy`: BINDs wait for what reads them.

    `cached` tells whether a call with the same arguments is made twice, `call_us` what a call costs and `row_us` what a
    row costs without its calls, in microseconds, as far as is known now.
    """

    filters: Placement = "cost"
    lazy: bool = True
    cached: bool = True
    call_us: Callable[[FunctionCall], float] = lambda _: CALL_US
    row_us: Callable[[], float] = lambda: HIT_US

    def comes_last(self, condition: Expression) -> bool:
        """Whether heuristic H4 keeps a condition until all joins of its group are made."""
        return self.filters == "late" and calls_uncertainty(condition)

    def call_cost(self, condition: Expression) -> CallCost | None:
        """What applying a condition costs, all its calls together; None for one without such calls."""
        calls = uncertainty_calls(condition)
        if not calls:
            return None
        row = self.row_us()
        return CallCost(
            row + sum(self.call_us(call) for call in calls),
            row,
            cached=self.cached,
            inputs=frozenset(v.name for call in calls for v in call.variables),
        )


def uncertainty_calls(expression: Expression) -> list[FunctionCall]:
    """The calls in an expression that may be expensive, those inside others too."""
    return [
        part
        for part in expression.walk()
        if isinstance(part, FunctionCall)
        and (uncertainty_function(part) is not None or is_user_call(part))
    ]
