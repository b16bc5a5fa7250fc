"""A query compiled and prepared: what the JVM executes, and how it came about."""

from __future__ import annotations

import json
import logging
import math
import time as clock
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from adaptive import Switch
from sparkext.errors import first_line
from sparkext.history_plot import Evaluated, plot_history
from sparkext.language.query import Query
from sparkext.r2r.answer_forms import TRIPLE_COLUMNS, answer_form
from sparkext.r2r.datasets import Dataset
from sparkext.runtime import answers_file
from sparkext.runtime.adaptation import Adaptation
from sparkext.runtime.answers import Answers
from sparkext.runtime.background_task import BackgroundTask
from sparkext.runtime.call_counts import CallCounts
from sparkext.runtime.cluster_watch import WatchedContents
from sparkext.runtime.delta_plans import DeltaPlans
from sparkext.runtime.engine_room import operators_of
from sparkext.runtime.explanation import Explanation, explain_query
from sparkext.runtime.followed_clusters import followed_clusters, watch_static
from sparkext.runtime.join_orders import CompiledPlans, JoinOrders, Orders, Rehearsed
from sparkext.runtime.query_compiler import QueryCompiler
from sparkext.runtime.rehearsal import rehearse
from sparkext.runtime.window_registry import Merged, QueryWindow, WindowPatterns
from sparkext.s2r.watermark import NEVER

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from static_data.row_edits import TableKey

logger = logging.getLogger(__name__)

# Seconds between two runs of a rehearsal.
_PAUSE = 0.001

# Why plans for other static data are others.
_NEW_DATA = "static data have changed"

# Evaluations and switches of a query that are remembered.
_REMEMBERED = 10_000


