"""The ways into a stream: how many elements a second each takes in, with one and with 100 queries registered.

Readings of sensors at places, each an element of one triple, in windows of ten seconds with 100,000 readings each
(`--elements`). Queries ask for the readings of one area, with RANGE and STEP of ten seconds: a join with 1,000 static
triples, each for another area. elements_per_s and us_per_element are over the wall time from readings in the caller's
hand, in the form that the way takes, until the windows have moved and all that is due has been evaluated;
evaluation_us is the part of all queries' evaluations in it. `push` goes on for --budget seconds and then ends its
window, the others take whole windows, one a block, until the budget is spent; replay has one recorded file of ten
windows. Observations are rows of which a mapping makes two triples with one subject, which queries ask for together,
with and without `spark.cqels.starPatterns.enabled`. All counts from the first element on. The answers of every query
are compared with what the readings say.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import sparkext
from bench.report import Report, progress
from bench.ways_in.engine import ReadingsEngine
from bench.ways_in.readings import Readings
from bench.ways_in.replaying import NAME as REPLAY
from bench.ways_in.replaying import record, replay_file
from bench.ways_in.ways import WAYS, Way

NAME = "ways"
NAMES = (*(way.name for way in WAYS), REPLAY)
QUICK_NAMES = (*(way.name for way in WAYS if way.quick), REPLAY)
COLUMNS = (
    "way",
    "queries",
    "elements_per_s",
    "us_per_element",
    "evaluation_us",
    "elements",
    "windows",
)
SHOWN = ("elements_a_window", "budget_s")
SETTINGS = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    "spark.driver.memory": "4g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_RECORDED_WINDOWS = 10


@dataclass
class Taken:
    """What went in by some way: the readings of each window, seconds, and the part of evaluations in them."""

    windows: list[Readings]
    seconds: float
    evaluation_seconds: float

    def row(self, way: str, queries: int) -> dict[str, Any]:
        """One line of the result."""
        elements = sum(map(len, self.windows))
        return {
            "way": way,
            "queries": queries,
            "elements_per_s": round(elements / self.seconds),
            "us_per_element": round(self.seconds / elements * 1e6, 3),
            "evaluation_us": round(self.evaluation_seconds / elements * 1e6, 3),
            "elements": elements,
            "windows": len(self.windows),
        }


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--way",
        action="append",
        choices=NAMES,
        help="only this way; repeatable (default all; quick without observations)",
    )
    parser.add_argument(
        "--queries",
        type=int,
        action="append",
        help="queries registered; repeatable (default 1 and 100; quick 1 and 20)",
    )
    parser.add_argument(
        "--elements", type=int, help="elements of a window (default 100000; quick 5000)"
    )
    parser.add_argument(
        "--budget", type=float, help="seconds for each way and number (default 10; quick 0.5)"
    )


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError where what came in is not what was given."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    window, budget_s = default(args.elements, 100_000, 5_000), default(args.budget, 10.0, 0.5)
    rows = []
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        for queries in default(args.queries, (1, 100), (1, 20)):
            for name in args.way or (QUICK_NAMES if args.quick else NAMES):
                progress(f"{name}, {queries} queries")
                rows.append(measure(spark, name, queries, window, budget_s).row(name, queries))
    finally:
        spark.stop()
    return Report(NAME, rows, {"elements_a_window": window, "budget_s": budget_s})


def measure(spark: SparkSession, name: str, queries: int, window: int, budget_s: float) -> Taken:
    """One way in, with a number of queries in an engine of its own."""
    if name == REPLAY:
        return _replay(spark, queries, window)
    kind = next(way for way in WAYS if way.name == name)
    with tempfile.TemporaryDirectory(prefix="bench-ways-") as folder:
        mapping = None
        if kind.mapping is not None:
            mapping = Path(folder) / "mapping.ttl"
            mapping.write_text(kind.mapping, encoding="utf-8")
        with closing(ReadingsEngine(spark, queries, mapping, kind.observed, kind.keys)) as engine:
            way = kind(engine)
            with closing(way):
                taken = _feed(engine, way, window, budget_s)
            engine.check(name, taken.windows)
    return taken


def _feed(engine: ReadingsEngine, way: Way, window: int, budget_s: float) -> Taken:
    """Hand over windows until the time is spent."""
    taken = Taken([], 0.0, 0.0)
    evaluated = engine.evaluation_seconds
    while taken.seconds < budget_s:
        readings = Readings.of_window(len(taken.windows), window)
        given = way.in_hand(readings)
        began = time.perf_counter()
        count = way.take(given, began + budget_s - taken.seconds)
        engine.stream.advance_to(readings.end_ms)
        taken.seconds += time.perf_counter() - began
        taken.windows.append(readings if count is None else readings.first(count))
    taken.evaluation_seconds = engine.evaluation_seconds - evaluated
    return taken


def _replay(spark: SparkSession, queries: int, window: int) -> Taken:
    windows = [Readings.of_window(number, window) for number in range(_RECORDED_WINDOWS)]
    with (
        tempfile.TemporaryDirectory(prefix="bench-ways-") as folder,
        closing(ReadingsEngine(spark, queries)) as engine,
    ):
        path = Path(folder) / "readings.nq"
        record(windows, path)
        began = time.perf_counter()
        replay_file(engine, path)
        seconds = time.perf_counter() - began
        engine.check(REPLAY, windows)
        return Taken(windows, seconds, engine.evaluation_seconds)
