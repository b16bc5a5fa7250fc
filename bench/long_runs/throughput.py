"""Sightings a second that go through, from rows in the caller's hand to decoded answers, with and without a checkpoint.

The world and the queries are the CQELS report's. The rows of each second of stream time, an Arrow table of texts that
is dictionary-encoded or plain, are pushed as fast as they are taken in, all answers decoded. A rate goes through if no
backlog builds up: the seconds together, from the first one on, take no longer than they last, and so do the last ten.
Rates grow by half, to 450,000, until one does not go through; the row has the greatest that did. With a checkpoint
all is committed every second (`spark.cqels.checkpoint.interval`); runs with and without take turns. checkpoint_cost
is the wall time that it adds, at the greatest rate that goes through with it, as the median of --pairs pairs of runs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from bench.arrivals.engine_peer import start_session
from bench.arrivals.rows import second_tables
from bench.data.world import DEFAULT_SEED
from bench.data.world_files import prepare_world, world_folder
from bench.long_runs.engine import Fed, WorldEngine
from bench.report import Report, progress

NAME = "throughput"
COLUMNS = (
    "way",
    "query",
    "rate",
    "rate_with_checkpoint",
    "p50_ms",
    "p95_ms",
    "checkpoint_cost",
    "answers",
)
_LAST = 10
_GROWTH = 1.5
_MOST_RATE = 450_000  # of more, the windows of half a minute would not fit the heap


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--scale", type=float, help="size of the world (default 0.1; quick 0.02)")
    parser.add_argument("--seconds", type=int, help="of stream time a run (default 40; quick 4)")
    parser.add_argument("--pairs", type=int, help="of runs at one rate (default 3; quick 1)")
    parser.add_argument("--from", dest="begin", type=int, help="first rate (default 50000)")
    parser.add_argument("--query", action="append", choices=("q1", "q2"), help="only this one")
    parser.add_argument(
        "--way", action="append", choices=("text", "dictionary"), help="only this one"
    )
    parser.add_argument("--data", type=Path, help="folder for the world's files, used again there")


def run(args: argparse.Namespace) -> Report:
    """Runs the bench."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    scale, seconds = default(args.scale, 0.1, 0.02), default(args.seconds, 40, 4)
    rows = []
    with world_folder(args.data) as folder:
        world = prepare_world(folder, scale, DEFAULT_SEED)
        spark = start_session(scale, {})
        try:
            for way in args.way or ("dictionary", "text"):
                for query in args.query or ("q1", "q2"):
                    given = _Runs(spark, folder, world, way, query, seconds, args.quick)
                    rows.append(given.row(args.begin or 50_000, default(args.pairs, 3, 1)))
        finally:
            spark.stop()
    return Report(NAME, rows, {"scale": scale, "seconds": seconds})


class _Runs:
    """Runs of one query and way, at growing rates."""

    def __init__(
        self,
        spark: SparkSession,
        folder: Path,
        world: Any,
        way: str,
        query: str,
        seconds: int,
        quick: bool,
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._world = world
        self._way = way
        self._query = query
        self._seconds = seconds
        self._quick = quick

    def row(self, begin: int, pairs: int) -> dict[str, Any]:
        """One line of the result."""
        rates, fed = {False: 0, True: 0}, {}
        going_on = {False, True}
        rate = begin
        while going_on and rate <= _MOST_RATE:
            tables = self._tables(rate)
            for kept in sorted(going_on):
                done = self._run(tables, kept)
                if self._goes_through(done):
                    rates[kept], fed[kept] = rate, done
                else:
                    going_on.discard(kept)
            rate = round(rate * _GROWTH / 1000) * 1000
            if self._quick:
                break
        best = fed.get(False) or self._run(self._tables(begin), False)
        ms = sorted(best.ms)
        return {
            "way": self._way,
            "query": self._query,
            "rate": rates[False],
            "rate_with_checkpoint": rates[True],
            "p50_ms": round(statistics.median(ms), 1),
            "p95_ms": round(ms[int(len(ms) * 0.95)], 1),
            "checkpoint_cost": round(self._cost(rates[True] or begin, pairs), 3),
            "answers": best.answers,
        }

    def _cost(self, rate: int, pairs: int) -> float:
        """What a checkpoint adds to the wall time, as a part of it."""
        tables = self._tables(rate)
        ratios = []
        for _ in range(pairs):
            without, kept = self._run(tables, False), self._run(tables, True)
            ratios.append(kept.seconds / without.seconds - 1.0)
        return statistics.median(ratios)

    def _tables(self, rate: int) -> list[pa.Table]:
        tables = list(second_tables(self._world, rate, self._seconds))
        if self._way == "text":
            return tables
        columns = {name: pa.dictionary(pa.int32(), pa.string()) for name in ("person", "room")}
        return [table.cast(pa.schema(columns)) for table in tables]

    def _run(self, tables: list[pa.Table], kept: bool) -> Fed:
        with tempfile.TemporaryDirectory(prefix="bench-throughput-") as folder:
            checkpoint = Path(folder) / "checkpoint" if kept else None
            world = WorldEngine(self._spark, self._folder, self._query, checkpoint)
            with closing(world):
                for second, rows in enumerate(tables, 1):
                    world.feed(rows, second * 1000)
                    if self._is_hopeless(world.fed):
                        break
        fed = world.fed
        progress(
            f"{self._way}, {self._query}, {len(tables[0]):,} a second"
            f"{', checkpoint' if kept else ''}: {statistics.mean(fed.ms):.0f} ms a second"
        )
        return fed

    def _is_hopeless(self, fed: Fed) -> bool:
        """Whether what is left cannot catch up."""
        return fed.seconds > 1.5 * self._seconds

    def _goes_through(self, fed: Fed) -> bool:
        last = fed.ms[-_LAST:]
        return (
            len(fed.ms) == self._seconds
            and fed.seconds <= self._seconds
            and sum(last) <= 1000 * len(last)
        )
