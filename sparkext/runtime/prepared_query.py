"""A query compiled and prepared: what the JVM executes, and how it came about."""

from __future__ import annotations

import json
import time as clock
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from adaptive import Switch
from sparkext.history_plot import Evaluated, plot_history
from sparkext.language.query import Query
from sparkext.r2r.answer_forms import TRIPLE_COLUMNS, answer_form
from sparkext.r2r.datasets import Dataset
from sparkext.runtime import answers_file
from sparkext.runtime.adaptation import Adaptation
from sparkext.runtime.adapted_evaluation import AdaptedEvaluation
from sparkext.runtime.answers import Answers
from sparkext.runtime.call_counts import CallCounts
from sparkext.runtime.cluster_watch import WatchedContents
from sparkext.runtime.delta_plans import DeltaPlans
from sparkext.runtime.engine_room import operators_of
from sparkext.runtime.explanation import Explanation, explain_query
from sparkext.runtime.followed_clusters import followed_clusters, watch_static
from sparkext.runtime.join_orders import CompiledPlans, Orders
from sparkext.runtime.jvm_query import JvmQuery
from sparkext.runtime.query_compiler import QueryCompiler
from sparkext.runtime.window_registry import Merged, QueryWindow, WindowPatterns
from sparkext.s2r.watermark import NEVER

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from static_data.row_edits import TableKey

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
        self._past: tuple[Switch, ...] = ()
        self._timeline: deque[Evaluated] = deque(maxlen=_REMEMBERED)
        try:
            plans = self.compile(())
        except Exception:
            self._patterns.close()
            raise
        # How the orders were chosen that all plans since have for what does not follow the streams.
        self._chosen = plans.choices
        self._running = JvmQuery(self._open(plans), plans, self.calls)
        self._adapted = self._follow()
        # From which instant on the plans are out of date, and plans for instants before that, oldest first.
        self.outdated_at: int | None = None
        self._versions: deque[tuple[int, CompiledPlans, Merged]] = deque()

    # -- plans --------------------------------------------------------------------------------------

    def compile(self, orders: Orders) -> CompiledPlans:
        """Compile and prepare the query, its clusters joined in these orders, or in those that seem best now."""
        return self._compiler.compile(orders)

    def _open(self, plans: CompiledPlans) -> Any:
        room, frames = self._engine.room, plans.frames
        names = [v.name for v in frames.variables]
        extra = len(frames.frame.columns) - len(names)
        columns = names + [f"order {place}" for place in range(extra)]
        operator = self.query.stream_operator
        made = room.query(self.name, plans.jvm, columns, len(names), operator)
        for window in self._window_order:
            made.addWindow(window.window)
        limit = -1 if frames.limit is None else frames.limit
        made.sliced(",".join(map(str, frames.order)), frames.offset, limit)
        if frames.makes_terms or self.query.form == "CONSTRUCT":
            made.setMakesTerms()
        made.setForm(self._form())
        if self._bags:
            made.setBags()
        self._set_delta(made, plans)
        return made

    @staticmethod
    def _set_delta(made: Any, plans: CompiledPlans) -> None:
        if isinstance(plans.delta, DeltaPlans):
            made.setDelta(plans.delta.jvm, plans.delta.stays)

    @property
    def _plans(self) -> CompiledPlans:
        return self._running.plans

    @property
    def _jvm(self) -> Any:
        return self._running.jvm

    @property
    def _adaptation(self) -> Adaptation | None:
        return None if self._adapted is None else self._adapted.adaptation

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

    def _follow(self) -> AdaptedEvaluation | None:
        """Watch the clusters whose order may change; None where there are none."""
        engine = self._engine
        settings = engine.settings
        wanted = settings.enabled and settings.adaptive_enabled and settings.statistics_enabled
        if settings.cluster_join_enabled or not (wanted and self.windows) or self.delta is not None:
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
        return AdaptedEvaluation(
            self.name,
            engine,
            self._running,
            clusters,
            self.compile,
            self.calls,
            closed=lambda: self._closed,
            outdated=lambda: self.outdated,
        )

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
        if self._adapted is not None:
            self._adapted.end()
        self._chosen = plans.choices
        self._running.replace(plans)
        self._set_delta(self._jvm, plans)
        self._patterns.leave_merged(merged)
        self._jvm.setForm(self._form())
        if self._engine.settings.enabled:
            self._jvm.clearStatistics()
            self._adapted = self._follow()

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
            self._running.replace(self.compile(()))
            outcome = json.loads(self._jvm.evaluate("", 1, False))
        elif self.delta is not None:
            outcome = json.loads(self._jvm.evaluateDelta(bounds, instant))
        elif self._adapted is None or self.outdated:
            # Other join orders would be compiled for static data that are not yet those of this instant.
            outcome = self._running.evaluate(bounds)
        else:
            outcome = self._adapted.evaluate(bounds, instant)
        self._running.executed = True
        self.calls.note(outcome)
        seconds = (outcome["run_ns"] + outcome["decode_ns"]) / 1e9
        self._timeline.append(Evaluated(instant, seconds, self._plans.shown))
        return answers_file.take(outcome, self.variables), outcome

    @property
    def preparing(self) -> bool:
        """Whether plans are being made or tried, or decided about, between the evaluations."""
        return self._adapted is not None and self._adapted.preparing

    def run_with(self, plans: CompiledPlans) -> tuple[pa.Table, dict[str, Any]]:
        """Execute other plans of this query once over what the windows hold now; the query's own plan stays."""
        outcome = self._running.run_with(plans)
        return answers_file.take(outcome, self.variables), outcome

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
        """The plans that ran last; others may have been chosen for the next evaluation."""
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
            operators = operators_of(made.jvm) if self._running.executed else []
            choices = list(made.choices)
            if made is self._plans:
                # Plans for given orders do not say why what follows no stream is joined as it is.
                for place, known in enumerate(self._chosen):
                    if choices[place].plan == known.plan:
                        choices[place] = replace(choices[place], optimized=known.optimized)
            prepared: tuple[CompiledPlans, ...] = ()
            taken = {}
            if self._adaptation is not None:
                prepared = self._adaptation.orders.prepared
                for cluster in self._adaptation.clusters:
                    place = cluster.place
                    now = cluster.follower.explained(self._plans.orders[place])
                    choices[place] = replace(choices[place], plan=now.plan, optimized=now)
                    taken[place] = cluster.follower.measured
            tree = made.jvm.planTree()
            counted = self.statistics()
            return explain_query(self, choices, operators, tree, counted, prepared, taken)

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
