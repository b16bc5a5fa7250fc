"""What a step of a plan costs, in microseconds of one evaluation."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Protocol

from adaptive.errors import CostModelError


class JoinCosts(Protocol):
    """The costs that the search asks for; rows are estimates, so they may be fractions."""

    def scan_cost(self, rows: float) -> float:
        """Read a relation row by row."""

    def kept_cost(self, rows: float, columns: int) -> float:
        """Have a pre-joined part there at all: its share of one evaluation."""

    def window_index_cost(self, changed: float) -> float:
        """Keep a window's index up to date between two evaluations, with so many rows changed."""

    def index_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        """Stream the left rows through an index over the right ones that is already there."""

    def hash_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        """Build a hash relation from the right rows, then stream the left ones through it."""

    def cross_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        """Hold the right rows and pair each left row with each of them."""


@dataclass(frozen=True)
class CostModel:
    """Costs of the prepared, code-generated operators; every constant in microseconds.

    A probe costs `probe_row`, plus `probe_doubling` for each doubling of the index beyond the
    `cached_rows` that stay in the processor's cache. A built side pays `build_start` once (its rows
    are collected before the join begins) and per row `build_row`, and twice those doublings: each
    row finds its group, and then its place, somewhere in what is built. `kept_cell` is making and
    holding one value of a pre-join, 0.05 spread over 10,000 evaluations; being small, it decides
    between plans that are about as fast. `window_index_row` is what each arrival and each expiry
    costs the index of a window: for a window that is all new, both together are less than streaming
    it once through a small index; for one where little changes, its index is there for nothing.
    `job_start` is what a Spark job costs before its tasks run (see `execution_place`).

    >>> CostModel().index_join_cost(1_000, 4 * 4_096, 0) == 1_000 * (0.02 + 2 * 0.012)
    True
    """

    scan_row: float = 0.02
    output_row: float = 0.02
    probe_row: float = 0.02
    probe_doubling: float = 0.012
    cached_rows: float = 4_096.0
    build_start: float = 100.0
    build_row: float = 0.15
    pair: float = 0.004
    kept_cell: float = 0.000005
    window_index_row: float = 0.025
    job_start: float = 15_000.0

    def __post_init__(self) -> None:
        for constant in dataclasses.fields(self):
            value = getattr(self, constant.name)
            if not 0.0 <= value < math.inf:
                raise CostModelError(f"cost {constant.name!r} must be at least 0, not {value!r}")

    def scan_cost(self, rows: float) -> float:
        return rows * self.scan_row

    def kept_cost(self, rows: float, columns: int) -> float:
        return rows * columns * self.kept_cell

    def window_index_cost(self, changed: float) -> float:
        return changed * self.window_index_row

    def index_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        probe = self.probe_row + self._far(right_rows)
        return left_rows * probe + out_rows * self.output_row

    def _far(self, rows: float) -> float:
        """What finding one of so many rows costs beyond the cache."""
        return self.probe_doubling * math.log2(max(1.0, rows / max(1.0, self.cached_rows)))

    def hash_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        row = self.build_row + 2.0 * self._far(right_rows)
        build = self.build_start + right_rows * row
        return build + self.index_join_cost(left_rows, right_rows, out_rows)

    def cross_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        pairs = left_rows * right_rows * self.pair
        return self.build_start + right_rows * self.build_row + pairs + out_rows * self.output_row


def nested_loop_cost(left_rows: float, right_rows: float) -> float:
    """|1| * |2|, a nested loop in the CQELS report, section 5 (Figure 4)."""
    return left_rows * right_rows


def index_look_up_cost(left_rows: float, right_rows: float) -> float:
    """|1| * log2 |2|, an index join there; at least one step, where the report has log2(1) = 0.

    >>> index_look_up_cost(16, 1_024), index_look_up_cost(3, 0)
    (160.0, 3.0)
    """
    return left_rows * math.log2(max(2.0, right_rows))


@dataclass(frozen=True)
class PaperCosts:
    """The cost functions of the CQELS report: comparisons only, leaves and kept parts are free."""

    def scan_cost(self, rows: float) -> float:
        return 0.0

    def kept_cost(self, rows: float, columns: int) -> float:
        return 0.0

    def window_index_cost(self, changed: float) -> float:
        return 0.0

    def index_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        return index_look_up_cost(left_rows, right_rows)

    def hash_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        return nested_loop_cost(left_rows, right_rows)

    def cross_join_cost(self, left_rows: float, right_rows: float, out_rows: float) -> float:
        return nested_loop_cost(left_rows, right_rows)
