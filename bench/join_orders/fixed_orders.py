"""Fixed join orders of a query: pinned in the operator, or as a chain of Spark's joins, run over what windows hold."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from adaptive import PlanNode
from adaptive.graph.plan import describe
from sparkext.runtime.queries.compiled_plans import CompiledPlans
from sparkext.runtime.registered_query import RegisteredQuery

CHAINS = {
    "spark.cqels.multiwayJoin.enabled": "false",
    "spark.cqels.statistics.enabled": "false",  # so that its own order follows nothing
}
"""Settings of the engine in which `chain_of_joins` has plans made."""


def pinned(query: RegisteredQuery, plan: PlanNode) -> CompiledPlans:
    """A plan's sequence, pinned in the operator; the query is one of an engine that joins by it."""
    return query.compile((plan,))


def chain_of_joins(query: RegisteredQuery, plan: PlanNode) -> CompiledPlans:
    """A plan as a chain of Spark's joins; the query is one of an engine with the settings `CHAINS`."""
    return query.compile((plan,))


def serve(query: RegisteredQuery, plans: CompiledPlans) -> None:
    """Have a query's own evaluations run these plans, as its own choice may take for ever."""
    query._running.replace(plans)


@dataclass
class FixedOrder:
    """Prepared plans of a query, and the milliseconds of their runs, by phase (trials) and by batch."""

    kind: str
    plan: PlanNode
    query: RegisteredQuery
    plans: CompiledPlans
    trials: dict[int, list[float]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    slow: bool = False
    """Whether it is not to be run again."""

    @property
    def name(self) -> str:
        """How it is run, and the order in one line."""
        return f"{self.kind} {describe(self.plan, filters=True)}"

    def run(self) -> tuple[float, pa.Table]:
        """Milliseconds of a run, and its answers."""
        serve(self.query, self.plans)
        started = time.perf_counter()
        table, _ = self.query.run("")
        return (time.perf_counter() - started) * 1e3, table

    def run_ms(self) -> float:
        """The milliseconds of a run."""
        return self.run()[0]

    def run_at_most(self, most_ms: float) -> float:
        """The milliseconds of a run that may take for ever; infinity where it was given up."""
        serve(self.query, self.plans)
        nanos = self.query._jvm.runWithin(self.plans.slices, round(most_ms * 1e6))
        return nanos / 1e6 if nanos >= 0 else math.inf


def hopeful(times: Iterable[list[float]], in_phase: float, in_all: float) -> list[bool]:
    """Which orders are worth measuring, from the milliseconds of each in every phase.

    Those are that take at most `in_phase` times as long as the fastest order of some phase, or `in_all` times as long
    as the fastest one over all phases.

    >>> hopeful([[10.0, 90.0], [80.0, 10.0], [40.0, 40.0], [85.0, 75.0]], 2.0, 1.5)
    [True, True, True, False]
    """
    table = np.array(list(times))
    near = (table <= in_phase * table.min(axis=0)).any(axis=1)
    totals = table.sum(axis=1)
    kept: list[bool] = (near | (totals <= in_all * totals.min())).tolist()
    return kept


def most_hopeful(times: Iterable[list[float]], most: int) -> list[int]:
    """The places of up to so many orders: the fastest ones of each phase and of all together, in turn.

    >>> most_hopeful([[10.0, 90.0], [80.0, 10.0], [40.0, 40.0], [85.0, 75.0]], 3)
    [0, 1, 2]
    """
    table = np.array(list(times))
    lists = [*table.argsort(axis=0, kind="stable").T, table.sum(axis=1).argsort(kind="stable")]
    in_turn = [int(place) for rank in zip(*lists, strict=True) for place in rank]
    return sorted(dict.fromkeys(in_turn), key=in_turn.index)[:most]
