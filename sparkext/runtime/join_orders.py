"""The plans of one query by their join orders: kept while they are used, made in the background while others serve."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from adaptive import OperatorCounts, PlanNode
from adaptive.recent import Recent
from sparkext.history_plot import orders_of
from sparkext.r2r.cluster_plans import ClusterChoice, largest_step
from sparkext.r2r.query_plans import QueryFrames
from sparkext.runtime.delta_plans import DeltaPlans
from sparkext.runtime.execution_place import Place, PlaceRule

logger = logging.getLogger(__name__)

Orders = tuple[PlanNode, ...]
"""The plan of each join cluster of a query, in the order in which clusters are compiled."""


@dataclass(frozen=True)
class Rehearsed:
    """A run of plans takes so many times as long as one of the plans that run, in these states of the streams.

    `counted` are the rows that the joins of each cluster, by number, had in the last of these runs, if it ended; there
    had been so much `news` of the statistics of each.
    """

    times_as_long: float
    running: Orders
    states: tuple[int, ...]
    counted: Mapping[int, Sequence[OperatorCounts]] = field(default_factory=dict)
    news: tuple[int, ...] = ()


Ready = Callable[["CompiledPlans", float, "Rehearsed | None"], None]
"""Told of plans that are ready: the seconds that making them took now, and what their rehearsal gave, if it ended."""

CountedJoins = dict[tuple[int, frozenset[str]], tuple[int, int]]
"""Where rows are counted: cluster and relations of a join -> numbers of the plan and the operator."""


# Rows are read at the first runs of plans, at the first one in each state of the streams, and at every so many of all.
FIRST_COUNTED = 3
COUNTED_EVERY = 8

# States in which it is known how often plans ran.
_STATES = 32


@dataclass
class PlansInUse:
    """What stays known of plans while others run: how often and where they ran, and where they count rows."""

    runs: int = 0
    uncounted: int = 0
    """Runs since rows were read."""
    places: dict[tuple[int, ...], CountedJoins] = field(default_factory=dict)
    """By the numbers of operators of each plan: as a job they may have some that they have not on the driver."""
    place: Place | None = None
    """Where they run; None before that was asked for."""
    _runs_in: Recent[tuple[int, ...], int] = field(default_factory=lambda: Recent(_STATES))

    def ran(self, up_to_date: bool, states: tuple[int, ...] = ()) -> bool:
        """One more run, in these states of the streams: whether its rows are to be read.

        They are compared with what is expected; where that is not `up_to_date` and would have to be computed for it,
        they wait twice as long. What they correct belongs to the states.

        >>> use = PlansInUse()
        >>> [run for run in range(1, 41) if use.ran(up_to_date=run < 20)]
        [1, 2, 3, 11, 19, 35]
        >>> [run for run in range(1, 9) if use.ran(True, (run % 3,))]
        [1, 2, 3]
        """
        self.runs += 1
        self.uncounted += 1
        there = self._runs_in.keep(states, self._runs_in.get(states, 0) + 1)
        longest = COUNTED_EVERY if up_to_date else 2 * COUNTED_EVERY
        if self.runs > FIRST_COUNTED and there > 1 and self.uncounted < longest:
            return False
        self.uncounted = 0
        return True


@dataclass(frozen=True)
class CompiledPlans:
    """A query compiled for some join orders; `jvm` holds its plans, `seconds` is what making them took.

    `rule` decides where they run; with `delta` plans, instants are evaluated by these, on the driver; else it says why
    not.
    """

    orders: Orders
    frames: QueryFrames
    choices: tuple[ClusterChoice, ...]
    jvm: Any
    seconds: float
    rule: PlaceRule
    delta: DeltaPlans | str = ""
    use: PlansInUse = field(default_factory=PlansInUse, compare=False)

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The orders in one line each."""
        return orders_of(self.orders)

    @property
    def place(self) -> Place:
        """Where the plans run: as rows were counted last, and before that as they were expected."""
        if self.use.place is None:
            self.use.place = self.place_for({}, {})
        return self.use.place

    def place_for(
        self, rows: Mapping[int, Mapping[frozenset[str], float]], costs: Mapping[int, float]
    ) -> Place:
        """Where plans run whose clusters, by number, compute so many rows and cost so many microseconds.

        Of clusters that are not told, what was expected counts.
        """
        clusters = list(enumerate(self.choices))
        largest = max((largest_step(c.plan, rows.get(n)) for n, c in clusters), default=0.0)
        return self.rule.place(largest, sum(costs.get(n, c.plan.cost) for n, c in clusters))

    @property
    def slices(self) -> int:
        """0 for plans that run on the driver, else the number of slices of a Spark job."""
        return self.place.slices


