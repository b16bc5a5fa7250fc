"""What the engine has seen of a stream once more, batch by batch, through fixed orders and through DuckDB."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from pyspark.sql import SparkSession

from adaptive import PlanNode
from bench.join_orders import fixed_orders, flipping_filters
from bench.join_orders.batch_streams import BatchStream
from bench.join_orders.duckdb_relations import DuckDbRelations
from bench.join_orders.first_sight import Seen
from bench.join_orders.fixed_orders import FixedOrder, hopeful, most_hopeful
from bench.join_orders.integer_relations import IntegerRelations, StaticIntegers, counted
from bench.join_orders.operator_order import graph_of
from bench.join_orders.order_candidates import best_by_cost
from bench.join_orders.replay import OPERATOR, Replay
from bench.join_orders.static_worlds import StaticData
from bench.peers.answers import fingerprint
from bench.report import BenchError, progress

# An order is given up when in each phase of the trials it took this many times as long as the fastest one there, and
# over all phases the second factor times as long: after its first runs, which are slow ones, and after later ones.
HOPELESS_AT_FIRST = (3.0, 2.0)
HOPELESS = (1.3, 1.4)

# Runs of each order in each phase of a round of trials that follows the first.
TRIAL_RUNS = 2

# A run of DuckDB that took longer counts for the later batches of its phase, too.
DUCKDB_SLOW_MS = 1_000.0

# The first run of an order is given up when it takes longer than this, and so many times as long as the engine.
TOO_LONG_MS = 1_000.0
TOO_LONG_BESIDE = 8.0


class AnswersDifferError(BenchError):
    """The same window contents were answered differently."""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Orders by cost at most, each in both ways; rounds of trials after the first; seconds after which the trials take in
    no more orders; orders measured at most; runs of each in a batch; seconds after which DuckDB is interrupted.
    """

    orders: int
    trial_rounds: int
    trial_seconds: float
    measured: int
    runs: int
    duckdb_seconds: float


@dataclass
class Raced:
    """Milliseconds of each batch: by fixed order, through DuckDB, and through the engine once more."""

    orders: dict[str, list[float]] = field(default_factory=dict)
    duckdb_ms: list[float] = field(default_factory=list)
    again_ms: list[float] = field(default_factory=list)
    tried: int = 0
    """How many fixed orders were run at all."""
    duckdb_given_up: int = 0
    """In how many batches DuckDB did not come to an end; the time until then counts there."""


