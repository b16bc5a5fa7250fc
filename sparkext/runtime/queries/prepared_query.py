"""A query compiled and prepared: what the JVM executes, and how it came about."""

from __future__ import annotations

import json
import time as clock
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.errors import IllegalArgumentException

from sparkext.argument_checks import check
from sparkext.bridge.engine_room import operators_of
from sparkext.errors import CqelsError, StoppedQueryError, failures_told
from sparkext.language.query import Query
from sparkext.r2r.answer_forms import TRIPLE_COLUMNS, answer_form
from sparkext.r2r.relations.datasets import Dataset
from sparkext.runtime.answering import answers_file
from sparkext.runtime.answering.answers import Answers
from sparkext.runtime.explaining.explanation import Explanation, explain_query
from sparkext.runtime.explaining.history_plot import Evaluated, plot_history
from sparkext.runtime.explaining.order_history import REMEMBERED, OrderHistory, Switch
from sparkext.runtime.parts.call_counts import CallCounts
from sparkext.runtime.parts.held_interrupts import whole
from sparkext.runtime.queries.compiled_plans import CompiledPlans, Orders
from sparkext.runtime.queries.delta_plans import DeltaPlans
from sparkext.runtime.queries.jvm_query import JvmQuery, set_limits, telling_limits
from sparkext.runtime.queries.query_compiler import QueryCompiler
from sparkext.runtime.queries.template_instances import TemplateInstances
from sparkext.runtime.queries.window_registry import (
    Merged,
    QueryWindow,
    WindowPatterns,
    WindowRegistry,
)
from sparkext.runtime.queries.window_statistics import window_statistics
from sparkext.s2r.watermark import NEVER

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts
    from static_data.storage.row_edits import TableKey


