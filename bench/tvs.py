"""Figures 1 and 2 of the uncertainty paper: a tunnel's sensors under every placement, with and without lazy variables.

Q1 to Q3 filter on a probability, at some thresholds, their filters applied early, late, or where the engine thinks
best; Q4 to Q6 bind it, lazily or not, with the function cache or without. a and b differ in the order of their
windows. Each setting has an engine of its own; all take the same streams (`python -m bench.data tvs --help`) and
evaluate in turn, with the native functions and with functions made dear (100 microseconds a call). Equal answers are
asserted of all settings, and of a and b.
p50_ms is the median of milliseconds from "windows moved" to "answers decoded"; calls and cache_hits are the medians
of an evaluation.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from bench.data.tunnel import DEFAULT_SEED, KINDS, SECTORS, Tunnel
from bench.data.tunnel_files import START_MS, STREAM, elements, query_text, write_static
from bench.report import BenchError, Report, progress
from bench.uncertainty.uncertain_engine import (
    FUNCTIONS,
    PLACEMENTS,
    Contender,
    Evaluation,
    Setting,
    agree,
    in_turn,
    session,
)

NAME = "tvs"
COLUMNS = (
    "query",
    "threshold",
    "functions",
    "placement",
    "lazy",
    "cache",
    "p50_ms",
    "calls",
    "cache_hits",
    "answers",
)
SHOWN = (
    "sectors",
    "evaluations",
    "worst_order_gap",
    "lazy_excess_ms",
    "lazy_slower",
    "lazy_gain",
    "cost_ratio",
)
THRESHOLDS = (0.0, 0.4, 1.0)
QUICK_THRESHOLDS = (0.6,)
VARIANTS = "ab"


@dataclass(frozen=True)
class Workload:
    """A query: its streams, seconds between evaluations, seconds of its windows, whether it filters or binds."""

    name: str
    streams: tuple[str, ...]
    every: int
    width: int
    filters: bool

    def settings(self, functions: str) -> list[Setting]:
        """The settings under which it is measured."""
        if self.filters:
            return [Setting(functions, placement) for placement in PLACEMENTS]
        return [
            Setting(functions, lazy=lazy, cache=cache)
            for lazy in (True, False)
            for cache in (True, False)
        ]


WORKLOADS = (
    Workload("q1", ("ox2", "temp2"), 4, 10, True),
    Workload("q2", ("ox1", "ox2", "temp1", "temp2"), 8, 5, True),
    Workload("q3", ("ox1", "ox2", "temp1"), 4, 1, True),
    Workload("q4", ("ox2", "temp2"), 4, 10, False),
    Workload("q5", ("ox1", "ox2", "temp1", "temp2"), 8, 5, False),
    Workload("q6", ("ox1", "ox2", "temp1"), 4, 1, False),
)


@dataclass(frozen=True)
class Effort:
    """How much is run.

    Sectors, thresholds, evaluations before the measured ones, and those.
    """

    sectors: int
    thresholds: tuple[float, ...]
    warm_ups: int
    evaluations: int


FULL = Effort(SECTORS, THRESHOLDS, 3, 10)
QUICK = Effort(20, QUICK_THRESHOLDS, 1, 3)


def _listed(thresholds: Sequence[float]) -> str:
    return ", ".join(f"{threshold:g}" for threshold in thresholds)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--query",
        action="append",
        choices=[workload.name for workload in WORKLOADS],
        help="only this query; repeatable (default all)",
    )
    parser.add_argument(
        "--threshold",
        action="append",
        type=float,
        help=f"a threshold of q1 to q3; repeatable (default {_listed(FULL.thresholds)}; "
        f"quick {_listed(QUICK.thresholds)})",
    )
    parser.add_argument(
        "--functions",
        action="append",
        choices=FUNCTIONS,
        help="only these functions; repeatable (default both)",
    )
    parser.add_argument(
        "--sectors",
        type=int,
        help=f"sectors of the tunnel (default {FULL.sectors}; quick {QUICK.sectors})",
    )
    parser.add_argument(
        "--evaluations",
        type=int,
        help=f"measured evaluations (default {FULL.evaluations}; quick {QUICK.evaluations})",
    )
    parser.add_argument(
        "--warm-ups",
        type=int,
        help=f"evaluations before them (default {FULL.warm_ups}; quick {QUICK.warm_ups})",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the readings")


class Settings:
    """The engines of one kind of functions, one a setting, each with the static data."""

    def __init__(self, spark: SparkSession, functions: str, static: Path) -> None:
        self.functions = functions
        self._spark = spark
        self._static = static
        self._made: dict[Setting, Contender] = {}

    def of(self, workload: Workload) -> list[Contender]:
        """Those under which a query is measured; event time goes on from query to query."""
        return [self._contender(setting) for setting in workload.settings(self.functions)]

    def _contender(self, setting: Setting) -> Contender:
        if setting not in self._made:
            made = self._made[setting] = Contender(self._spark, setting, self._static)
            made.clock = START_MS
            for stream in KINDS:
                made.engine.register_stream(STREAM + stream)
        return self._made[setting]

    def close(self) -> None:
        """End all engines."""
        for contender in self._made.values():
            contender.close()


class Race:
    """One query under all its settings, over the same readings."""

    def __init__(
        self, contenders: list[Contender], workload: Workload, effort: Effort, tunnel: Tunnel
    ) -> None:
        self._workload = workload
        self._effort = effort
        self._tunnel = tunnel
        self._contenders = contenders
        self._evaluations = 0
        # The seconds of windows before are over, and instants are multiples of all periods.
        latest = max(contender.clock for contender in contenders) - START_MS
        self._start = self._pushed = -(-latest // 8000) * 8 + (16 if latest else 0)
        for contender in contenders:
            for variant in VARIANTS:
                for threshold in self._thresholds:
                    name = f"{workload.name}{variant}"
                    contender.register(_name(name, threshold), query_text(name, threshold or 0.0))

    @property
    def _thresholds(self) -> Sequence[float | None]:
        return self._effort.thresholds if self._workload.filters else (None,)

    def run(self) -> list[dict[str, Any]]:
        """Warm up, measure, and give a row for each variant, threshold and setting."""
        effort = self._effort
        for _ in range(effort.warm_ups):
            self._evaluate()
        for _ in range(effort.evaluations):
            for contender, found in self._evaluate().items():
                for name, evaluation in found.items():
                    contender.queries[name].runs.append(evaluation)
        return [
            self._row(f"{self._workload.name}{variant}", threshold, contender)
            for variant in VARIANTS
            for threshold in self._thresholds
            for contender in self._contenders
        ]

    def _evaluate(self) -> dict[Contender, dict[str, Evaluation]]:
        """The next evaluation by each engine, by the names of its queries."""
        second = self._start + (self._evaluations + 1) * self._workload.every
        instant = START_MS + second * 1000
        # What would have left the windows by then is not pushed.
        since = max(self._pushed, second - self._workload.width)
        news = {
            stream: [
                e for s in range(since + 1, second + 1) for e in elements(self._tunnel, stream, s)
            ]
            for stream in self._workload.streams
        }
        self._pushed = second
        by_contender: dict[Contender, dict[str, Evaluation]] = {}
        answered: dict[str, dict[str, Evaluation]] = {}
        for contender in in_turn(self._contenders, self._evaluations):
            for stream, arrived in news.items():
                contender.push(STREAM + stream, arrived)
            found = by_contender[contender] = contender.advance(instant)
            for name, evaluation in found.items():
                query, _, threshold = name.partition(" ")
                same = f"{query[:2]} {threshold}"
                answered.setdefault(same, {})[f"{query}, {contender.setting.name}"] = evaluation
        self._evaluations += 1
        for evaluations in answered.values():
            agree(evaluations)
        return by_contender

    def _row(self, name: str, threshold: float | None, contender: Contender) -> dict[str, Any]:
        setting, filters = contender.setting, self._workload.filters
        watched = contender.queries[_name(name, threshold)]
        runs = watched.runs
        times = [run.ms for run in runs]
        return {
            "query": name,
            "threshold": threshold,
            "functions": setting.functions,
            "placement": setting.placement if filters else None,
            "lazy": None if filters else setting.lazy,
            "cache": None if filters else setting.cache,
            "p50_ms": round(float(np.median(times)), 3),
            "least_ms": round(min(times), 3),
            "most_ms": round(max(times), 3),
            "calls": _middle(run.calls for run in runs),
            "cache_hits": _middle(run.cache_hits for run in runs),
            "answers": _middle(run.answers for run in runs),
        }

    def close(self) -> None:
        """End all queries."""
        for contender in self._contenders:
            for name in list(contender.queries):
                contender.stop(name)


def _name(query: str, threshold: float | None) -> str:
    return f"{query} {'' if threshold is None else threshold}"


def _middle(counts: Iterable[int]) -> int:
    return round(float(np.median(list(counts))))


def summarise(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What follows for the order of windows, lazy variables, and placement.

    `order_gaps` are by query, functions and threshold, under `cost` or with lazy variables and cache: the milliseconds
    between a and b, and the slower one's time over the faster one's. `lazy_gains` are by query, functions and cache the
    milliseconds without lazy variables over those with them; `lazy_slower` of them are slower by more than 2 % and by
    more than 1 ms.
    """
    gaps, gains = _order_gaps(rows), _lazy_gains(rows)
    # Within 15 % or 2 ms: how far beyond, by the milder of the two.
    worst = max(gaps, key=lambda gap: min(gap["ratio"] / 1.15, gap["ms"] / 2.0), default=None)
    dear_gains = [gain["ratio"] for gain in gains if gain["functions"] == "dear"]
    return {
        "worst_order_gap": worst,
        "order_matters": sum(gap["ratio"] > 1.15 and gap["ms"] > 2.0 for gap in gaps),
        "lazy_excess_ms": max((gain["excess_ms"] for gain in gains), default=None),
        "lazy_excess": max((1 / gain["ratio"] for gain in gains), default=None),
        "lazy_slower": sum(1 / gain["ratio"] > 1.02 and gain["excess_ms"] > 1.0 for gain in gains),
        "lazy_gain": max(dear_gains, default=None),
        "cost_ratio": _cost_ratio(rows),
        "order_gaps": gaps,
        "lazy_gains": gains,
    }