class OrderRace:
    """Replays one stream, of which the engine has `seen` all batches."""

    def __init__(
        self,
        operator: Replay,
        chains: Replay,
        stream: BatchStream,
        static: StaticIntegers,
        seen: Sequence[Seen],
        effort: Effort,
    ) -> None:
        self._operator = operator
        self._chains = chains
        self._stream = stream
        self._seen = seen
        self._effort = effort
        self._graph = graph_of(operator.query)
        self._relations = IntegerRelations(stream, static)
        self._orders: list[FixedOrder] = []

    def run(self) -> Raced:
        """Find what may be the fastest somewhere, and measure it in each batch."""
        raced = Raced(tried=self._try_out())
        self._keep(*HOPELESS)
        self._keep_most(self._effort.measured)
        progress(f"  {self._stream.name}: {len(self._orders)} of {raced.tried} orders are measured")
        duckdb = DuckDbRelations(self._graph, self._operator.query.variables, self._relations.terms)
        try:
            for batch, seen in enumerate(self._seen):
                self._measure(batch, seen, duckdb, raced)
        finally:
            duckdb.close()
        raced.orders = {order.name: order.times for order in self._orders}
        return raced

    def _show(self, phase: int, batch: int) -> float:
        """Both engines have this batch in their windows: what the free operator took for it."""
        taken = self._operator.show(phase, batch)
        self._check("the engine once more", batch, fingerprint(taken.answers))
        self._chains.show(phase, batch)
        return taken.ms

    def _check(self, who: str, batch: int, fingerprint: str) -> None:
        if fingerprint != self._seen[batch].fingerprint:
            raise AnswersDifferError(
                f"{self._stream.name}, batch {batch}: {who} has other answers than the engine"
            )

    # -- trials ----------------------------------------------------------------------------------

    def _candidates(self) -> list[PlanNode]:
        """All that the engine took, and the best by cost."""
        stream, phases = self._stream, self._stream.first_of_phases
        catalogues = [
            counted(self._graph, self._relations.of(self._graph, phase, batch))
            for phase, batch in phases.items()
        ]
        shares: list[dict[str, float]] = [
            {
                item.name: stream.passing(variable, phase) if stream.passing else 1.0
                for item in self._graph.filters
                for variable in item.variables
            }
            for phase in phases
        ]
        call_us = flipping_filters.BURDEN / 1e3
        best = best_by_cost(self._graph, catalogues, shares, call_us, self._effort.orders)
        return list(dict.fromkeys([*(seen.order for seen in self._seen), *best]))

    def _try_out(self) -> int:
        """Have orders run in each phase, and drop those that are slow everywhere: how many there were."""
        effort, candidates = self._effort, self._candidates()
        until = time.monotonic() + effort.trial_seconds
        for number, (phase, batch) in enumerate(self._stream.first_of_phases.items()):
            if number == 0:
                self._serve_chains(candidates)
            longest = max(TOO_LONG_MS, TOO_LONG_BESIDE * self._show(phase, batch))
            if number == 0:
                for plan in candidates:
                    if time.monotonic() < until or not self._orders:
                        self._orders += self._both_ways(plan)
            self._run_all(phase, partial(FixedOrder.run_at_most, most_ms=longest), longest)
        tried = len(self._orders)
        self._keep(*HOPELESS_AT_FIRST)
        for number in range(effort.trial_rounds):
            for phase, batch in self._stream.first_of_phases.items():
                longest = max(TOO_LONG_MS, TOO_LONG_BESIDE * self._show(phase, batch))
                for _ in range(TRIAL_RUNS):
                    self._run_all(phase, FixedOrder.run_ms, longest)
            if number == 0 and len(self._orders) > effort.measured:
                self._keep(*HOPELESS)
                self._keep_most(2 * effort.measured)
        return tried

    def _both_ways(self, plan: PlanNode) -> list[FixedOrder]:
        operator, chains = self._operator.query, self._chains.query
        return [
            FixedOrder("operator", plan, operator, fixed_orders.pinned(operator, plan)),
            FixedOrder("chain", plan, chains, fixed_orders.chain_of_joins(chains, plan)),
        ]

    def _serve_chains(self, candidates: Sequence[PlanNode]) -> None:
        chains = self._chains.query
        fixed_orders.serve(chains, fixed_orders.chain_of_joins(chains, candidates[-1]))

    def _run_all(self, phase: int, run: Callable[[FixedOrder], float], longest: float) -> None:
        for order in self._orders:
            if not order.slow:
                order.trials.setdefault(phase, []).append(run(order))
                order.slow = order.trials[phase][-1] > longest

    def _trial_times(self) -> list[list[float]]:
        self._orders = [order for order in self._orders if not order.slow]
        if not self._orders:
            raise BenchError(f"{self._stream.name}: every order took too long to be measured")
        return [[min(times) for times in order.trials.values()] for order in self._orders]

    def _keep(self, in_phase: float, in_all: float) -> None:
        kept = hopeful(self._trial_times(), in_phase, in_all)
        self._orders = [order for order, keep in zip(self._orders, kept, strict=True) if keep]

    def _keep_most(self, most: int) -> None:
        self._orders = [self._orders[place] for place in most_hopeful(self._trial_times(), most)]

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self, batch: int, seen: Seen, duckdb: DuckDbRelations, raced: Raced) -> None:
        raced.again_ms.append(self._show(seen.phase, batch))
        # A first run finds what others have left in the processor's caches, and does not count.
        times: dict[int, list[float]] = {place: [] for place in range(len(self._orders))}
        for turn in range(self._effort.runs + 1):
            for place, order in enumerate(self._orders):
                ms, table = order.run()
                if turn == 0:
                    self._check(order.name, batch, fingerprint(table))
                else:
                    times[place].append(ms)
        for place, order in enumerate(self._orders):
            order.times.append(float(np.median(times[place])))
        self._measure_duckdb(batch, seen.phase, duckdb, raced)

    def _measure_duckdb(
        self, batch: int, phase: int, duckdb: DuckDbRelations, raced: Raced
    ) -> None:
        first = self._stream.phases.index(phase)
        if batch > first and raced.duckdb_ms[first] > DUCKDB_SLOW_MS:
            raced.duckdb_ms.append(raced.duckdb_ms[first])
            return
        duckdb.hold(self._relations.of(self._graph, phase, batch))
        ms, answers = duckdb.run(self._effort.duckdb_seconds)
        if answers is None:
            raced.duckdb_given_up += 1
        else:
            self._check("DuckDB", batch, fingerprint(self._relations.terms.decode(answers)))
        raced.duckdb_ms.append(ms)


def race(
    spark: SparkSession, stream: BatchStream, data: StaticData, seen: Sequence[Seen], effort: Effort
) -> Raced:
    """One stream's race, in engines of its own."""
    with (
        Replay(spark, stream, data.folder, OPERATOR) as operator,
        Replay(spark, stream, data.folder, fixed_orders.CHAINS) as chains,
    ):
        return OrderRace(operator, chains, stream, data.integers, seen, effort).run()