class JoinOrders:
    """Of more than `size` plans those that never ran go, then the least recently used; one is made at a time.

    `rehearse` runs plans beside the evaluations, and gives what a run takes over one of the running plans, if it can;
    of plans that are prepared for a query that has been `closed`, nobody is told. `told` is called when somebody was.
    """

    def __init__(
        self,
        make: Callable[[Orders], CompiledPlans],
        rehearse: Callable[[CompiledPlans], Rehearsed | None],
        size: int,
        background: Executor,
        closed: Callable[[], bool] = lambda: False,
        told: Callable[[], None] = lambda: None,
    ) -> None:
        self._make = make
        self._rehearse = rehearse
        self._size = size
        self._background = background
        self._closed = closed
        self._told = told
        self._plans: OrderedDict[Orders, CompiledPlans] = OrderedDict()
        self._refused: set[Orders] = set()
        self._pending: set[Orders] = set()
        self._telling = 0
        self._lock = threading.Lock()

    def take(self, orders: Orders) -> CompiledPlans | None:
        """Plans that are ready; they count as used now."""
        with self._lock:
            plans = self._plans.get(orders)
            if plans is not None:
                self._plans.move_to_end(orders)
            return plans

    @property
    def prepared(self) -> tuple[CompiledPlans, ...]:
        """All plans that are ready, the one used last standing last."""
        with self._lock:
            return tuple(self._plans.values())

    def keep(self, plans: CompiledPlans) -> None:
        """Put plans among those that are ready; what was made to be tried goes first, then the least recently used."""
        with self._lock:
            self._plans[plans.orders] = plans
            self._plans.move_to_end(plans.orders)
            old = [one for one in self._plans.values() if one is not plans]
            old.sort(key=lambda one: one.use.runs > 0)
            for one in old[: max(0, len(self._plans) - self._size)]:
                del self._plans[one.orders]

    def prepare(self, orders: Orders, ready: Ready, failed: Callable[[Orders], None]) -> None:
        """Make plans in the background unless that is under way, and rehearse them; `ready` is told there, or `failed`.

        What is there already is rehearsed again. What could not be made is not tried again: `failed` is told at once.
        """
        with self._lock:
            if orders in self._pending:
                return
            refused = orders in self._refused
            if not refused:
                self._pending.add(orders)
        if refused:
            failed(orders)
        else:
            self._background.submit(self._prepare, orders, ready, failed)

    def _prepare(self, orders: Orders, ready: Ready, failed: Callable[[Orders], None]) -> None:
        news: Callable[[], None] | None = None
        try:
            news = self._outcome(orders, ready, failed)
        finally:
            with self._lock:
                # Who is told may ask for the same plans at once, in another thread.
                self._pending.discard(orders)
                self._telling += 1
        try:
            if news is not None:
                news()
                self._told()
        finally:
            with self._lock:
                self._telling -= 1

    def _outcome(
        self, orders: Orders, ready: Ready, failed: Callable[[Orders], None]
    ) -> Callable[[], None] | None:
        """Make and rehearse plans: whom to tell what, if anybody."""
        try:
            if self._closed():
                return None
            plans, seconds = self.take(orders), 0.0
            if plans is None:
                plans = self._make(orders)
                self.keep(plans)
                seconds = plans.seconds
            rehearsed = self._rehearse(plans)
        except Exception:  # The old plan goes on serving.
            if self._closed():
                return None
            logger.exception("a plan could not be prepared")
            with self._lock:
                self._refused.add(orders)
                self._plans.pop(orders, None)
            return partial(failed, orders)
        return partial(ready, plans, seconds, rehearsed)

    @property
    def pending(self) -> int:
        """How many plans are being made, or rehearsed, or are ready and somebody is being told."""
        with self._lock:
            return len(self._pending) + self._telling
