"""The engine from its first evaluation on, beside fixed join orders and DuckDB, on streams that change.

Streams whose selectivities flip, drift, oscillate or stay (`bench.join_orders.drifting`; Figure 3 of the CQELS
report, scaled up), one in which each row wants another order, and one of two expensive filters of which now the one,
now the other lets few rows pass (`bench.join_orders.flipping_filters`). Each stream goes through an engine in a
process of its own, whose JVM has run nothing before: the query is registered, and batches follow one another
(`--paced`: one a second), with nothing else running. All evaluations count, the first one, too; moving the windows
does not. The quick run has all streams in one process.

When all streams are through, other engines get the same batches, in one process that goes on. There fixed orders run,
pinned in the operator and as chains of Spark's joins: the best by estimated cost, and all that the engine took. What
they are asked for is how fast an order can be in the long run: they run in each phase of the stream beforehand, what is
slow everywhere is given up, and of the rest the median of some runs in each batch counts. The engine has the batches
once more there, on the same terms (again_ms). DuckDB, with all relations as tables of integers, planned anew for each
batch and without decoding, has each of them once. Equal answers are asserted of all.

first_ms is the first evaluation, over_duckdb the engine's total over DuckDB's, worst_ratio the worst evaluation over
the fastest order of its batch, regret the total over that of the fastest order of each batch (again_regret: of the
engine once more), best_fixed_ratio over that of the single order of least total, share that of statistics and choices.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from adaptive.graph.plan import describe
from bench.join_orders.batch_streams import NAMES, BatchStream, batch_streams
from bench.join_orders.first_sight import Seen, at_first_sight
from bench.join_orders.order_race import Effort, Raced, race
from bench.join_orders.static_worlds import StaticWorlds
from bench.peers.alone import alone
from bench.report import Report, progress

NAME = "adapt"
COLUMNS = (
    "stream",
    "batches",
    "first_ms",
    "engine_ms",
    "again_ms",
    "duckdb_ms",
    "hindsight_ms",
    "over_duckdb",
    "worst_ratio",
    "regret",
    "again_regret",
    "best_fixed_ratio",
    "share",
    "switches",
)
SHOWN = (
    "first_ms",
    "over_duckdb",
    "worst_ratio",
    "regret",
    "again_regret",
    "best_fixed_ratio",
    "share",
)


@dataclass(frozen=True)
class Scope:
    """Factor of all fan-outs, rounds of the phases, batches of a stream at most, and the race."""

    size: float
    cycles: int
    batches: int | None
    effort: Effort


FULL = Scope(0.3, 2, None, Effort(12, 2, 12.0, 5, 2, 10.0))
QUICK = Scope(0.02, 1, 4, Effort(1, 1, 20.0, 2, 1, 1.0))
# One of each query.
QUICK_STREAMS = ("figure 3", "oscillate", "three windows", "mixed", "filters")

SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Bad orders have steps of millions of rows: all orders run in the same way, on the driver.
    "spark.cqels.driverExecution.maxRows": "1000000000",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--stream",
        action="append",
        choices=NAMES,
        help=f"only this stream; repeatable (default all; quick {', '.join(QUICK_STREAMS)})",
    )
    parser.add_argument("--paced", action="store_true", help="a batch a second, not at once")
    parser.add_argument("--cycles", type=int, help=f"rounds of the phases (default {FULL.cycles})")
    parser.add_argument("--orders", type=int, help=f"orders by cost (default {FULL.effort.orders})")
    parser.add_argument(
        "--size",
        type=float,
        help=f"factor of all fan-outs (default {FULL.size}; quick {QUICK.size})",
    )


def row(name: str, seen: Sequence[Seen], raced: Raced) -> dict[str, Any]:
    """One line of the result; times are milliseconds, sums over the batches."""
    fixed = np.array(list(raced.orders.values()))
    engine = np.array([one.ms for one in seen])
    fastest = fixed.min(axis=0)
    best = int(fixed.sum(axis=1).argmin())
    names = list(raced.orders)
    total, duckdb_ms = float(engine.sum()), sum(raced.duckdb_ms)
    orders = [one.order for one in seen]
    return {
        "stream": name,
        "batches": len(seen),
        "first_ms": round(seen[0].ms, 2),
        "engine_ms": round(total, 2),
        "again_ms": round(sum(raced.again_ms), 2),
        "duckdb_ms": round(duckdb_ms, 2),
        "hindsight_ms": round(float(fastest.sum()), 2),
        "over_duckdb": round(total / duckdb_ms, 4),
        "worst_ratio": round(float((engine / fastest).max()), 4),
        "regret": round(total / float(fastest.sum()), 4),
        "again_regret": round(sum(raced.again_ms) / float(fastest.sum()), 4),
        "best_fixed_ratio": round(total / float(fixed[best].sum()), 4),
        "share": round(sum(one.optimizer_ms for one in seen) / total, 5),
        "switches": sum(a != b for a, b in itertools.pairwise(orders)),
        "duckdb_given_up": raced.duckdb_given_up,
        "orders_tried": raced.tried,
        "best_fixed": names[best],
        "fixed_ms": {name: round(sum(times), 2) for name, times in raced.orders.items()},
        "evaluations": [
            {
                "phase": one.phase,
                "ms": round(one.ms, 3),
                "optimizer_ms": round(one.optimizer_ms, 3),
                "again_ms": round(raced.again_ms[batch], 3),
                "duckdb_ms": round(raced.duckdb_ms[batch], 3),
                "fastest_ms": round(float(fastest[batch]), 3),
                "fastest": names[int(fixed[:, batch].argmin())],
                "order": describe(one.order, filters=True),
                "answers": one.answers,
            }
            for batch, one in enumerate(seen)
        ],
    }


def summarise(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The worst of each over the streams, and all switches."""
    return {key: max(r[key] for r in rows) for key in SHOWN} | {
        "switches": sum(r["switches"] for r in rows)
    }


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when somebody answers otherwise."""
    scope = QUICK if args.quick else FULL
    scope = replace(
        scope,
        size=args.size or scope.size,
        cycles=args.cycles or scope.cycles,
        effort=replace(scope.effort, orders=args.orders or scope.effort.orders),
    )
    names = args.stream or (QUICK_STREAMS if args.quick else NAMES)
    streams = [stream for stream in _streams(scope) if stream.name in names]
    spark = _session()
    with tempfile.TemporaryDirectory(prefix="bench-adapt-") as folder:
        static = StaticWorlds(spark, Path(folder))
        folders = {stream.name: static.of(stream).folder for stream in streams}
        seen = {}
        for stream in streams:
            if args.quick:
                found = at_first_sight(spark, stream, folders[stream.name], args.paced)
            else:
                found = alone(seen_anew, stream.name, scope, folders[stream.name], args.paced)
            progress(f"  {stream.name}: {' '.join(f'{one.ms:.0f}' for one in found)} ms")
            seen[stream.name] = found
        rows: list[dict[str, Any]] = []
        for stream in streams:
            raced = race(spark, stream, static.of(stream), seen[stream.name], scope.effort)
            rows.append(row(stream.name, seen[stream.name], raced))
            shown = ", ".join(f"{key} {rows[-1][key]}" for key in COLUMNS[2:])
            progress(f"  {stream.name}: {shown}")
    return Report(NAME, rows, summarise(rows))


def _streams(scope: Scope) -> tuple[BatchStream, ...]:
    return batch_streams(scope.size, scope.cycles, scope.batches)


def _session() -> SparkSession:
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def seen_anew(name: str, scope: Scope, static: Path, paced: bool) -> list[Seen]:
    """A stream, by its name, through an engine in a session that begins and ends with it."""
    (stream,) = (stream for stream in _streams(scope) if stream.name == name)
    spark = _session()
    try:
        return at_first_sight(spark, stream, static, paced)
    finally:
        spark.stop()
