"""One drifting stream through the engine, and the same window contents through fixed join orders."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from sparkext.runtime.adaptation import Adaptation
from sparkext.runtime.join_orders import CompiledPlans

from adaptive import Catalogue, PlanNode
from adaptive.plan import describe
from bench.digest import digest_table
from bench.drifting import RANGE_SECONDS, DriftingStream, DriftingWorld
from bench.plan_enumeration import PlanEnumeration
from bench.report import BenchError, progress
from sparkext import Engine
from sparkext.recorded_streams import StreamElement

# An order is measured no further when in each phase of the warm-up it took this many times as long
# as the fastest one there, and over all phases the second factor times as long as the fastest:
# after its first runs, which are slow ones, after one more round, and after all of the warm-up.
HOPELESS_AT_FIRST = (3.0, 2.0)
HOPELESS_SO_FAR = (1.6, 1.5)
HOPELESS = (1.25, 1.3)

# Runs of each order in each phase of a round of the warm-up that follows the first.
WARM_RUNS = 2

# The engine has settled after so many evaluations in a phase, if no plan is being tried there then.
SETTLED_AFTER = 12

# What took this many times as long as the fastest order of a batch is not run there again.
OUT_OF_REACH = 1.4

# A plan that takes longer than this in the warm-up, and so many times as long as the engine, is not run again, and its
# first runs are given up then: some would make more rows than memory holds.
TOO_LONG_MS = 2_500.0
TOO_LONG_BESIDE = 8.0

# A plan that the engine prepares meanwhile is waited for at most this long.
PREPARED_SECONDS = 120.0


class AnswersDifferError(BenchError):
    """Two join orders answered the same window contents differently."""


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Orders at most, rounds of warm-up after the first, runs of a batch, and evaluations at most in
    which the engine settles in a phase.
    """

    orders: int
    warm_rounds: int
    runs: int
    settling: int


@dataclass
class Order:
    """A prepared join order and the milliseconds of its runs, by phase (warm-up) and by batch."""

    plans: CompiledPlans
    warm: dict[int, list[float]] = field(default_factory=dict)
    samples: dict[int, list[float]] = field(default_factory=dict)
    taken: dict[int, float] = field(default_factory=dict)
    """What it takes, by batch (see `beside`)."""
    slow: bool = False
    """Whether it is not to be run again."""

    @property
    def name(self) -> str:
        """The order in one line."""
        return describe(self.plans.orders[0])


@dataclass(frozen=True)
class Batch:
    """An evaluation by the engine: its milliseconds, those of statistics and decisions within, and its order.

    `state` is that of the stream; `trying` says that the engine had not tried all there that it wants to try.
    """

    phase: int
    ms: float
    optimizer_ms: float
    order: PlanNode
    answers: int
    state: int
    trying: bool


@dataclass(frozen=True)
class Outcome:
    """What one stream took: `orders` maps names of fixed orders to their median of each batch."""

    stream: DriftingStream
    batches: tuple[Batch, ...]
    adaptive_ms: tuple[float, ...]
    orders: dict[str, tuple[float, ...]]
    candidates: int
    switches: int
    prepare_ms: float
    search_ms: float
    """What deciding, and looking for plans to be tried, took between the batches."""


