"""Compiles one query for join orders: its frames prepared in the JVM, and where they run."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparkext.language.nodes import Node
from sparkext.language.query import Query
from sparkext.r2r.clusters.cluster_choice import ClusterChoice, largest_step
from sparkext.r2r.compiler import PatternCompiler
from sparkext.r2r.functions.expressions import ExpressionCompiler
from sparkext.r2r.leaves.delta_patterns import Timed, TimedMatch
from sparkext.r2r.leaves.scopes import DefaultGraph
from sparkext.r2r.leaves.star_patterns import in_record_windows
from sparkext.r2r.leaves.time_look_ups import place_timestamps
from sparkext.r2r.patterns.stage_rows import LiveRows, MatchRows
from sparkext.r2r.patterns.window_graphs import spell_out_windows
from sparkext.r2r.query_plans import DeltaPattern, QueryFrames, compile_query, delta_pattern
from sparkext.r2r.relations.datasets import Dataset
from sparkext.r2r.relations.frames import PreparedFrames, StockFrames, WindowContents
from sparkext.r2r.relations.leaf_estimates import Heuristics, LeafEstimates
from sparkext.runtime.parts.call_counts import CallCounts
from sparkext.runtime.queries.compiled_plans import CompiledPlans, Orders
from sparkext.runtime.queries.delta_plans import DeltaPlans, compile_delta, not_by_delta
from sparkext.runtime.queries.execution_place import (
    PlaceRule,
    TextNeeds,
    check_texts,
    driver_refusal,
)
from sparkext.runtime.queries.query_matches import QueryMatches
from sparkext.runtime.queries.template_instances import TemplateInstances
from sparkext.runtime.queries.window_registry import QueryWindow, WindowPatterns
from static_data.terms import Iri

if TYPE_CHECKING:
    from sparkext.runtime.parts.engine_parts import EngineParts

# An ordinary query whose steps have no more rows than this is interpreted.
_ROWS_INTERPRETED = 10_000


class QueryCompiler:
    """Compiles a query for any join orders; `windows` is empty for an ordinary query."""

    def __init__(
        self,
        parts: EngineParts,
        name: str,
        query: Query,
        windows: Mapping[str, QueryWindow],
        dataset: Dataset,
        patterns: WindowPatterns,
        calls: CallCounts,
        instances: TemplateInstances | None = None,
    ) -> None:
        self._parts = parts
        self._name = name
        self._query = query
        self._windows = windows
        self._dataset = dataset
        self._patterns = patterns
        self._calls = calls
        self._instances = instances
        number = () if instances is None else (instances.number,)
        self._answered = (*query.answered, *number)
        named = [Iri(w.name) for w in windows.values() if w.named]
        strict = frozenset(Iri(w.name) for w in windows.values() if w.strict)
        scope = DefaultGraph(tuple(Iri(w.name) for w in windows.values() if not w.named))
        pattern = place_timestamps(spell_out_windows(query.pattern, named, strict), scope)
        self.matches = QueryMatches(
            parts.room,
            pattern,
            windows,
            patterns,
            bag=parts.settings.duplicates == "bag",
            restricts=parts.settings.adaptive_enabled,
        )
        self._pattern = self.matches.pattern
        self._scope = scope
        self._stars = parts.settings.enabled and parts.settings.star_patterns_enabled

    def compile(self, orders: Orders, matches: Sequence[Any] | None = None) -> CompiledPlans:
        """Compile and prepare the query, its clusters joined in these orders, or in those that seem best now.

        With `matches`, the plans that find events are those already there.
        """
        started = clock.perf_counter()
        compiler = self._compiler(orders)
        query = self._query
        pattern = self._with_records()
        frames = compile_query(compiler, pattern, self._answered, self._scope, query.base_iri)
        plans = self._prepare(compiler, frames)
        if matches is None:
            matches = self.matches.compile(self._event_compiler, query.base_iri, self._name)
        delta = self._compile_delta()
        if isinstance(delta, str) and self._parts.settings.enabled:
            plans.warm()
        choices = tuple(compiler.choices)
        rule = self._place_rule(choices, plans, delta)
        seconds = clock.perf_counter() - started
        orders = tuple(choice.plan for choice in choices)
        return CompiledPlans(orders, frames, choices, plans, seconds, rule, delta, matches)

    def refuse_stars(self) -> None:
        """Have patterns with one subject be joined from now on, whatever records their streams have."""
        self._stars = False

    def _with_records(self) -> Node:
        """The query's pattern, with windows over records marked where they are to find patterns together."""
        stars = {Iri(w.name): w.stars for w in self._windows.values() if w.named and w.stars}
        if not (self._stars and stars and self._patterns.finds_stars()):
            return self._pattern
        windows, settings = list(self._windows.values()), self._parts.settings
        if not_by_delta(self._query, windows, settings) is None and not isinstance(
            self._delta_pattern(), str
        ):
            return self._pattern  # what arrives is found by single patterns
        return in_record_windows(self._pattern, stars)

    def _delta_pattern(self) -> DeltaPattern | str:
        query = self._query
        return delta_pattern(
            self._compiler(()), self._pattern, self._answered, self._scope, query.base_iri
        )

    def _prepare(self, compiler: PatternCompiler, frames: QueryFrames) -> Any:
        """The JVM's plans: of the query, and of the stages that are computed before it."""
        room = self._parts.room
        if not self._parts.settings.enabled:
            return room.plans(room.stock(frames.frame, self._name))
        once = self._little(compiler.choices)
        plans = room.plans(room.prepare(frames.frame, self._name, once))
        assert isinstance(compiler.frames, PreparedFrames)
        for name, (content, solutions) in compiler.frames.stages.items():
            plans.addStage(content, room.prepare(solutions.frame, name, once))
        return plans

    def _compile_delta(self) -> DeltaPlans | str:
        """The plans of delta evaluation, or why there are none."""
        query, windows = self._query, list(self._windows.values())
        if not windows:
            return "a query without windows"
        reason = not_by_delta(query, windows, self._parts.settings)
        if reason is not None:
            return reason
        pattern = self._delta_pattern()
        if isinstance(pattern, str):
            return pattern
        self._patterns.forget_arrived()
        self.matches.keep_times(pattern.timed)
        return compile_delta(
            pattern,
            lambda: self._compiler(()),
            self._arrived,
            windows,
            self._parts.room,
            self._name,
        )

    def _arrived(self, part: Timed) -> Any:
        if isinstance(part, TimedMatch):
            return self.matches.arrived(part.number)
        return self._patterns.arrived(part)

    def _little(self, choices: Sequence[ClusterChoice]) -> bool:
        """Whether generated code would cost more than it saves: an ordinary query over few rows."""
        steps = (largest_step(choice.plan) for choice in choices)
        return not self._windows and max(steps, default=0.0) <= _ROWS_INTERPRETED

    def _live(self, rows: LiveRows) -> Any:
        """The JVM's content of a relation that is kept up outside of the plans."""
        if isinstance(rows, MatchRows):
            return self.matches.content(rows)
        assert self._instances is not None
        return self._instances.content

    def _event_compiler(self, contents: WindowContents) -> PatternCompiler:
        return self._compiler((), contents)

    def _compiler(self, orders: Orders, contents: WindowContents | None = None) -> PatternCompiler:
        """A compiler for one plan; `contents` are those of window patterns, if not the windows'."""
        parts, dataset = self._parts, self._dataset
        settings = parts.settings
        frames: PreparedFrames | StockFrames
        windows = self._patterns.content if contents is None else contents
        # Events are found by prepared plans whatever the query's own are: what they are is theirs to keep.
        if settings.enabled or contents is not None:
            frames = PreparedFrames(parts.room, parts.relations, dataset, windows, self._live)
        else:
            frames = StockFrames(parts.room, dataset, windows, self._live)
        widths = {name: window.spec.span for name, window in self._windows.items()}
        return PatternCompiler(
            parts.room,
            frames,
            ExpressionCompiler(
                parts.room.number, parts.constant, self._calls.sites, parts.functions.number
            ),
            LeafEstimates(
                dataset,
                parts.store.catalogue,
                self._patterns.present_rows,
                widths,
                parts.constant,
                Heuristics(
                    settings.heuristics_h1_enabled,
                    settings.heuristics_h2_enabled,
                    settings.statistics_enabled,
                ),
                lambda rows: int(self._live(rows).rowCount()),
            ),
            parts.prejoin_policy,
            adaptive=settings.adaptive_enabled,
            costs=parts.costs,
            orders=orders,
            early_filters=settings.heuristics_h3_enabled,
            cluster_join=settings.multiway_join_enabled,
            pins_orders=bool(orders)
            or not (settings.adaptive_enabled and settings.statistics_enabled),
            uncertain=parts.uncertain,
        )

    def _place_rule(
        self, choices: Sequence[ClusterChoice], plans: Any, delta: DeltaPlans | str
    ) -> PlaceRule:
        parts = self._parts
        settings = parts.settings
        refusal = driver_refusal(settings, plans)
        needs = TextNeeds()
        # Executors in this process have its dictionary; deltas are evaluated here, whatever the other plans need.
        if parts.room.executors_apart and isinstance(delta, str):
            needs = TextNeeds.of(plans)
            check_texts(refusal, needs, self._query.pattern)
        return PlaceRule(
            refusal,
            needs,
            any(choice.search is not None and choice.search.expensive for choice in choices),
            settings.driver_execution_max_rows,
            parts.threads,
            parts.parallelism,
            parts.costs.job_start,
        )
