"""Spark SQL over live views, prepared, against stock Spark planning each batch.

Three live views (readings of now, who was where in the last 30 s, alarms of the last minute) and two
static tables of 2.5 million rows at scale 1; a batch a second, for a minute. Both start anew for every query and
rate, in processes of their own with the same settings and cached static tables; they take the same batches, of which
all count from the first one on, and must give the same answers to each.
p50_ms, p95_ms and first_ms are milliseconds from "batch known" to "answers as an Arrow table", filling the views
included (fill_ms is that part of it); prepare_ms is what the query took once, beforehand. Stock Spark gets the same
content as DataFrames and plans each batch (spark_p50_ms, spark_p95_ms, spark_first_ms). Its real-time mode is there
for what it can run, joins of a stream with static tables: real_time_* are milliseconds from the batch's being given to
the source until its last answer came out of the join. Whole runs only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.peers.alone import alone
from bench.peers.answers import fingerprint
from bench.peers.real_time_peer import MASTER, seconds_answered
from bench.peers.spark_stock import cached_view, launch_settings
from bench.report import BenchError, Report, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "sql"
COLUMNS = (
    "query",
    "rate",
    "p50_ms",
    "p95_ms",
    "first_ms",
    "prepare_ms",
    "fill_ms",
    "spark_p50_ms",
    "spark_p95_ms",
    "spark_first_ms",
    "real_time_p50_ms",
    "ratio",
    "answers",
)
SHOWN = ("worst_ratio", "static_rows", "switches", "seconds")

VIEWS = {
    "readings": ("sensor BIGINT, value DOUBLE", None, None),
    "presence": ("person BIGINT, room BIGINT, at BIGINT", "at", "30s"),
    "alarms": ("room BIGINT, level INT, at BIGINT", "at", "60s"),
}
QUERIES = {
    "kinds": """
        SELECT s.kind, s.room, r.value
        FROM readings r
        JOIN sensors s ON r.sensor = s.sensor
        WHERE r.value > s.threshold""",
    "who": """
        SELECT p.name, p.team, s.kind, r.value, a.level
        FROM readings r
        JOIN sensors s ON r.sensor = s.sensor
        JOIN alarms a ON a.room = s.room
        JOIN presence w ON w.room = s.room
        JOIN people p ON p.person = w.person
        WHERE r.value > s.threshold""",
    "teams": """
        SELECT p.team, count(DISTINCT w.person) AS people, max(r.value - s.threshold) AS excess
        FROM readings r
        JOIN sensors s ON r.sensor = s.sensor
        JOIN alarms a ON a.room = s.room
        JOIN presence w ON w.room = s.room
        JOIN people p ON p.person = w.person
        WHERE r.value > s.threshold
        GROUP BY p.team""",
    "above": """
        SELECT p.name, s.kind, r.value
        FROM readings r
        JOIN sensors s ON r.sensor = s.sensor
        JOIN presence w ON w.room = s.room
        JOIN people p ON p.person = w.person
        WHERE r.value > (SELECT avg(x.value) + stddev(x.value) FROM readings x)""",
}
# Those that real-time mode can run: it joins a stream with static tables only.
IN_REAL_TIME = {
    "kinds": """
        SELECT r.number, r.given, s.kind, s.room, r.value
        FROM stream_readings r
        JOIN sensors s ON r.sensor = s.sensor
        WHERE r.value > s.threshold"""
}
_SENSORS, _PEOPLE, _ROOMS = 2_000_000, 500_000, 2_000
_PRESENT_A_SECOND, _ALARMS_A_SECOND = 1_000, 4


class AnswersDifferError(BenchError):
    """The prepared query and stock Spark answered the same batch differently."""


@dataclass(frozen=True)
class Batch:
    """What arrives in one second (`now`, by view), and what each view then holds (`held`)."""

    time: int
    now: dict[str, pa.Table]
    held: dict[str, pa.Table]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument(
        "--scale", type=float, help="size of the static tables (default 1; quick 0.05)"
    )
    parser.add_argument(
        "--rate",
        type=int,
        action="append",
        help="readings a second; repeatable (default 1000 and 5000; quick 1000)",
    )
    parser.add_argument("--seconds", type=int, help="batches of a stream (default 60; quick 5)")
    parser.add_argument("--seed", type=int, default=7, help="seed of tables and batches")


def batches(rate: int, count: int, sensors: int, people: int, seed: int) -> Iterator[Batch]:
    """Batches of one second each, the first after a minute so that all windows are full."""
    rng = np.random.default_rng((seed, rate))
    kept: dict[str, list[pa.Table]] = {"presence": [], "alarms": []}
    for second in range(59 + count):
        at = second * 1_000 + 1_000

        def columns(n: int, at: int = at, **given: Any) -> pa.Table:
            return pa.table({**given, "at": pa.array(np.full(n, at))})

        now = {
            "readings": pa.table(
                {"sensor": rng.integers(0, sensors, rate), "value": rng.random(rate) * 100}
            ),
            "presence": columns(
                _PRESENT_A_SECOND,
                person=rng.integers(0, people, _PRESENT_A_SECOND),
                room=rng.integers(0, _ROOMS, _PRESENT_A_SECOND),
            ),
            "alarms": columns(
                _ALARMS_A_SECOND,
                room=rng.integers(0, _ROOMS, _ALARMS_A_SECOND),
                level=rng.integers(1, 4, _ALARMS_A_SECOND).astype(np.int32),
            ),
        }
        for name, width in (("presence", 30), ("alarms", 60)):
            kept[name] = [*kept[name], now[name]][-width:]
        if second >= 59:
            held = {name: pa.concat_tables(parts) for name, parts in kept.items()}
            yield Batch(at, now, {"readings": now["readings"], **held})


def static_tables(spark: SparkSession, sensors: int, people: int) -> None:
    """Registers and caches the static tables."""
    frames = {
        "sensors": spark.range(sensors).selectExpr(
            "id AS sensor",
            f"CAST(pmod(hash(id), {_ROOMS}) AS BIGINT) AS room",
            "concat('kind ', id % 7) AS kind",
            "(id % 90) + 5.0D AS threshold",
        ),
        "people": spark.range(people).selectExpr(
            "id AS person", "concat('Person ', id) AS name", "concat('team ', id % 40) AS team"
        ),
    }
    for name, frame in frames.items():
        cached_view(name, frame)


def _start(real_time: bool = False) -> SparkSession:
    from pyspark.sql import SparkSession

    import sparkext

    builder = SparkSession.builder
    settings = {**launch_settings(4.0), "spark.log.level": "ERROR"}
    if real_time:
        # It joins by broadcast only, of sides of any size.
        settings |= {"spark.master": MASTER, "spark.sql.autoBroadcastJoinThreshold": "4g"}
        settings |= {"spark.sql.adaptive.enabled": "false", "spark.cqels.enabled": "false"}
        # Its sink is a function of Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for key, value in settings.items():
        builder = builder.config(key, value)
    return sparkext.configure(builder).getOrCreate()


def _stock(spark: SparkSession, batch: Batch, text: str) -> pa.Table:
    for name, table in batch.held.items():
        spark.createDataFrame(table).createOrReplaceTempView(f"stock_{name}")
    for name in VIEWS:
        text = text.replace(f" {name} ", f" stock_{name} ")
    return spark.sql(text).toArrow()


@dataclass(frozen=True)
class Stream:
    """The batches that one query is asked of, and how large the static tables are."""

    query: str
    rate: int
    seconds: int
    sensors: int
    people: int
    seed: int

    def batches(self) -> Iterator[Batch]:
        """The same each time."""
        return batches(self.rate, self.seconds, self.sensors, self.people, self.seed)


@dataclass
class Taken:
    """What one side needed, in milliseconds, a value for each batch, and what it answered."""

    ms: list[float] = field(default_factory=list)
    fill_ms: list[float] = field(default_factory=list)
    fingerprints: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    prepare_ms: float = 0.0
    switches: int = 0

    def note(self, ms: float, table: pa.Table) -> None:
        """Add a batch."""
        self.ms.append(ms)
        self.fingerprints.append(fingerprint(table))
        self.answers.append(table.num_rows)

    def columns(self, prefix: str = "") -> dict[str, float]:
        """Its median, the 95th percentile, and its first batch."""
        return {
            f"{prefix}p50_ms": round(float(np.median(self.ms)), 2),
            f"{prefix}p95_ms": round(float(np.percentile(self.ms, 95)), 2),
            f"{prefix}first_ms": round(self.ms[0], 2),
        }


def ask_prepared(spark: SparkSession, stream: Stream) -> Taken:
    """The prepared query over live views; the session has the static tables."""
    import sparkext

    done = Taken()
    with closing(sparkext.Engine(spark)) as engine:
        views = {name: engine.live_view(name, *declared) for name, declared in VIEWS.items()}
        begun = time.perf_counter()
        prepared = engine.prepare(QUERIES[stream.query])
        done.prepare_ms = (time.perf_counter() - begun) * 1e3
        for number, batch in enumerate(stream.batches()):
            begun = time.perf_counter()
            views["readings"].replace(batch.now["readings"])
            for name in ("presence", "alarms"):
                # The first batch brings the whole window.
                views[name].append((batch.held if number == 0 else batch.now)[name])
                views[name].advance_to(batch.time)
            filled = time.perf_counter()
            found = prepared.run()
            done.fill_ms.append((filled - begun) * 1e3)
            done.note((time.perf_counter() - begun) * 1e3, found)
        done.switches = len(prepared.history())
    return done


def ask_stock(spark: SparkSession, stream: Stream) -> Taken:
    """Stock Spark, which plans each batch; the session has the static tables."""
    done = Taken()
    for batch in stream.batches():
        begun = time.perf_counter()
        found = _stock(spark, batch, QUERIES[stream.query])
        done.note((time.perf_counter() - begun) * 1e3, found)
    return done


def ask_in_real_time(spark: SparkSession, stream: Stream) -> Taken:
    """Stock Spark's real-time mode, which has the rows of each second at once; the session has the static tables."""
    ms, tables = seconds_answered(
        spark,
        IN_REAL_TIME[stream.query],
        "stream_readings",
        (batch.now["readings"] for batch in stream.batches()),
    )
    done = Taken()
    for took, table in zip(ms, tables, strict=True):
        done.note(took, table)
    return done


