"""What a query has done so far, and whether it keeps up with its stream."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger(__name__)


@dataclass
class QueryProgress:
    """Counts since registration; times are seconds. `calls` of uncertainty functions were made, `cache_hits` spared.
    At `repeated` of the evaluations no window had changed: the answers were known, and nothing was computed.

    `lag` is how far evaluation has fallen behind event time: it grows by what an evaluation takes
    beyond the step to it, and shrinks by what is left over. Nothing is skipped when it grows; it is
    logged when it first exceeds a step.
    """

    evaluations: int = 0
    repeated: int = 0
    answers: int = 0
    seconds: float = 0.0
    last_seconds: float = 0.0
    window_seconds: float = 0.0
    run_seconds: float = 0.0
    decode_seconds: float = 0.0
    optimizer_seconds: float = 0.0
    calls: int = 0
    cache_hits: int = 0
    lag: float = 0.0
    failures: int = 0
    subscriber_failures: int = 0

    def note(self, outcome: Mapping[str, Any], seconds: float, step: int | None, name: str) -> None:
        """Add one evaluation: the JVM's report, its seconds, the milliseconds of event time since the last."""
        self.evaluations += 1
        self.answers += outcome["answers"]
        self.seconds += seconds
        self.last_seconds = seconds
        self.window_seconds += outcome["window_ns"] / 1e9
        self.run_seconds += outcome["run_ns"] / 1e9
        self.decode_seconds += outcome["decode_ns"] / 1e9
        self.optimizer_seconds += outcome.get("decision_ns", 0) / 1e9
        for _, calls, hits, *_ in outcome.get("calls", ()):
            self.calls += calls
            self.cache_hits += hits
        self._note_lag(seconds, step, name)

    def note_repeated(self, answers: int, seconds: float, step: int | None, name: str) -> None:
        """Add an instant whose answers were known."""
        self.evaluations += 1
        self.repeated += 1
        self.answers += answers
        self.seconds += seconds
        self.last_seconds = seconds
        self._note_lag(seconds, step, name)

    def _note_lag(self, seconds: float, step: int | None, name: str) -> None:
        if step is None:
            return
        behind, available = self.lag, step / 1000.0
        self.lag = max(0.0, behind + seconds - available)
        if self.lag > available >= behind:
            logger.warning(
                "%s lags: an evaluation took %.3f s for a step of %.3f s; %.3f s behind, nothing is skipped",
                name,
                seconds,
                available,
                self.lag,
            )

    def __str__(self) -> str:
        mean = self.seconds / self.evaluations * 1e3 if self.evaluations else 0.0
        return (
            f"{self.evaluations} evaluations, {self.answers} answers, {mean:.2f} ms each,"
            f" lag {self.lag:.3f} s"
        )
