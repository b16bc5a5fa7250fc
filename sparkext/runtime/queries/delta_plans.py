"""Which queries are evaluated by delta, and their plans: one for each window pattern, over what has just arrived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkext.language.query import Query
from sparkext.r2r.clusters.cluster_choice import ClusterChoice
from sparkext.r2r.compiler import PatternCompiler
from sparkext.r2r.leaves.delta_patterns import Timed, TimedMatch, TimedPattern
from sparkext.r2r.query_plans import DeltaPattern
from sparkext.runtime.queries.window_registry import QueryWindow
from sparkext.s2r.windows import (
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.config import Settings

_FOR_EVER = 1 << 60


@dataclass(frozen=True)
class DeltaPlans:
    """The plans of a query's delta evaluation; `stays` says how long the rows of each window pattern stay, as
    ContinuousQuery.setDelta reads it."""

    jvm: Any
    stays: str
    choices: tuple[ClusterChoice, ...]


def not_by_delta(query: Query, windows: Sequence[QueryWindow], settings: Settings) -> str | None:
    """Why a query is not evaluated by delta, whatever its pattern is; None if it may be."""
    if not settings.delta_evaluation_enabled:
        return "spark.cqels.deltaEvaluation.enabled=false"
    if not settings.enabled:
        return "spark.cqels.enabled=false"
    if not settings.driver_execution_enabled:
        return "spark.cqels.driverExecution.enabled=false"
    if settings.duplicates == "bag":
        return "spark.cqels.duplicates=bag"
    if query.stream_operator != "ISTREAM":
        return f"all answers of an instant are wanted ({query.stream_operator})"
    if query.form not in ("SELECT", "CONSTRUCT"):
        return f"the form {query.form}"
    for window in windows:
        if stay_of(window.spec) is None:
            return f"the kind of window {window.name}"
    return None


def stay_of(spec: WindowSpec) -> str | None:
    """How long an element stays in a window, "width,slide,start"; None for windows that elements enter later, or leave
    for other reasons than time.

    >>> stay_of(RangeWindow(5)), stay_of(SlidingWindow(30, 10, 2)), stay_of(NowWindow())
    ('5,0,0', '30,10,2', '1,0,0')
    """
    match spec:
        case RangeWindow():
            return f"{spec.width},0,0"
        case NowWindow():
            return "1,0,0"
        case SlidingWindow():
            return f"{spec.width},{spec.slide},{spec.start}"
        case LandmarkWindow():
            return f"{_FOR_EVER},0,0"
    return None


def compile_delta(
    pattern: DeltaPattern,
    make_compiler: Callable[[], PatternCompiler],
    arrived: Callable[[Timed], Any],
    windows: Sequence[QueryWindow],
    room: EngineRoom,
    name: str,
) -> DeltaPlans | str:
    """The plans of a monotone query, or why they cannot run where deltas are evaluated: on the driver.

    `arrived` gives the JVM's rows of a part in what arrived last, once plans over them are compiled.
    """
    specs = {window.name: window.spec for window in windows}
    plans = room.delta_plans()
    choices: list[ClusterChoice] = []
    for number, (way, part) in enumerate(pattern.parts, 1):
        compiler = make_compiler()
        frame = pattern.compile(compiler, way, part)
        plans.add(arrived(part), room.prepare(frame, f"{name}, delta {number}"))
        choices.extend(compiler.choices)
    if (refusal := plans.driverRefusal()) is not None:
        return f"its plans cannot run on the driver: {refusal}"
    plans.warm()
    stays = "\n".join(_stay(part, specs) for part in pattern.timed)
    return DeltaPlans(plans, stays, tuple(choices))


def _stay(part: Timed, specs: dict[str, WindowSpec]) -> str:
    if isinstance(part, TimedMatch):
        return "0,0,0"  # it comes with the instant until which it holds
    assert isinstance(part, TimedPattern) and part.window is not None
    stay = stay_of(specs[part.window.value])
    assert stay is not None
    return stay