SIDES = {"prepared": ask_prepared, "stock": ask_stock, "real-time": ask_in_real_time}


def ask_anew(side: str, stream: Stream) -> Taken:
    """One of SIDES in a session that begins and ends with it."""
    spark = _start(real_time=side == "real-time")
    try:
        static_tables(spark, stream.sensors, stream.people)
        return SIDES[side](spark, stream)
    finally:
        spark.stop()


def row(stream: Stream, ours: Taken, stock: Taken, real_time: Taken | None) -> dict[str, Any]:
    """One line of the result; raises AnswersDifferError where two sides answered a batch differently."""
    for peer in (stock, real_time):
        if peer is None:
            continue
        both = zip(ours.fingerprints, peer.fingerprints, strict=True)
        for number, (one, other) in enumerate(both):
            if one != other:
                raise AnswersDifferError(
                    f"{stream.query} at {stream.rate}, batch {number}: {one} prepared, {other} of stock"
                    " Spark (rows and a hash)"
                )
    return {
        "query": stream.query,
        "rate": stream.rate,
        **ours.columns(),
        "prepare_ms": round(ours.prepare_ms, 2),
        "fill_ms": round(float(np.median(ours.fill_ms)), 2),
        **stock.columns("spark_"),
        **(real_time.columns("real_time_") if real_time else {}),
        "ratio": round(float(np.median(stock.ms) / np.median(ours.ms)), 1),
        "answers": round(float(np.median(ours.answers))),
    }


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when the two disagree."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    scale, seconds = default(args.scale, 1.0, 0.05), default(args.seconds, 60, 5)
    sensors, people = round(_SENSORS * scale), round(_PEOPLE * scale)
    progress(f"static tables of {sensors + people:,} rows")
    rows, switches = [], 0
    # The quick run has both sides in one session, one after the other.
    spark = _start() if args.quick else None
    try:
        if spark:
            static_tables(spark, sensors, people)
        for rate in args.rate or default(None, [1_000, 5_000], [1_000]):
            for query in QUERIES:
                progress(f"  {query} at {rate:,} readings a second")
                stream = Stream(query, rate, seconds, sensors, people, args.seed)
                ours, stock = (
                    SIDES[side](spark, stream) if spark else alone(ask_anew, side, stream)
                    for side in ("prepared", "stock")
                )
                # Never in a session that others use: its tasks hold their slots.
                in_real_time = query in IN_REAL_TIME and not args.quick
                real_time = alone(ask_anew, "real-time", stream) if in_real_time else None
                rows.append(row(stream, ours, stock, real_time))
                switches += ours.switches
    finally:
        if spark:
            spark.stop()
    summary = {
        "worst_ratio": min(row["ratio"] for row in rows),
        "static_rows": {"sensors": sensors, "people": people},
        "switches": switches,
        "seconds": seconds,
        "scale": scale,
    }
    return Report(NAME, rows, summary)