class PreparedQuery:
    """A query's plans over the engine's relations; `windows` is empty for an ordinary SPARQL query."""

    def __init__(
        self,
        parts: EngineParts,
        registry: WindowRegistry,
        name: str,
        query: Query,
        windows: Mapping[str, QueryWindow],
        instances: TemplateInstances | None = None,
    ) -> None:
        self.name = name
        self.query = query
        self.windows = windows
        self._parts = parts
        self._window_order = list(windows.values())
        self._dataset = Dataset(parts.store, query.dataset, parts.room)
        self._bags = parts.settings.duplicates == "bag"
        self.calls = CallCounts(parts.room.call_site, parts.call_costs)
        self._patterns = WindowPatterns(
            parts.room,
            registry,
            windows,
            lambda leaf: parts.relations.table(self._dataset, leaf),
            self._bags,
        )
        self._instances = instances
        self._compiler = QueryCompiler(
            parts, name, query, windows, self._dataset, self._patterns, self.calls, instances
        )
        self._history = OrderHistory()
        self._timeline: deque[Evaluated] = deque(maxlen=REMEMBERED)
        try:
            plans = self.compile(())
        except Exception:
            self._patterns.close()
            raise
        self._running = JvmQuery(self._open(plans), plans, self.calls)
        # From which instant on the plans are out of date, and plans for instants before that, oldest first.
        self.outdated_at: int | None = None
        self._versions: deque[tuple[int, CompiledPlans, Merged]] = deque()

    # -- plans --------------------------------------------------------------------------------------

    def compile(self, orders: Orders, matches: Sequence[Any] | None = None) -> CompiledPlans:
        """Compile and prepare the query, its clusters joined in these orders, or in those that seem best now."""
        return self._compiler.compile(orders, matches)

    def _open(self, plans: CompiledPlans) -> Any:
        room, frames = self._parts.room, plans.frames
        names = [v.name for v in frames.variables]
        extra = len(frames.frame.columns) - len(names)
        columns = names + [f"order {place}" for place in range(extra)]
        operator = self.query.stream_operator
        made = room.query(self.name, plans.jvm, columns, len(names), operator)
        for window in self._window_order:
            made.addWindow(window.window)
        limit = -1 if frames.limit is None else frames.limit
        made.sliced(",".join(map(str, frames.order)), frames.offset, limit)
        made_by_matches = self._compiler.matches.makes_terms
        if frames.makes_terms or made_by_matches or self.query.form == "CONSTRUCT":
            made.setMakesTerms()
        made.setForm(self._form())
        if self._instances is not None:
            made.setInstances(self._instances.jvm)
        if plans.matches:
            made.setMatches(list(plans.matches))
        if self._bags:
            made.setBags()
        set_limits(made, self._parts.settings)
        self._set_delta(made, plans)
        made.setStars(self._patterns.stars)
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
    def delta(self) -> DeltaPlans | None:
        """The plans by which instants are evaluated from what arrived; None where each is evaluated as a whole."""
        delta = self._plans.delta
        return delta if isinstance(delta, DeltaPlans) else None

    def _form(self) -> Any:
        parts = self._parts
        return answer_form(self.query, parts.room, parts.relations, self._dataset, parts.constant)

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
            self._take_over(plans, merged)
        if self.outdated_at is not None and self.outdated_at <= instant:
            self._leave_versions()
            plans, merged = self._compile_anew()
            self.outdated_at = None
            self._take_over(plans, merged)

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

    def _take_over(self, plans: CompiledPlans, merged: Merged) -> None:
        self._running.replace(plans)
        self._set_delta(self._jvm, plans)
        self._jvm.setStars(self._patterns.stars)
        self._patterns.leave_merged(merged)
        self._jvm.setForm(self._form())
        if plans.frames.makes_terms:
            self._jvm.setMakesTerms()

    def _leave_stars(self) -> None:
        """Have patterns with one subject be joined from now on: it has several of their triples each, again and again.

        Where plans for older static data are still to run, these go on as they are, however many rows there are.
        """
        if self.outdated:
            for star in self._patterns.stars:
                star.keepAll()
            return
        self._compiler.refuse_stars()
        plans, merged = self._compile_anew()
        self._patterns.leave_stars()
        self._take_over(plans, merged)

    def refreshes(self, instant: int) -> bool:
        """Whether `refresh` would take other plans: static data that the query reads differ at that instant."""
        changes = [time for time, _, _ in self._versions]
        if self.outdated_at is not None:
            changes.append(self.outdated_at)
        return bool(changes) and min(changes) <= instant

    @property
    def repeatable(self) -> bool:
        """Whether evaluations of the same content answer the same, wherever and whenever they take place."""
        return not (self._plans.frames.volatile or self._compiler.matches.consume)

    @property
    def stands_alone(self) -> bool:
        """Whether an evaluation concerns no other query's: it remembers nothing, makes no terms and counts no calls."""
        plans, frames = self._plans, self._plans.frames
        matches = self._compiler.matches
        return (
            self._parts.settings.enabled
            and self.query.stream_operator == "RSTREAM"
            and self.query.form in ("SELECT", "ASK")
            and self.delta is None
            and not (frames.makes_terms or frames.reads_clock or frames.volatile)
            and not (plans.matches or matches.makes_terms or self.calls.sites.all)
            and not self._patterns.stars
            and plans.slices == 0
        )

    # -- evaluation ---------------------------------------------------------------------------------

    @telling_limits
    def run(self, bounds: str, instant: int = 0) -> tuple[pa.Table, dict[str, Any]]:
        """Execute with the windows moved to `bounds`: the answers, and what is known of the evaluation's times."""
        self.refresh(instant)
        if self._plans.frames.reads_clock:
            self._jvm.setInstant(instant if self.windows else clock.time_ns() // 1_000_000)
        if not self._parts.settings.enabled:
            self._jvm.moveWindows(bounds)
            self._jvm.advanceMatches()  # what Spark plans below is a copy of what they have found
            self._running.replace(self.compile((), self._plans.matches))
            outcome = json.loads(self._jvm.evaluate("", 1))
        elif self.delta is not None:
            outcome = json.loads(self._jvm.evaluateDelta(bounds, instant))
        else:
            outcome = self._running.evaluate(bounds)
            if "crowded" in outcome:
                self._leave_stars()
                outcome = self._running.evaluate(bounds)
        self._running.executed = True
        self.calls.note(outcome)
        seconds = (outcome["run_ns"] + outcome["decode_ns"]) / 1e9
        self._history.note(outcome, instant)
        self._timeline.append(Evaluated(instant, seconds, self._history.orders))
        return answers_file.take(outcome, self.variables), outcome

    def pin_order(self, order: Sequence[str] | None, cluster: int = 0) -> None:
        """Join a cluster in an order that it took before, as `history()` or `explain()` have it; None: the cheapest.

        Clusters are numbered as `explain()` shows them. Those of a delta evaluation begin with what has arrived. Raises
        CqelsError for what is no such cluster or no order of it.
        """
        if isinstance(order, str | bytes) or not (order is None or isinstance(order, Sequence)):
            raise check.wrong("order", "a list of names, or None", order)
        check.whole("cluster", cluster)
        with self._parts.in_use():
            choices = self._running.choices
            if not 0 <= cluster < len(choices):
                raise check.wrong("cluster", "the number of a join cluster", cluster)
            if isinstance(order, Sequence) and not order:
                raise check.wrong("order", "a list of names, or None", order)
            if choices[cluster].order is None:
                raise CqelsError(
                    f"{self.name}: cluster {cluster} joins nothing whose order is data"
                )
            names = None if order is None else [check.text("order", name) for name in order]
            try:
                self._running.pin(cluster, names)
            except IllegalArgumentException as error:
                raise CqelsError(f"{self.name}, cluster {cluster}: order: {error}") from error

    def answer(self) -> Answers:
        """Run an ordinary query, one without windows."""
        started = clock.perf_counter()
        with self._parts.in_use(), failures_told(), whole:
            table, _ = self.run("")
        seconds = clock.perf_counter() - started
        return self.answers(0, table, seconds)

    def answers(self, instant: int, table: pa.Table, seconds: float, sequence: int = 0) -> Answers:
        """The answers of an evaluation, in the query's form."""
        form = self.query.form
        given = (self.name, instant, self.variables, table, self.ordered, seconds, form)
        return Answers(*given, sequence)

    def plot_history(self, path: str | Path) -> None:
        """Draw the evaluations so far (the last 10,000), coloured by join order, and the switches; needs matplotlib."""
        check.path("path", path)
        plot_history(self.timeline, self.history(), path, self.name)

    @property
    def plans(self) -> CompiledPlans:
        """The plans that ran last; others may have been chosen for the next evaluation."""
        with self._parts.lock:
            self.refresh(NEVER)
            return self._plans

    def matches(self) -> list[dict[str, Any]]:
        """What each MATCH of the query looks for, and what it keeps now: event mappings, matches, bytes."""
        with self._parts.lock:
            return self._compiler.matches.describe()

    def history(self) -> tuple[Switch, ...]:
        """Every change of a join order: when (the instant, in milliseconds), from and to what, and what caused it."""
        return self._history.switches

    @property
    def timeline(self) -> tuple[Evaluated, ...]:
        """The evaluations so far, the last 10,000 of them: instants, seconds, orders."""
        return tuple(self._timeline)

    @property
    def orders(self) -> tuple[str, ...]:
        """The order in which each cluster was joined last, in one line."""
        return self._history.orders

    @property
    def variables(self) -> tuple[str, ...]:
        """The answered variables, in order; for CONSTRUCT and DESCRIBE subject, predicate, object."""
        if self.query.form in ("CONSTRUCT", "DESCRIBE"):
            return TRIPLE_COLUMNS
        return tuple(v.name for v in self._plans.frames.variables[: len(self.query.answered)])

    @property
    def ordered(self) -> bool:
        """Whether the answers come in an order that the query asks for."""
        return bool(self._plans.frames.order) and self.query.form == "SELECT"

    def explain(self) -> Explanation:
        """The plan with its reasons, estimates, and the row counts of the last evaluation."""
        with self._parts.lock:
            self.refresh(NEVER)
            made: CompiledPlans | DeltaPlans = self.delta or self._plans
            operators = []
            if self._running.executed:
                plans = (made.jvm, *self._plans.matches)
                operators = [operator for plan in plans for operator in operators_of(plan)]
            tree = made.jvm.planTree()
            return explain_query(self, made.choices, operators, tree, self.statistics())

    def statistics(self) -> list[dict[str, Any]]:
        """What the windows hold now in the join columns: card, different values, the most frequent ones.

        Nothing where the query has been stopped: its windows are gone.
        """
        with self._parts.lock:
            text = self._parts.store.dictionary.text
            try:
                return window_statistics(self._plans.choices, self._patterns.content, text)
            except StoppedQueryError:
                return []

    @property
    def execution(self) -> str:
        """Where evaluations run, and why."""
        if not self._parts.settings.enabled:
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
        self._running.forget_expected()
        self._jvm.close()
        self._dataset.close()
        self._leave_versions()
        self._patterns.close()