class StreamRace:
    """Runs one stream; the engine must have loaded the static data of `world`."""

    def __init__(
        self, engine: Engine, world: DriftingWorld, stream: DriftingStream, effort: Effort
    ) -> None:
        self._engine = engine
        self._world = world
        self._kind = stream
        self._effort = effort
        self._present = world.present()
        self._second = 0
        self._stream = engine.register_stream(stream.iri)
        self._query = engine.register_query(stream.query)
        self._orders: dict[PlanNode, Order] = {}

    def run(self) -> Outcome:
        """Warms up, measures every batch of the stream, and ends the query."""
        try:
            for _ in range(RANGE_SECONDS):
                self._push([])
            best = self._best_by_cost()
            progress(f"  {self._kind.name}: {len(best)} orders are prepared")
            self._warm_up(best)
            taken = self._settle()
            # What the engine took and nobody else has run is warmed up as the rest was before.
            more = [plan for plan in taken if plan not in self._orders]
            self._warm_up(more)
            return self._measure(len({*best, *more}))
        finally:
            self._query.stop()

    @property
    def _adaptation(self) -> Adaptation:
        found = self._query._adaptation
        if found is None or len(found.clusters) != 1:
            raise BenchError(f"{self._kind.name}: one join cluster is expected to be followed")
        return found

    # -- the engine itself -----------------------------------------------------------------------

    def _push(self, entering: list[str]) -> None:
        self._second += 1
        offers = self._kind.windows > 2
        lines = [*self._world.sighted(self._second, offers, self._present), *entering]
        instant = self._second * 1000
        self._stream.push_elements([StreamElement(instant, None, (line,)) for line in lines])
        self._stream.advance_to(instant)

    def _evaluate(self, phase: int) -> Batch:
        """The next batch through the engine."""
        where = self._kind.phases[phase]
        entering = self._world.entering(where, self._second + 1, self._kind.entering)
        progress_now = self._query.progress
        before = progress_now.seconds - progress_now.window_seconds
        optimizing = progress_now.optimizer_seconds
        self._push(entering)
        answers = self._query.last_answers
        assert answers is not None and answers.time == self._second * 1000
        spent = progress_now.seconds - progress_now.window_seconds - before
        optimizing = progress_now.optimizer_seconds - optimizing
        plan = self._query.plans.orders[0]
        follower = self._adaptation.clusters[0].follower
        return Batch(
            phase,
            spent * 1e3,
            optimizing * 1e3,
            plan,
            answers.table.num_rows,
            follower.state,
            follower.trying,
        )

    def _wait_for_preparation(self) -> None:
        """Let the background finish: it has the rest of the second where this bench goes on at once."""
        give_up = time.monotonic() + PREPARED_SECONDS
        while self._query.preparing and time.monotonic() < give_up:
            time.sleep(0.01)

    def _run_fixed(self, order: Order) -> tuple[float, pa.Table]:
        started = time.perf_counter()
        table, _ = self._query.run_with(order.plans)
        return (time.perf_counter() - started) * 1e3, table

    def _run_after_itself(self, order: Order) -> tuple[float, pa.Table]:
        """A run that finds in the processor's caches what a run of the same order has left there.

        So does an evaluation where the order has not just changed. After orders that go another way two orders of one
        stream took a third longer than alone.
        """
        self._run_fixed(order)
        return self._run_fixed(order)

    def _first_run(self, order: Order, longest: float) -> float:
        """The milliseconds of a run of plans that may take for ever; infinity where it was given up."""
        plans = order.plans
        nanos = self._query._jvm.rehearse(plans.jvm, plans.slices, round(longest * 1e6))
        plans.jvm.release()
        return nanos / 1e6 if nanos >= 0 else math.inf

    # -- warm-up ---------------------------------------------------------------------------------

    def _settle(self) -> list[PlanNode]:
        """Let the engine see each phase for so long that it has tried what it wants to try; the orders it took."""
        taken: dict[PlanNode, None] = {}
        for phase in range(len(self._kind.phases)):
            for number in range(self._effort.settling):
                taken[self._evaluate(phase).order] = None
                self._wait_for_preparation()
                trying = self._adaptation.clusters[0].follower.trying
                if number + 1 >= SETTLED_AFTER and not trying:
                    break
        for phase in [*range(len(self._kind.phases))] * 2:
            for _ in range(2):
                taken[self._evaluate(phase).order] = None
                self._wait_for_preparation()
        return list(taken)

    def _best_by_cost(self) -> list[PlanNode]:
        """The best orders under the statistics of each phase and of all."""
        known: dict[int, Catalogue] = {}
        for phase in [*range(len(self._kind.phases))] * 2:
            for _ in range(2):
                self._evaluate(phase)
                self._wait_for_preparation()
            known[phase] = deepcopy(self._adaptation.clusters[0].follower.cache.catalogue)
        engine, graph = self._engine, self._adaptation.clusters[0].follower.cache.graph
        found = PlanEnumeration(graph, list(known.values()), engine.costs, engine.prejoin_policy)
        return [candidate.plan for candidate in found.candidates(self._effort.orders)]

    def _warm_up(self, plans: list[PlanNode]) -> None:
        """Have orders run in each phase; those that are slow everywhere are given up."""
        orders = {plan: Order(self._query.compile((plan,))) for plan in plans}
        if not orders:
            return
        self._orders |= orders
        bounds = [HOPELESS_AT_FIRST] + [HOPELESS_SO_FAR] * (self._effort.warm_rounds - 1)
        self._warm_round(orders, self._first_run)
        for bound in bounds:
            self._keep_hopeful(*bound)
            self._warm_round(orders, *[lambda order, _: self._run_fixed(order)[0]] * WARM_RUNS)
        self._keep_hopeful(*HOPELESS)

    def _keep_hopeful(self, in_phase: float, in_all: float) -> None:
        times = {
            plan: [min(order.warm[phase]) for phase in range(len(self._kind.phases))]
            for plan, order in self._orders.items()
            if not order.slow
        }
        if not times:
            raise BenchError(f"{self._kind.name}: every order took too long to be measured")
        kept = hopeful(list(times.values()), in_phase, in_all)
        chosen = {plan for plan, keep in zip(times, kept, strict=True) if keep}
        chosen |= set(self._adaptation.clusters[0].follower.kept) & set(self._orders)
        self._orders = {p: order for p, order in self._orders.items() if p in chosen}
        progress(f"  {self._kind.name}: {len(self._orders)} orders are left")

    def _warm_round(
        self, orders: Iterable[PlanNode], *runs: Callable[[Order, float], float]
    ) -> None:
        for phase in range(len(self._kind.phases)):
            longest = max(TOO_LONG_MS, TOO_LONG_BESIDE * self._evaluate(phase).ms)
            self._wait_for_preparation()
            for order in [self._orders[plan] for plan in orders if plan in self._orders]:
                if not order.slow:
                    taken = order.warm.setdefault(phase, [])
                    taken.extend(run(order, longest) for run in runs)
                    order.slow = min(taken) > longest

    # -- measuring -------------------------------------------------------------------------------

    def _measure(self, candidates: int) -> Outcome:
        switched, searched = len(self._query.history()), self._query.progress.search_seconds
        batches, adaptive_ms = [], []
        for number, phase in enumerate(self._kind.order):
            batch = self._evaluate(phase)
            answers = self._query.last_answers
            assert answers is not None
            expected = digest_table(answers.table)
            self._wait_for_preparation()
            own = self._orders.get(batch.order)
            if own is None:
                own = self._orders[batch.order] = Order(self._query.plans)
            own.samples[number] = [batch.ms - batch.optimizer_ms]
            for order in self._orders.values():
                ms, table = self._run_after_itself(order)
                order.samples.setdefault(number, []).append(ms)
                if digest_table(table) != expected:
                    raise AnswersDifferError(
                        f"{self._kind.name}, batch {number}: {order.name} answers otherwise "
                        f"than {describe(batch.order)}, which the engine ran"
                    )
            self._repeat(number, own)
            batches.append(batch)
            # The first one is the evaluation itself; the others took turns with other orders.
            turns = own.samples[number][1:]
            own_ms = float(np.median(own.samples[number]))
            adaptive_ms.append(batch.optimizer_ms + own_ms)
            for order in self._orders.values():
                order.taken[number] = (
                    own_ms if order is own else beside(own_ms, turns, order.samples[number])
                )
        orders = {
            order.name: tuple(order.taken[n] for n in range(len(batches)))
            for order in self._orders.values()
            if len(order.taken) == len(batches)
        }
        made = [order.plans.seconds for order in self._orders.values()]
        return Outcome(
            self._kind,
            tuple(batches),
            tuple(adaptive_ms),
            orders,
            candidates,
            len(self._query.history()) - switched,
            float(np.median(made)) * 1e3,
            (self._query.progress.search_seconds - searched) * 1e3,
        )

    def _repeat(self, number: int, own: Order) -> None:
        """Run again, in turn, what the engine ran and what may be the fastest in this batch."""
        orders = list(self._orders.values())
        near = in_reach(order.samples[number][-1] for order in orders)
        for _ in range(1, self._effort.runs):
            for order, again in zip(orders, near, strict=True):
                if again or order is own:
                    order.samples[number].append(self._run_after_itself(order)[0])


