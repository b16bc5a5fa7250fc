"""What a query's filters and BINDs with uncertainty functions have cost and let through, as the JVM counts it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sparkext.language.algebra_text import format_expression
from sparkext.language.expressions import Expression
from sparkext.r2r.functions.uncertain_placement import uncertainty_calls
from sparkext.r2r.functions.uncertainty_calls import CallSites
from sparkext.runtime.parts.call_costs import CallCosts


@dataclass(frozen=True)
class CallCount:
    """Counts at one place that calls uncertainty functions.

    `calls` were made, `cache_hits` found in the function cache. The calls made cost `seconds`, each at the
    measured cost of its function and the families of its arguments. Of `rows_in` rows that came there `rows_passed`
    passed the filter, or got a value from the BIND; beside the calls they took `row_seconds`, to read values and to ask
    the cache.
    """

    calls: int = 0
    cache_hits: int = 0
    seconds: float = 0.0
    rows_in: int = 0
    rows_passed: int = 0
    row_seconds: float = 0.0

    def __add__(self, other: CallCount) -> CallCount:
        return CallCount(
            self.calls + other.calls,
            self.cache_hits + other.cache_hits,
            self.seconds + other.seconds,
            self.rows_in + other.rows_in,
            self.rows_passed + other.rows_passed,
            self.row_seconds + other.row_seconds,
        )


class CallCounts:
    """The call sites of one query, and what was counted there: in the last evaluation, and since registration.

    `number` gives the number of a new site, `costs` are those of the engine's calls.
    """

    def __init__(self, number: Callable[[], int], costs: CallCosts | None = None) -> None:
        self.sites = CallSites(number)
        self._costs = costs
        self._told: set[int] = set()
        self._last: dict[int, CallCount] = {}
        self._total: dict[int, CallCount] = {}

    def tell(self, jvm_query: Any) -> None:
        """Have the JVM report the sites that it does not report yet."""
        for _, site in self.sites.all:
            if site not in self._told:
                self._told.add(site)
                jvm_query.addSite(site)

    def note(self, outcome: Mapping[str, Any]) -> None:
        """Add the report of an evaluation."""
        for site, counted in _reported(outcome).items():
            self._last[site] = counted
            self._total[site] = self._total.get(site, CallCount()) + counted

    def last(self, expression: Expression) -> CallCount | None:
        """What the last evaluation counted for a filter's condition or a BIND's expression."""
        site = self.sites.known(expression)
        return None if site is None else self._last.get(site)

    def total(self, expression: Expression) -> CallCount | None:
        """What all evaluations counted for a filter's condition or a BIND's expression."""
        site = self.sites.known(expression)
        return None if site is None else self._total.get(site)

    def describe(self) -> list[dict[str, Any]]:
        """Every site as plain data: counts, and what each kind of call costs there, as `CallCosts.at` tells it."""
        return [
            {
                "expression": format_expression(expression),
                "last": vars(self._last.get(site, CallCount())),
                "total": vars(self._total.get(site, CallCount())),
                "costs": (
                    []
                    if self._costs is None
                    else self._costs.at(site, uncertainty_calls(expression))
                ),
            }
            for expression, site in self.sites.all
        ]


def _reported(outcome: Mapping[str, Any]) -> dict[int, CallCount]:
    return {
        site: CallCount(calls, hits, nanos / 1e9, rows_in, rows_passed, row_nanos / 1e9)
        for site, calls, hits, nanos, rows_in, rows_passed, row_nanos in outcome.get("calls", ())
    }
