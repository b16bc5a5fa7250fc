"""Figures 1 and 2 of the uncertainty paper: a tunnel's sensors under every placement, with and without lazy variables.

Q1 to Q3 filter on a probability, at some thresholds, their filters applied early, late, or where the engine thinks
best; Q4 to Q6 bind it, lazily or not, with the function cache or without. a and b differ in the order of their
windows. Each setting, with the native functions and with functions made dear (100 microseconds a call), starts anew in
a process of its own and takes the same streams (`python -m bench.data tvs --help`) as the others; all evaluations count
from the first one on. Equal answers are asserted of all settings, and of a and b.
p50_ms is the median of milliseconds from "windows moved" to "answers decoded", first_ms that of the first evaluation;
window_ms is what moving the windows took; calls and cache_hits are the medians of an evaluation.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from bench.data.tunnel import DEFAULT_SEED, KINDS, SECTORS, Tunnel
from bench.data.tunnel_files import START_MS, STREAM, elements, query_text, write_static
from bench.peers.alone import alone
from bench.report import BenchError, Report, progress
from bench.uncertainty.uncertain_engine import (
    FUNCTIONS,
    PLACEMENTS,
    Contender,
    Evaluation,
    Setting,
    agree,
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
    "first_ms",
    "window_ms",
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
    """How much is run: sectors, thresholds, and evaluations of each query."""

    sectors: int
    thresholds: tuple[float, ...]
    evaluations: int


FULL = Effort(SECTORS, THRESHOLDS, 13)
QUICK = Effort(20, QUICK_THRESHOLDS, 3)


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
        help=f"evaluations of each query (default {FULL.evaluations}; quick {QUICK.evaluations})",
    )
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="seed of the readings")


# What a setting made of its queries, by their names: every evaluation from the first one on.
Followed = dict[str, list[Evaluation]]


@dataclass(frozen=True)
class Task:
    """Some queries over a tunnel whose static data are in a file."""

    workloads: tuple[Workload, ...]
    effort: Effort
    tunnel: Tunnel
    static: Path

    def thresholds(self, workload: Workload) -> Sequence[float | None]:
        """Those at which a query is asked; None for one that has no filter."""
        return self.effort.thresholds if workload.filters else (None,)

    def begins(self) -> dict[Workload, int]:
        """The second after which each begins, the same under all settings: multiples of all periods, far apart."""
        begin, found = 0, {}
        for workload in self.workloads:
            found[workload] = begin
            end = begin + self.effort.evaluations * workload.every
            begin = -(-end // 8) * 8 + 16  # the windows before are over
        return found

    def of(self, setting: Setting) -> list[Workload]:
        """The queries that are measured under a setting."""
        return [w for w in self.workloads if setting in w.settings(setting.functions)]


def follow(spark: SparkSession, setting: Setting, task: Task) -> Followed:
    """All queries of a setting, one after the other in one engine; event time goes on from query to query."""
    found: Followed = {}
    with closing(Contender(spark, setting, task.static)) as contender:
        contender.clock = START_MS
        for stream in KINDS:
            contender.engine.register_stream(STREAM + stream)
        for workload in task.of(setting):
            found |= _follow(contender, workload, task)
    return found


def _follow(contender: Contender, workload: Workload, task: Task) -> Followed:
    pushed = begin = task.begins()[workload]
    found: Followed = {}
    for variant in VARIANTS:
        for threshold in task.thresholds(workload):
            name = f"{workload.name}{variant}"
            contender.register(_name(name, threshold), query_text(name, threshold or 0.0))
            found[_name(name, threshold)] = []
    for number in range(1, task.effort.evaluations + 1):
        second = begin + number * workload.every
        # What would have left the windows by then is not pushed.
        seconds = range(max(pushed, second - workload.width) + 1, second + 1)
        for stream in workload.streams:
            contender.push(
                STREAM + stream, [e for s in seconds for e in elements(task.tunnel, stream, s)]
            )
        pushed = second
        for name, evaluation in contender.advance(START_MS + second * 1000).items():
            found[name].append(evaluation)
    for name in found:
        contender.stop(name)
    return found


def follow_anew(setting: Setting, task: Task) -> Followed:
    """The same in a session that begins and ends with it."""
    spark = session()
    try:
        return follow(spark, setting, task)
    finally:
        spark.stop()


def measure(
    functions: str, task: Task, follow_one: Callable[[Setting, Task], Followed]
) -> list[dict[str, Any]]:
    """A row for each variant, threshold and setting; raises AnswersDifferError."""
    settings = dict.fromkeys(s for w in task.workloads for s in w.settings(functions))
    followed = {}
    for setting in settings:
        progress(setting.name)
        followed[setting] = follow_one(setting, task)
    compare(followed)
    return [
        _row(f"{workload.name}{variant}", threshold, setting, workload.filters, followed[setting])
        for workload in task.workloads
        for variant in VARIANTS
        for threshold in task.thresholds(workload)
        for setting in workload.settings(functions)
    ]


def compare(followed: Mapping[Setting, Followed]) -> None:
    """Raises AnswersDifferError unless all settings, a and b have answered alike each time."""
    answered: dict[tuple[str, int], dict[str, Evaluation]] = {}
    for setting, found in followed.items():
        for name, evaluations in found.items():
            query, _, threshold = name.partition(" ")
            for number, evaluation in enumerate(evaluations):
                same = f"{query[:2]} {threshold}", number
                answered.setdefault(same, {})[f"{query}, {setting.name}"] = evaluation
    for found_by in answered.values():
        agree(found_by)


def _row(
    name: str, threshold: float | None, setting: Setting, filters: bool, found: Followed
) -> dict[str, Any]:
    runs = found[_name(name, threshold)]
    times = [run.ms for run in runs]
    return {
        "query": name,
        "threshold": threshold,
        "functions": setting.functions,
        "placement": setting.placement if filters else None,
        "lazy": None if filters else setting.lazy,
        "cache": None if filters else setting.cache,
        "p50_ms": round(float(np.median(times)), 3),
        "first_ms": round(times[0], 3),
        "least_ms": round(min(times), 3),
        "most_ms": round(max(times), 3),
        "window_ms": round(float(np.median([run.window_ms for run in runs])), 3),
        "calls": _middle(run.calls for run in runs),
        "cache_hits": _middle(run.cache_hits for run in runs),
        "answers": _middle(run.answers for run in runs),
    }


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
        args.evaluations or default.evaluations,
    )
    wanted = tuple(w for w in WORKLOADS if not args.query or w.name in args.query)
    tunnel = Tunnel(effort.sectors, seed=args.seed)
    rows: list[dict[str, Any]] = []
    # The quick run has all settings in one session, one after the other.
    spark = session() if args.quick else None

    def follow_one(setting: Setting, task: Task) -> Followed:
        return follow(spark, setting, task) if spark else alone(follow_anew, setting, task)

    try:
        with tempfile.TemporaryDirectory(prefix="bench-tvs-") as folder:
            static = Path(folder, "tunnel.nt")
            write_static(tunnel, static)
            for functions in args.functions or FUNCTIONS:
                # Four windows and eight static patterns take long to compile; once is enough.
                once = args.quick and functions == "dear"
                some = tuple(w for w in wanted if not (once and len(w.streams) == 4))
                rows += measure(functions, Task(some, effort, tunnel, static), follow_one)
    finally:
        if spark:
            spark.stop()
    if not any(row["answers"] for row in rows) and not args.quick:
        raise BenchError("nothing was answered at all")
    return Report(NAME, rows, {**asdict(effort), **summarise(rows)})