class PreparedQuery:
    """A query's plans over the engine's relations; `windows` is empty for an ordinary SPARQL query."""

    def __init__(
        self, engine: Engine, name: str, query: Query, windows: Mapping[str, QueryWindow]
    ) -> None:
        self.name = name
        self.query = query
        self.windows = windows
        self._engine = engine
        self._window_order = list(windows.values())
        self._dataset = Dataset(engine.store, query.dataset, engine.room)
        self._bags = engine.settings.duplicates == "bag"
        self.calls = CallCounts(engine.room.call_site, engine.call_prices)
        self._patterns = WindowPatterns(
            engine.room,
            engine.windows,
            windows,
            lambda leaf: engine.relations.table(self._dataset, leaf),
            self._bags,
        )
        self._compiler = QueryCompiler(
            engine, name, query, windows, self._dataset, self._patterns, self.calls
        )
        self._closed = False
        self._between = BackgroundTask(engine.decisions, self._decide_between)
        self._past: tuple[Switch, ...] = ()
        self._timeline: deque[Evaluated] = deque(maxlen=_REMEMBERED)
        try:
            self._plans = self.compile(())
        except Exception:
            self._patterns.close()
            raise
        # How the orders were chosen that all plans since have for what does not follow the streams.
        self._chosen = self._plans.choices
        self._shown_orders = self._plans.shown
        self._plans_told = True
        self._jvm = self._open()
        self._adaptation = self._follow()
        self._executed = False
        self._decision_failed = False
        self._search_ns = 0
        # From which instant on the plans are out of date, and plans for instants before that, oldest first.
        self.outdated_at: int | None = None
        self._versions: deque[tuple[int, CompiledPlans, Merged]] = deque()

    # -- plans --------------------------------------------------------------------------------------

    def compile(self, orders: Orders) -> CompiledPlans:
        """Compile and prepare the query, its clusters joined in these orders, or in those that seem best now."""
        return self._compiler.compile(orders)

    def _open(self) -> Any:
        room, frames = self._engine.room, self._plans.frames
        names = [v.name for v in frames.variables]
        extra = len(frames.frame.columns) - len(names)
        columns = names + [f"order {place}" for place in range(extra)]
        operator = self.query.stream_operator
        made = room.query(self.name, self._plans.jvm, columns, len(names), operator)
        for window in self._window_order:
            made.addWindow(window.window)
        limit = -1 if frames.limit is None else frames.limit
        made.sliced(",".join(map(str, frames.order)), frames.offset, limit)
        if frames.makes_terms or self.query.form == "CONSTRUCT":
            made.setMakesTerms()
        self.calls.tell(made)
        made.setForm(self._form())
        if self._bags:
            made.setBags()
        self._set_delta(made)
        return made

    def _set_delta(self, made: Any) -> None:
        delta = self._plans.delta
        if isinstance(delta, DeltaPlans):
            made.setDelta(delta.jvm, delta.stays)

    @property
    def delta(self) -> DeltaPlans | None:
        """The plans by which instants are evaluated from what arrived; None where each is evaluated as a whole."""
        delta = self._plans.delta
        return delta if isinstance(delta, DeltaPlans) else None

    def _form(self) -> Any:
        engine = self._engine
        return answer_form(
            self.query, engine.room, engine.relations, self._dataset, engine.constant
        )

    def _follow(self) -> Adaptation | None:
        """Watch the clusters whose order may change; None where there are none."""
        engine = self._engine
        settings = engine.settings
        wanted = settings.enabled and settings.adaptive_enabled and settings.statistics_enabled
        if not (wanted and self.windows) or self.delta is not None:
            return None
        contents = WatchedContents(
            self._patterns.content, lambda leaf: engine.relations.table(self._dataset, leaf)
        )
        clusters = followed_clusters(engine, self._plans.choices, contents, self._compiler.learned)
        for cluster in clusters:
            self._jvm.addStatistics(cluster.watch.measures)
            engine.background.submit(watch_static, cluster.watch, self.name)
        if not clusters:
            return None
        orders = JoinOrders(
            self.compile,
            self._rehearse,
            settings.plan_cache_size,
            engine.background,
            lambda: self._closed,
            self._between.ask,
        )
        orders.keep(self._plans)
        return Adaptation(clusters, orders, self._plans, self._use)

    def _rehearse(self, plans: CompiledPlans) -> Rehearsed | None:
        """Run plans until their code is compiled; what a run takes over one of the plans in use, if that is known."""
        with self._engine.lock:
            adaptation, running = self._adaptation, self._plans
            if adaptation is None:
                return None
            states = adaptation.states
            usual = self._timeline[-1].seconds if self._timeline else 0.0

        def run(tried: CompiledPlans, most: float) -> float | None:
            clock.sleep(_PAUSE)  # who waits for the engine comes first
            with self._engine.lock:
                if self._closed or self.outdated or adaptation is not self._adaptation:
                    return None
                # What is measured in one state of the streams says nothing in another.
                if adaptation.states != states or self._plans is not running:
                    return None
                if not adaptation.worth_running(tried.orders):
                    return None
                nanos = self._jvm.rehearse(tried.jvm, tried.slices, round(most * 1e9))
                return nanos / 1e9 if nanos >= 0 else math.inf

        try:
            ratio = rehearse(run, plans, running, usual, compiled=plans.use.runs > 0)
            if ratio not in (None, math.inf) and plans.use.places is None:
                adaptation.find_places(plans)  # here nobody waits for it
        finally:
            with self._engine.lock:
                for ran in (plans, running):
                    if ran is not self._plans and not self._closed:
                        ran.jvm.release()
        return None if ratio is None else Rehearsed(ratio, running.orders, states)

    def _use(self, plans: CompiledPlans) -> None:
        """Run other plans of this query from now on; the JVM is told with the next evaluation."""
        self._plans = plans
        self._plans_told = False
        self._shown_orders = plans.shown
        self.calls.tell(self._jvm)
        self._executed = False

    def static_data_changed(
        self, tables: Collection[TableKey], lookup: Callable[[str], int], time: int = NEVER
    ) -> None:
        """Have the plans made anew before an instant at `time` or later, if the query reads one of the tables."""
        if self._dataset.touched(tables, lookup):
            self.outdated_at = time if self.outdated_at is None else min(time, self.outdated_at)

    def keep_version(self) -> None:
        """Compile for the static data of now: they are about to change before the query has come to the change."""
        if self.outdated_at is not None:
            self._versions.append((self.outdated_at, *self._compile_anew()))
            self.outdated_at = None

    @property
    def outdated(self) -> bool:
        """Whether plans for older static data are still to run."""
        return self.outdated_at is not None or bool(self._versions)

    def refresh(self, instant: int) -> None:
        """Have the plans be those for the static data at an instant."""
        while self._versions and self._versions[0][0] <= instant:
            _, plans, merged = self._versions.popleft()
            self._take_over(plans, merged, instant)
        if self.outdated_at is not None and self.outdated_at <= instant:
            self._leave_versions()
            plans, merged = self._compile_anew()
            self.outdated_at = None
            self._take_over(plans, merged, instant)

    def _compile_anew(self) -> tuple[CompiledPlans, Merged]:
        """Plans for the static data of now, and what the plans before them merge with windows."""
        merged = self._patterns.set_merged_aside()
        self._dataset.let_go()  # what the plans hold stays with them
        try:
            return self.compile(()), merged
        except Exception:
            self._patterns.leave_merged(merged)
            raise

    def _leave_versions(self) -> None:
        for _, _, merged in self._versions:
            self._patterns.leave_merged(merged)
        self._versions.clear()

    def _take_over(self, plans: CompiledPlans, merged: Merged, instant: int) -> None:
        self._past = (*self.history(), *self._changed_with_data(plans, instant))[-_REMEMBERED:]
        self._plans, self._chosen = plans, plans.choices
        self._jvm.replacePlans(plans.jvm)
        self._plans_told, self._shown_orders = True, plans.shown
        self.calls.tell(self._jvm)
        self._set_delta(self._jvm)
        self._patterns.leave_merged(merged)
        self._jvm.setForm(self._form())
        self._executed = False
        if self._engine.settings.enabled:
            self._jvm.clearStatistics()
            self._adaptation = self._follow()

    def _changed_with_data(self, plans: CompiledPlans, instant: int) -> list[Switch]:
        """The joins that go another way in plans for new static data; costs are those expected when each was chosen."""
        if not self._timeline:
            return []
        time = max(instant, self._timeline[-1].time)
        both = zip(self._plans.choices, plans.choices, strict=False)
        return [
            Switch(time, old.plan, new.plan, old.plan.cost, new.plan.cost, _NEW_DATA)
            for old, new in both
            if old.search and new.search and old.plan != new.plan
        ]

    # -- evaluation ---------------------------------------------------------------------------------

    def run(self, bounds: str, instant: int = 0) -> tuple[pa.Table, dict[str, Any]]:
        """Execute with the windows moved to `bounds`: the answers, and what is known of the evaluation's times."""
        self.refresh(instant)
        if self._plans.frames.reads_clock:
            self._jvm.setInstant(instant if self.windows else clock.time_ns() // 1_000_000)
        if not self._engine.settings.enabled:
            self._jvm.moveWindows(bounds)
            self._plans = self.compile(())
            self._jvm.replacePlans(self._plans.jvm)
            outcome = json.loads(self._jvm.evaluate("", 1, False))
        elif self.delta is not None:
            outcome = json.loads(self._jvm.evaluateDelta(bounds, instant))
        elif self._adaptation is None or self.outdated:
            # Other join orders would be compiled for static data that are not yet those of this instant.
            outcome = self._evaluate(bounds)
        else:
            outcome = self._run_adapted(self._adaptation, bounds, instant)
        self._executed = True
        self.calls.note(outcome)
        seconds = (outcome["run_ns"] + outcome["decode_ns"]) / 1e9
        self._timeline.append(Evaluated(instant, seconds, self._shown_orders))
        return answers_file.take(outcome, self.variables), outcome

    def _run_adapted(self, adaptation: Adaptation, bounds: str, instant: int) -> dict[str, Any]:
        spent, told = 0.0, None
        if adaptation.overdue:
            # One decision, with the news if there are some.
            told = json.loads(self._jvm.news(bounds))
        else:
            outcome = self._evaluate(bounds, ask=True)
            if "news" in outcome:
                told = outcome
        if told is not None:
            started = clock.perf_counter()
            self._attempt(partial(adaptation.before, told["news"], instant), instant)
            spent = clock.perf_counter() - started
            outcome = self._evaluate("")
            outcome["window_ns"] += told["window_ns"]
            outcome["statistics_ns"] += told["statistics_ns"]
        started = clock.perf_counter()
        counted = partial(self.calls.filters, outcome)
        seconds = outcome["run_ns"] / 1e9
        self._attempt(partial(adaptation.after, self._plans.jvm, seconds, counted), instant)
        spent += clock.perf_counter() - started
        outcome["optimizer_ns"] = outcome["statistics_ns"] + round(spent * 1e9)
        outcome["search_ns"], self._search_ns = self._search_ns, 0
        if adaptation.busy:
            self._between.ask()
        return outcome

    def _decide_between(self) -> None:
        """Decide what is to be decided between two evaluations, as the next one should not."""
        with self._engine.lock:
            adaptation = self._adaptation
            if adaptation is None or self._closed or self.outdated:
                return
            started = clock.perf_counter()
            instant = self._timeline[-1].time if self._timeline else 0
            self._attempt(partial(adaptation.between, instant), instant)
            self._search_ns += round((clock.perf_counter() - started) * 1e9)

    @property
    def preparing(self) -> bool:
        """Whether plans are being made or tried, or decided about, between the evaluations."""
        adaptation = self._adaptation
        if adaptation is None:
            return False
        # Each asks for the other before it ends: what was not under way at first may be by then.
        orders = adaptation.orders
        return orders.pending > 0 or self._between.pending or orders.pending > 0

    def _attempt(self, decision: Callable[[], None], instant: int) -> None:
        """Do what only decides which plan runs: the one that does gives the answers, whatever fails here."""
        try:
            decision()
        except Exception as error:
            # It may fail at each instant: its traceback is told once.
            said, first = first_line(error), not self._decision_failed
            told = "%s: a decision on its plan failed at %d ms: %s"
            level = logging.ERROR if first else logging.WARNING
            logger.log(level, told, self.name, instant, said, exc_info=first)
            self._decision_failed = True

    def _evaluate(self, bounds: str, ask: bool = False) -> dict[str, Any]:
        """Have the JVM evaluate by the plans in use; with `ask`, news of the statistics come first."""
        slices = self._plans.slices
        if self._plans_told:
            told = self._jvm.evaluate(bounds, slices, ask)
        else:
            told = self._jvm.evaluateWith(self._plans.jvm, bounds, slices, ask)
            self._plans_told = True
        outcome: dict[str, Any] = json.loads(told)
        return outcome

    def run_with(self, plans: CompiledPlans) -> tuple[pa.Table, dict[str, Any]]:
        """Execute other plans of this query once over what the windows hold now; the query's own plan stays."""
        self._jvm.replacePlans(plans.jvm)
        try:
            outcome = json.loads(self._jvm.evaluate("", plans.slices, False))
            return answers_file.take(outcome, self.variables), outcome
        finally:
            self._plans_told = False

    def answer(self) -> Answers:
        """Run an ordinary query, one without windows."""
        started = clock.perf_counter()
        with self._engine.lock:
            table, _ = self.run("")
        seconds = clock.perf_counter() - started
        return self.answers(0, table, seconds)

    def answers(self, instant: int, table: pa.Table, seconds: float) -> Answers:
        """The answers of an evaluation, in the query's form."""
        form = self.query.form
        return Answers(self.name, instant, self.variables, table, self.ordered, seconds, form)

    def plot_history(self, path: str | Path) -> None:
        """Draw the evaluations so far (the last 10,000), coloured by join order, and the switches; needs matplotlib."""
        plot_history(tuple(self._timeline), self.history(), path, self.name)

    @property
    def plans(self) -> CompiledPlans:
        """The plans that run now."""
        with self._engine.lock:
            self.refresh(NEVER)
            return self._plans

    def history(self) -> tuple[Switch, ...]:
        """Every change of a join order: when (the instant, in milliseconds), from and to what, and what caused it."""
        return self._past + (() if self._adaptation is None else self._adaptation.history)

    @property
    def variables(self) -> tuple[str, ...]:
        """The answered variables, in order; for CONSTRUCT and DESCRIBE subject, predicate, object."""
        if self.query.form in ("CONSTRUCT", "DESCRIBE"):
            return TRIPLE_COLUMNS
        return tuple(v.name for v in self._plans.frames.variables)

    @property
    def ordered(self) -> bool:
        """Whether the answers come in an order that the query asks for."""
        return bool(self._plans.frames.order) and self.query.form == "SELECT"

    def explain(self) -> Explanation:
        """The plan with its reasons, estimates, and the row counts of the last evaluation."""
        with self._engine.lock:
            self.refresh(NEVER)
            made: CompiledPlans | DeltaPlans = self.delta or self._plans
            operators = operators_of(made.jvm) if self._executed else []
            choices = list(made.choices)
            if made is self._plans:
                # Plans for given orders do not say why what follows no stream is joined as it is.
                for place, known in enumerate(self._chosen):
                    if choices[place].plan == known.plan:
                        choices[place] = replace(choices[place], optimized=known.optimized)
            prepared: tuple[CompiledPlans, ...] = ()
            if self._adaptation is not None:
                prepared = self._adaptation.orders.prepared
                for cluster in self._adaptation.clusters:
                    now = cluster.follower.explained()
                    place = cluster.place
                    choices[place] = replace(choices[place], plan=now.plan, optimized=now)
            tree = made.jvm.planTree()
            return explain_query(self, choices, operators, tree, self.statistics(), prepared)

    def statistics(self) -> list[dict[str, Any]]:
        """What the windows count now of the join columns: card, different values, the most frequent ones."""
        if self._adaptation is None:
            return []
        with self._engine.lock:
            text = self._engine.store.dictionary.text
            watches = [cluster.watch for cluster in self._adaptation.clusters]
            return [row for watch in watches for row in watch.describe(text)]

    @property
    def execution(self) -> str:
        """Where evaluations run, and why."""
        if not self._engine.settings.enabled:
            return "stock Spark (spark.cqels.enabled=false)"
        if self.delta is not None:
            return "driver"
        place = self._plans.place
        where = f"Spark job of {place.slices} slices" if place.slices else "driver"
        return where + (f" ({place.why})" if place.why else "")

    @property
    def evaluation(self) -> str:
        """Whether instants are evaluated from what arrived ("delta evaluation"), or as a whole, and why."""
        delta = self._plans.delta
        return f"full evaluation: {delta}" if isinstance(delta, str) else "delta evaluation"

    def close(self) -> None:
        """Give back what the query holds."""
        self._closed = True
        self._jvm.close()
        self._dataset.close()
        self._leave_versions()
        self._patterns.close()
