"""The adaptive engine against every fixed join order, on streams whose selectivities change.

Figure 3 of the CQELS report, scaled up, and its relatives (`bench.drifting`): two and three
windows, 6 to 10 relations, one evaluation a second over some 17,000 arrivals or more. For each
batch, over the same window contents and with equal answers asserted: the evaluation by the engine
itself (as elements are pushed: statistics and decision included, moving windows not), and fixed
orders, run through the same prepared plans. `hindsight` is the fastest order of each batch.

Fixed orders are the 50 best by estimated cost, in turn of each phase and of all phases together
(those that are estimated to be equal to another one in all phases come last), and those that the
engine takes. All are warmed up in each phase of the stream; those that are then 1.25 times as slow
as the fastest in every phase, and 1.3 times over all phases, are measured no further, and already
after the first rounds by wider margins, except what the engine keeps prepared. Each order runs once
in each batch, after the engine's evaluation; those near the fastest, and what the engine ran, run
several times, in turn; each time twice, and the second run counts, which finds in the processor's
caches what the first one has left there, and not what another order has. The engine's evaluation,
less its statistics and decision, is a run of the order that it chose; the median of these counts,
and statistics and decision are added to it. Of another order the median of its times over those of
the engine's order in the same turns counts (`stream_race.beside`). `possible_gain` is that of
hindsight: a stream hardly allows more. adaptive_once_ms is the sum of the single evaluations as
they were. When the best orders by cost are warm, the engine sees each phase until it has tried
there what it wants to try, or for a minute of event time; then the orders that it took are warmed
up, too, and measuring begins. So plans are prepared then, and were compared by the engine when the
other orders had run. prepare_ms is what one takes, in the background. The JSON file is written anew
after each stream, and with `--resume` gone on with: the streams take two hours and more together.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from adaptive.plan import describe
from bench import plan_search, resume
from bench.drifting import DriftingWorld, streams
from bench.report import Report, progress
from bench.stream_race import Effort, Outcome, StreamRace

NAME = "adapt"
COLUMNS = (
    "stream",
    "relations",
    "windows",
    "batches",
    "adaptive_ms",
    "best_fixed_ms",
    "hindsight_ms",
    "regret",
    "gain",
    "possible_gain",
    "switches",
    "optimizer_share",
    "orders",
    "measured",
)
SHOWN = ("regret", "gain", "steady", "optimizer_share", "switches", "update_us_at_8")

FULL = Effort(orders=50, warm_rounds=2, runs=5, settling=60)
QUICK = Effort(orders=6, warm_rounds=1, runs=1, settling=4)
# Large enough for evaluations well over 20 ms under the best order, where the machine is not busy.
FULL_SIZE, QUICK_SIZE = 1.0, 0.05
QUICK_STREAMS = ("figure 3", "three windows", "steady")

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
        help=f"only this stream; repeatable (default all; quick {', '.join(QUICK_STREAMS)})",
    )
    parser.add_argument("--cycles", type=int, help="rounds of the phases (default 3; quick 1)")
    parser.add_argument("--orders", type=int, help="fixed orders tried (default 50; quick 6)")
    parser.add_argument(
        "--size",
        type=float,
        help=f"factor of all fan-outs (default {FULL_SIZE}; quick {QUICK_SIZE})",
    )
    resume.add_argument(parser, "streams")


def row(outcome: Outcome) -> dict[str, Any]:
    """One line of the result; times are sums over the batches."""
    fixed = np.array(list(outcome.orders.values()))
    names = list(outcome.orders)
    best = int(fixed.sum(axis=1).argmin())
    # An order that the engine took late has no time for earlier batches: its own batches count.
    hindsight = np.minimum(fixed.min(axis=0), _without_decision(outcome))
    adaptive, ideal = sum(outcome.adaptive_ms), float(hindsight.sum())
    once = sum(batch.ms for batch in outcome.batches)
    optimizing = sum(batch.optimizer_ms for batch in outcome.batches)
    best_ms = float(fixed[best].sum())
    return {
        "stream": outcome.stream.name,
        "relations": outcome.stream.relations,
        "windows": outcome.stream.windows,
        "batches": len(outcome.batches),
        "adaptive_ms": round(adaptive, 2),
        "best_fixed_ms": round(best_ms, 2),
        "hindsight_ms": round(ideal, 2),
        "regret": round(adaptive / ideal, 4),
        "gain": round(best_ms / adaptive, 4),
        "possible_gain": round(best_ms / ideal, 4),
        "switches": outcome.switches,
        "optimizer_share": round((optimizing + outcome.search_ms) / (once - optimizing), 5),
        "orders": outcome.candidates,
        "measured": len(outcome.orders),
        "drifting": outcome.stream.drifting,
        "adaptive_once_ms": round(once, 2),
        "least_batch_ms": round(float(hindsight.min()), 2),
        "answers": round(float(np.median([batch.answers for batch in outcome.batches]))),
        "prepare_ms": round(outcome.prepare_ms, 1),
        "best_fixed": names[best],
        "fixed_ms": {name: round(sum(times), 2) for name, times in outcome.orders.items()},
        "batch_ms": [
            {
                "phase": batch.phase,
                "state": batch.state,
                "trying": batch.trying,
                "order": describe(batch.order),
                "adaptive": round(adaptive, 2),
                "optimizer": round(batch.optimizer_ms, 3),
                "hindsight": round(float(least), 2),
                "fixed": [round(float(ms), 2) for ms in times],
            }
            for batch, adaptive, least, times in zip(
                outcome.batches, outcome.adaptive_ms, hindsight, fixed.T, strict=True
            )
        ],
    }


def _without_decision(outcome: Outcome) -> np.ndarray:
    spent = zip(outcome.adaptive_ms, outcome.batches, strict=True)
    return np.array([ms - batch.optimizer_ms for ms, batch in spent])


def summarise(rows: list[dict[str, Any]], search: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst over the streams; None where no stream says anything about it."""
    gains = [r["gain"] for r in rows if r["drifting"]]
    steady = [r["gain"] for r in rows if not r["drifting"]]
    at_8 = [r["update_us"] for r in search if r["relations"] == 8]
    return {
        "regret": max(r["regret"] for r in rows),
        "gain": min(gains, default=None),
        "steady": min(steady, default=None),
        "optimizer_share": max(r["optimizer_share"] for r in rows),
        "switches": sum(r["switches"] for r in rows),
        "update_us_at_8": max(at_8, default=None),
        "search": search,
    }


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when two orders disagree."""
    effort = QUICK if args.quick else FULL
    if args.orders:
        effort = replace(effort, orders=args.orders)
    cycles = args.cycles or (1 if args.quick else 3)
    size = args.size or (QUICK_SIZE if args.quick else FULL_SIZE)
    now = resume.conditions(**asdict(effort), cycles=cycles, size=size)
    before = {found["stream"]: found for found in resume.measured_before(args, now).rows}
    chosen = streams(cycles)
    names = [stream.name for stream in chosen]
    unknown = sorted(set(args.stream or ()) - set(names))
    if unknown:
        raise SystemExit(f"unknown stream {', '.join(unknown)}; there are {', '.join(names)}")
    progress("measuring the search")
    search = plan_search.measure_all(args.quick)
    world = DriftingWorld.of_size(size)
    wanted = {*(args.stream or (QUICK_STREAMS if args.quick else names))}

    def report() -> Report:
        rows = [before[name] for name in names if name in before]
        return Report(NAME, rows, {**summarise(rows, search), "conditions": now})

    if wanted <= set(before):
        return report()
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    engine = sparkext.Engine(builder.getOrCreate())
    try:
        with tempfile.TemporaryDirectory(prefix="bench-adapt-") as folder:
            progress("making and loading the static data")
            world.write(Path(folder, "static.nt"))
            engine.load_static(Path(folder, "static.nt"), progress=False)
            for stream in chosen:
                if stream.name in wanted - set(before):
                    found = row(StreamRace(engine, world, stream, effort).run())
                    before[stream.name] = found
                    done = ", ".join(f"{key} {found[key]}" for key in COLUMNS[4:12])
                    progress(f"  {stream.name}: {done}")
                    if args.json:  # the next stream takes minutes, and may fail
                        report().write(args.json)
    finally:
        engine.close()
    return report()
