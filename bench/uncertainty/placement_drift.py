"""A stream whose selectivity and fan-out drift, under early, late and cost, batch by batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from bench.data.linked_events import LinkedEvents, followed
from bench.uncertainty.uncertain_engine import (
    PLACEMENTS,
    Contender,
    Evaluation,
    Setting,
    agree,
    in_turn,
)

STEP_MS = 1000
_NAME = "http://example.org/drift"


@dataclass(frozen=True)
class DriftEffort:
    """Batches of a round, rounds that are told by themselves, rounds after them, and events of a batch by functions."""

    batches: int
    first_rounds: int
    rounds: int
    events: dict[str, int]


def drifted(batch: int, batches: int) -> tuple[float, float]:
    """Selectivity and fan-out of a batch: from few that pass and lead to many, to many that lead nowhere, and back.

    >>> [tuple(round(x, 2) for x in drifted(b, 4)) for b in range(4)]
    [(0.05, 10.0), (0.5, 0.71), (0.95, 0.05), (0.5, 0.71)]
    """
    along = (1 - np.cos(2 * np.pi * batch / batches)) / 2
    return float(0.05 + 0.9 * along), float(10.0 * (0.05 / 10.0) ** along)


class DriftRace:
    """Measures the drifting stream with one kind of functions; an engine for each placement."""

    def __init__(self, spark: SparkSession, functions: str, effort: DriftEffort) -> None:
        self.functions = functions
        self._effort = effort
        self.contenders = [Contender(spark, Setting(functions, place)) for place in PLACEMENTS]
        text = followed(f"{_NAME}/first", f"{_NAME}/second", 0.5, "PT1S")
        for contender in self.contenders:
            for stream in ("first", "second"):
                contender.engine.register_stream(f"{_NAME}/{stream}")
            contender.register(_NAME, text)

    def run(self) -> dict[str, Any]:
        """What all rounds took; a batch counts with its median over the rounds."""
        effort = self._effort
        ms: dict[str, list[list[tuple[float, float]]]] = {place: [] for place in PLACEMENTS}
        for number in range((effort.first_rounds + effort.rounds) * effort.batches):
            found = self._evaluate(number)
            if number % effort.batches == 0:
                for rounds in ms.values():
                    rounds.append([])
            for place, evaluation in found.items():
                ms[place][-1].append((evaluation.ms, evaluation.total_ms))
        taken = {place: np.array(rounds) for place, rounds in ms.items()}
        return drift_row(self.functions, taken, effort.first_rounds)

    def _evaluate(self, number: int) -> dict[str, Evaluation]:
        turn, batch = divmod(number, self._effort.batches)
        selectivity, fan_out = drifted(batch, self._effort.batches)
        events = self._effort.events[self.functions]
        time = (number + 1) * STEP_MS
        made = LinkedEvents(events, fan_out, batch=number, low=selectivity)
        first, second = made.first(time), made.second(time)
        found = {}
        for contender in in_turn(self.contenders, turn + batch):
            contender.push(f"{_NAME}/first", first)
            contender.push(f"{_NAME}/second", second)
            found[contender.setting.placement] = contender.advance(time)[_NAME]
        agree(found)
        return found

    def close(self) -> None:
        """End all engines."""
        for contender in self.contenders:
            contender.close()


def drift_row(functions: str, runs: dict[str, np.ndarray], first_rounds: int) -> dict[str, Any]:
    """Times over all batches of a round: of each placement, and of the better of early and late in each batch.

    `runs` are milliseconds by placement, a row for each round and in it for each batch (evaluating, and all with moving
    the windows); medians of the rounds count, of the first ones by themselves (`first_*`) and of the rest. `rounds` are
    all of them.
    """
    batches = runs["cost"].shape[1]
    evaluating, total = (
        {place: np.median(times[first_rounds:, :, kind], axis=0) for place, times in runs.items()}
        for kind in (0, 1)
    )
    first = {place: np.median(times[:first_rounds, :, 1], axis=0) for place, times in runs.items()}
    return {
        "functions": functions,
        **_compared(total, "total_"),
        **_compared(evaluating, ""),
        **_compared(first, "first_total_"),
        "rounds": [
            {place: round(float(times[number, :, 1].sum()), 3) for place, times in runs.items()}
            for number in range(len(runs["cost"]))
        ],
        "batches": [
            {
                "selectivity": round(drifted(batch, batches)[0], 4),
                "fan_out": round(drifted(batch, batches)[1], 4),
                **{place: round(float(evaluating[place][batch]), 3) for place in PLACEMENTS},
                **{f"{place}_total": round(float(total[place][batch]), 3) for place in PLACEMENTS},
                "cost_runs": [
                    round(float(time), 3) for time in runs["cost"][first_rounds:, batch, 0]
                ],
            }
            for batch in range(batches)
        ],
    }


def _compared(ms: dict[str, np.ndarray], kind: str) -> dict[str, float]:
    best = float(np.minimum(ms["early"], ms["late"]).sum())
    sums = {place: float(ms[place].sum()) for place in PLACEMENTS}
    return {
        **{f"{kind}{place}_ms": round(sums[place], 3) for place in PLACEMENTS},
        f"{kind}best_ms": round(best, 3),
        f"{kind}ratio": round(sums["cost"] / best, 4),
    }
