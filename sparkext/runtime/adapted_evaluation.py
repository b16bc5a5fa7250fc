"""Evaluates a query by plans that follow its streams; decides about them, and tries others, between the evaluations."""

from __future__ import annotations

import json
import logging
import math
import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from adaptive import OperatorCounts
from sparkext.errors import first_line
from sparkext.runtime.adaptation import Adaptation
from sparkext.runtime.background_task import BackgroundTask
from sparkext.runtime.call_counts import CallCounts
from sparkext.runtime.followed_clusters import FollowedCluster
from sparkext.runtime.join_orders import CompiledPlans, JoinOrders, Orders, Rehearsed
from sparkext.runtime.jvm_query import JvmQuery
from sparkext.runtime.rehearsal import rehearse

if TYPE_CHECKING:
    from sparkext.engine import Engine

logger = logging.getLogger(__name__)

# Seconds between two runs of a rehearsal.
_PAUSE = 0.001


class AdaptedEvaluation:
    """The evaluations of one query for the static data of one time; `end` is to be called when these change.

    `make` compiles plans. While the query is `closed`, or plans for older static data are still to run (`outdated`),
    nothing is decided or tried.
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        running: JvmQuery,
        clusters: Sequence[FollowedCluster],
        make: Callable[[Orders], CompiledPlans],
        calls: CallCounts,
        closed: Callable[[], bool],
        outdated: Callable[[], bool],
    ) -> None:
        self._name = name
        self._lock = engine.lock
        self._running = running
        self._calls = calls
        self._closed = closed
        self._outdated = outdated
        self._ended = False
        self._between = BackgroundTask(engine.decisions, self._decide_between)
        size = engine.settings.plan_cache_size
        orders = JoinOrders(
            make, self._rehearse, size, engine.background, closed, self._between.ask
        )
        orders.keep(running.plans)
        self.adaptation = Adaptation(clusters, orders, running.plans, running.use)
        self._instant = 0
        self._seconds = 0.0
        self._search_ns = 0
        self._decision_failed = False

    def end(self) -> None:
        """Decide and try nothing any more."""
        self._ended = True

    def evaluate(self, bounds: str, instant: int) -> dict[str, Any]:
        """Evaluate at an instant, the windows moved to `bounds`: what the JVM tells, and how long deciding took."""
        adaptation, running = self.adaptation, self._running
        spent, told = 0.0, None
        if adaptation.overdue:
            # One decision, with the news if there are some.
            told = json.loads(running.jvm.news(bounds))
        else:
            outcome = running.evaluate(bounds, ask=True)
            if "news" in outcome:
                told = outcome
        if told is not None:
            started = clock.perf_counter()
            self._attempt(partial(adaptation.before, told["news"], instant), instant)
            spent = clock.perf_counter() - started
            outcome = running.evaluate("")
            outcome["window_ns"] += told["window_ns"]
            outcome["statistics_ns"] += told["statistics_ns"]
        started = clock.perf_counter()
        filters = partial(self._calls.filters, outcome)
        seconds = outcome["run_ns"] / 1e9
        self._attempt(partial(adaptation.after, seconds, filters), instant)
        spent += clock.perf_counter() - started
        outcome["optimizer_ns"] = outcome["statistics_ns"] + round(spent * 1e9)
        outcome["search_ns"], self._search_ns = self._search_ns, 0
        self._instant, self._seconds = instant, seconds + outcome["decode_ns"] / 1e9
        if adaptation.busy:
            self._between.ask()
        return outcome

    @property
    def preparing(self) -> bool:
        """Whether plans are being made or tried, or decided about, between the evaluations."""
        # Each asks for the other before it ends: what was not under way at first may be by then.
        orders = self.adaptation.orders
        return orders.pending > 0 or self._between.pending or orders.pending > 0

    def _idle(self) -> bool:
        return self._ended or self._closed() or self._outdated()

    def _decide_between(self) -> None:
        """Decide what is to be decided between two evaluations, as the next one should not."""
        with self._lock:
            if self._idle():
                return
            started = clock.perf_counter()
            done = self._attempt(partial(self.adaptation.between, self._instant), self._instant)
            self._search_ns += round((clock.perf_counter() - started) * 1e9)
        if done and self.adaptation.looking:
            self._between.ask()  # one at a time: an evaluation that comes meanwhile waits for no more

    def _attempt(self, decision: Callable[[], None], instant: int) -> bool:
        """Do what only decides which plan runs: the one that does gives the answers, whatever fails here."""
        try:
            decision()
            return True
        except Exception as error:
            # It may fail at each instant: its traceback is told once.
            said, first = first_line(error), not self._decision_failed
            told = "%s: a decision on its plan failed at %d ms: %s"
            level = logging.ERROR if first else logging.WARNING
            logger.log(level, told, self._name, instant, said, exc_info=first)
            self._decision_failed = True
            return False

    def _rehearse(self, plans: CompiledPlans) -> Rehearsed | None:
        """Run plans until their code is compiled; what a run takes over one of the plans in use, if that is known."""
        adaptation = self.adaptation
        with self._lock:
            running, states, usual = self._running.coming, adaptation.states, self._seconds
            last, news = math.inf, adaptation.news
        counted: Mapping[int, Sequence[OperatorCounts]] = {}

        def run(tried: CompiledPlans, most: float) -> float | None:
            nonlocal last, news
            clock.sleep(_PAUSE)  # who waits for the engine comes first
            with self._lock:
                if self._idle():
                    return None
                # What is measured in one state of the streams says nothing in another.
                if adaptation.states != states or self._running.coming is not running:
                    return None
                if not adaptation.worth_running(tried.orders):
                    return None
                took = self._running.rehearse(tried, most)
                if tried is plans:
                    last, news = took, adaptation.news
                return took

        try:
            ratio = rehearse(run, plans, running, usual, compiled=plans.use.runs > 0)
            if ratio is not None and last < math.inf:
                if not plans.use.places:
                    adaptation.find_places(plans)  # here nobody waits for it
                with self._lock:
                    if not self._idle() and self._running.coming is running:
                        counted = adaptation.counted(plans)
        finally:
            with self._lock:
                if not self._closed():
                    self._running.release(plans, running)
        return None if ratio is None else Rehearsed(ratio, running.orders, states, counted, news)