def _order_gaps(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    compared: dict[tuple[str, str, float | None], dict[str, float]] = {}
    for row in rows:
        if row["placement"] == "cost" or (row["lazy"] and row["cache"]):
            key = row["query"][:-1], row["functions"], row["threshold"]
            compared.setdefault(key, {})[row["query"][-1]] = row["p50_ms"]
    return [
        {
            "query": query,
            "functions": functions,
            "threshold": threshold,
            "ms": round(abs(times["a"] - times["b"]), 3),
            "ratio": round(max(times.values()) / min(times.values()), 4),
        }
        for (query, functions, threshold), times in compared.items()
        if len(times) == len(VARIANTS)
    ]


def _lazy_gains(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    compared: dict[tuple[str, str, bool], dict[bool, float]] = {}
    for row in rows:
        if row["lazy"] is not None:
            key = row["query"], row["functions"], row["cache"]
            compared.setdefault(key, {})[row["lazy"]] = row["p50_ms"]
    return [
        {
            "query": query,
            "functions": functions,
            "cache": cache,
            "ratio": round(times[False] / times[True], 4),
            "excess_ms": round(times[True] - times[False], 3),
        }
        for (query, functions, cache), times in compared.items()
    ]


def _cost_ratio(rows: list[dict[str, Any]]) -> float | None:
    """The largest time under `cost` over that of the better of early and late."""
    compared: dict[tuple[str, str, float], dict[str, float]] = {}
    for row in rows:
        if row["placement"]:
            key = row["query"], row["functions"], row["threshold"]
            compared.setdefault(key, {})[row["placement"]] = row["p50_ms"]
    ratios = [times["cost"] / min(times["early"], times["late"]) for times in compared.values()]
    return round(max(ratios), 4) if ratios else None


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two settings disagree."""
    default = QUICK if args.quick else FULL
    effort = Effort(
        args.sectors or default.sectors,
        tuple(dict.fromkeys(args.threshold or default.thresholds)),
        default.warm_ups if args.warm_ups is None else args.warm_ups,
        args.evaluations or default.evaluations,
    )
    wanted = [w for w in WORKLOADS if not args.query or w.name in args.query]
    tunnel = Tunnel(effort.sectors, seed=args.seed)
    rows: list[dict[str, Any]] = []
    spark = session()
    try:
        with tempfile.TemporaryDirectory(prefix="bench-tvs-") as folder:
            static = Path(folder, "tunnel.nt")
            write_static(tunnel, static)
            for functions in args.functions or FUNCTIONS:
                settings = Settings(spark, functions, static)
                try:
                    for workload in wanted:
                        # Four windows and eight static patterns take long to compile; once is enough.
                        if args.quick and functions == "dear" and len(workload.streams) == 4:
                            continue
                        progress(f"{workload.name}, {functions} functions")
                        race = Race(settings.of(workload), workload, effort, tunnel)
                        rows += race.run()
                        race.close()
                finally:
                    settings.close()
    finally:
        spark.stop()
    if not any(row["answers"] for row in rows) and not args.quick:
        raise BenchError("nothing was answered at all")
    return Report(NAME, rows, {**asdict(effort), **summarise(rows)})