def beside(reference_ms: float, reference: list[float], times: list[float]) -> float:
    """What an order takes where another one takes `reference_ms`, from the runs of both in the same turns.

    The machine is not as fast in all turns, but nearly as fast within one: medians of ratios in the same turn vary
    about half as much as ratios of medians. What was run once, as it is out of reach, is taken as it is.

    >>> beside(50.0, [50.0, 75.0, 50.0], [40.0, 60.0, 42.0])
    40.0
    """
    if len(times) == 1:
        return times[0]
    return reference_ms * float(np.median(np.array(times) / np.array(reference)))


def in_reach(times: Iterable[float]) -> list[bool]:
    """Which orders may be the fastest of a batch, from the milliseconds of the first run of each.

    >>> in_reach([50.0, 65.0, 90.0])
    [True, True, False]
    """
    table = np.array(list(times))
    near: list[bool] = (table <= OUT_OF_REACH * table.min()).tolist()
    return near


def hopeful(times: Iterable[list[float]], in_phase: float, in_all: float) -> list[bool]:
    """Which orders are worth measuring, from the milliseconds of each in every phase.

    >>> hopeful([[10.0, 90.0], [80.0, 10.0], [40.0, 40.0], [85.0, 75.0]], 2.0, 1.5)
    [True, True, True, False]
    """
    table = np.array(list(times))
    near = (table <= in_phase * table.min(axis=0)).any(axis=1)
    totals = table.sum(axis=1)
    kept: list[bool] = (near | (totals <= in_all * totals.min())).tolist()
    return kept
