"""A query compiled and prepared: what the JVM executes, and how it came about."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from adaptive import PrejoinPolicy
from sparkext.errors import UnsupportedFeatureError
from sparkext.language.query import Query
from sparkext.r2r.cluster_plans import largest_step
from sparkext.r2r.compiler import PatternCompiler
from sparkext.r2r.datasets import Dataset
from sparkext.r2r.expressions import ExpressionCompiler
from sparkext.r2r.frames import Frames, PreparedFrames, StockFrames
from sparkext.r2r.leaf_estimates import LeafEstimates
from sparkext.r2r.query_plans import QueryFrames, compile_query
from sparkext.r2r.solutions import column_name
from sparkext.runtime import answers_file
from sparkext.runtime.answers import Answers
from sparkext.runtime.engine_room import operators_of
from sparkext.runtime.explanation import Explanation, explain_query
from sparkext.runtime.window_registry import QueryWindow, WindowPatterns
from sparkext.s2r.windows import NowWindow, RangeWindow, SlidingWindow

if TYPE_CHECKING:
    from sparkext.engine import Engine


@dataclass(frozen=True)
class _Compiled:
    frames: QueryFrames
    relations: Frames
    compiler: PatternCompiler


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
        self._patterns = WindowPatterns(engine.room, engine.windows, windows)
        self._compiled = self._compile()
        self._jvm = self._prepare()
        self._slices = self._decide_slices()
        self._executed = False

    def _compile(self) -> _Compiled:
        engine = self._engine
        settings = engine.settings
        dataset = Dataset(engine.store, self.query.dataset)
        frames: PreparedFrames | StockFrames
        if settings.enabled:
            frames = PreparedFrames(engine.room, engine.relations, dataset, self._patterns.content)
        else:
            frames = StockFrames(engine.room, dataset, self._patterns.content)
        widths = {name: _width(window) for name, window in self.windows.items()}
        compiler = PatternCompiler(
            engine.room,
            frames,
            ExpressionCompiler(engine.room.number, engine.constant),
            LeafEstimates(
                dataset,
                engine.store.catalogue,
                self._patterns.present_rows,
                widths,
                engine.constant,
            ),
            PrejoinPolicy(
                enabled=settings.prejoin_enabled and settings.enabled,
                max_rows=float(settings.prejoin_max_rows),
                max_growth=settings.prejoin_max_growth,
            ),
            adaptive=settings.adaptive_enabled,
        )
        compiled = compile_query(compiler, self.query.pattern, self.query.variables)
        return _Compiled(compiled, frames, compiler)

    def _prepare(self) -> Any:
        room, frames = self._engine.room, self._compiled.frames
        names = [v.name for v in frames.variables]
        plan = self._main_plan()
        extra = len(frames.frame.columns) - len(names)
        columns = names + [f"order {place}" for place in range(extra)]
        made = room.query(self.name, plan, columns, len(names), self.query.stream_operator)
        for window in self._window_order:
            made.addWindow(window.window)
        self._add_stages(made)
        limit = -1 if frames.limit is None else frames.limit
        made.sliced(",".join(map(str, frames.order)), frames.offset, limit)
        if frames.makes_terms:
            made.setMakesTerms()
        if self._engine.settings.enabled:
            made.warm()
        return made

    def _main_plan(self) -> Any:
        room, frame = self._engine.room, self._compiled.frames.frame
        if not self._engine.settings.enabled:
            return room.stock(frame, self.name)
        return room.prepare(frame, self.name)

    def _add_stages(self, made: Any) -> None:
        relations = self._compiled.relations
        if isinstance(relations, PreparedFrames):
            for name, (content, solutions) in relations.stages.items():
                ordered = solutions.frame.select(*(column_name(v) for v in solutions.variables))
                made.addStage(content, self._engine.room.prepare(ordered, name))

    def recompile(self) -> None:
        """Make the plans anew: the static data have changed."""
        self._compiled = self._compile()
        self._jvm.replacePlans(self._main_plan())
        self._add_stages(self._jvm)
        if self._engine.settings.enabled:
            self._jvm.warm()
            self._slices = self._decide_slices()

    def run(self, bounds: str) -> tuple[pa.Table, dict[str, Any]]:
        """Execute with the windows moved to `bounds`: the answers, and what the JVM says of the evaluation."""
        if self._engine.settings.enabled:
            outcome = json.loads(self._jvm.evaluate(bounds, self._slices))
        else:
            self._jvm.moveWindows(bounds)
            self._compiled = self._compile()
            self._jvm.replacePlans(self._main_plan())
            outcome = json.loads(self._jvm.evaluate("", 1))
        self._executed = True
        return answers_file.take(outcome, self.variables), outcome

    def answer(self) -> Answers:
        """Run an ordinary query, one without windows."""
        started = clock.perf_counter()
        with self._engine.lock:
            table, _ = self.run("")
        seconds = clock.perf_counter() - started
        return Answers(self.name, 0, self.variables, table, self.ordered, seconds)

    @property
    def variables(self) -> tuple[str, ...]:
        """The answered variables, in order."""
        return tuple(v.name for v in self._compiled.frames.variables)

    @property
    def ordered(self) -> bool:
        """Whether the answers come in an order that the query asks for."""
        return bool(self._compiled.frames.order)

    def _decide_slices(self) -> int:
        """0 to run on the driver, else the number of slices of a Spark job."""
        settings = self._engine.settings
        steps = (largest_step(choice.plan) for choice in self._compiled.compiler.choices)
        largest = max(steps, default=0.0)
        on_driver = (
            settings.enabled
            and settings.driver_execution_enabled
            and largest <= settings.driver_execution_max_rows
            and self._jvm.driverRefusal() is None
        )
        return 0 if on_driver else self._engine.parallelism

    def explain(self) -> Explanation:
        """The plan with its reasons, estimates, and the row counts of the last evaluation."""
        operators = operators_of(self._jvm) if self._executed else []
        return explain_query(self, self._compiled.compiler.choices, operators, self._jvm.planTree())

    @property
    def execution(self) -> str:
        """Where evaluations run, and why."""
        if not self._engine.settings.enabled:
            return "stock Spark (spark.cqels.enabled=false)"
        slices = self._slices
        if not slices:
            return "driver"
        refusal = self._jvm.driverRefusal()
        return f"Spark job of {slices} slices" + (f" ({refusal})" if refusal else "")

    def close(self) -> None:
        """Give back what the query holds."""
        self._jvm.close()
        self._patterns.close()


def _width(window: QueryWindow) -> int | None:
    match window.spec:
        case NowWindow():
            return None
        case RangeWindow() | SlidingWindow():
            return window.spec.width
        case _:
            raise UnsupportedFeatureError(f"{window.spec!r} is not supported", 1, 1)
