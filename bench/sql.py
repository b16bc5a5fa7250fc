"""Spark SQL over live views, prepared, against stock Spark planning each batch.

Three live views (readings of now, who was where in the last 30 s, alarms of the last minute) and two
static tables of 2.5 million rows at scale 1; a batch a second. Both answer the same batches in turn
in one session and must give the same answers; of the warm-ups stock Spark answers the last five.
p50_ms is the median of milliseconds from "batch known" to "answers as an Arrow table", filling the
views included (fill_ms is that part of it); stock Spark has its static tables cached and gets the
same content as DataFrames (spark_p50_ms).
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.peers.spark_stock import launch_settings
from bench.report import BenchError, Report, progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = "sql"
COLUMNS = ("query", "rate", "p50_ms", "fill_ms", "spark_p50_ms", "ratio", "answers")
SHOWN = ("worst_ratio", "static_rows", "switches", "evaluations", "warm_ups")

VIEWS = {
    "readings": ("sensor BIGINT, value DOUBLE", None, None),
    "presence": ("person BIGINT, room BIGINT, at BIGINT", "at", "30s"),
    "alarms": ("room BIGINT, level INT, at BIGINT", "at", "60s"),
}
QUERIES = {
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
    parser.add_argument("--evaluations", type=int, help="measured batches (default 20; quick 5)")
    parser.add_argument(
        "--warm-ups",
        type=int,
        help="batches before them, of which stock Spark answers the last five (default 60; quick 5)",
    )
    parser.add_argument("--seed", type=int, default=7, help="seed of tables and batches")


def batches(rate: int, count: int, sensors: int, people: int, seed: int) -> Iterator[Batch]:
    """Batches of one second each, the first after a minute so that all windows are full."""
    rng = np.random.default_rng((seed, rate))
    kept: dict[str, list[pa.Table]] = {"presence": [], "alarms": []}
    for second in range(60 + count):
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


def static_tables(spark: SparkSession, sensors: int, people: int) -> dict[str, int]:
    """Registers and caches the static tables; returns their rows."""
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
    rows = {}
    for name, frame in frames.items():
        cached = frame.cache()
        rows[name] = cached.count()
        cached.createOrReplaceTempView(name)
    return rows


def _start() -> SparkSession:
    from pyspark.sql import SparkSession

    import sparkext

    builder = SparkSession.builder
    for key, value in {**launch_settings(4.0), "spark.log.level": "ERROR"}.items():
        builder = builder.config(key, value)
    return sparkext.configure(builder).getOrCreate()


def _stock(spark: SparkSession, batch: Batch, text: str) -> pa.Table:
    for name, table in batch.held.items():
        spark.createDataFrame(table).createOrReplaceTempView(f"stock_{name}")
    for name in VIEWS:
        text = text.replace(f" {name} ", f" stock_{name} ")
    return spark.sql(text).toArrow()


def _bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError when the two disagree."""

    def default(given: Any, full: Any, quick: Any) -> Any:
        return given if given is not None else quick if args.quick else full

    scale = default(args.scale, 1.0, 0.05)
    evaluations = default(args.evaluations, 20, 5)
    warm_ups = default(args.warm_ups, 60, 5)
    sensors, people = round(_SENSORS * scale), round(_PEOPLE * scale)
    progress(f"static tables of {sensors + people:,} rows")
    spark = _start()
    static_rows = static_tables(spark, sensors, people)
    rows, switches = [], 0
    try:
        for rate in args.rate or default(None, [1_000, 5_000], [1_000]):
            for query, text in QUERIES.items():
                progress(f"  {query} at {rate:,} readings a second")
                stream = batches(rate, warm_ups + evaluations, sensors, people, args.seed)
                row, changed = _measure(spark, query, text, stream, warm_ups)
                rows.append({**row, "rate": rate})
                switches += changed
    finally:
        spark.stop()
    summary = {
        "worst_ratio": min(row["ratio"] for row in rows),
        "static_rows": static_rows,
        "switches": switches,
        "evaluations": evaluations,
        "warm_ups": warm_ups,
        "scale": scale,
    }
    return Report(NAME, rows, summary)


def _measure(
    spark: SparkSession, query: str, text: str, stream: Iterator[Batch], warm_ups: int
) -> tuple[dict[str, Any], int]:
    """One query over a stream of batches: its row of the result, and how often its order changed."""
    import sparkext

    engine = sparkext.Engine(spark)
    views = {name: engine.live_view(name, *declared) for name, declared in VIEWS.items()}
    prepared = engine.prepare(text)
    ours, fill, stock, answers = [], [], [], []
    for number, batch in enumerate(stream):
        begun = time.perf_counter()
        views["readings"].replace(batch.now["readings"])
        for name in ("presence", "alarms"):
            # The first batch brings the whole window.
            views[name].append((batch.held if number == 0 else batch.now)[name])
            views[name].advance_to(batch.time)
        filled = time.perf_counter()
        found = prepared.run()
        ended = time.perf_counter()
        if number < warm_ups - 5:
            continue
        expected = _stock(spark, batch, text)
        stock_ended = time.perf_counter()
        if _bag(found) != _bag(expected):
            raise AnswersDifferError(
                f"{query}, batch {number}: {found.num_rows} answers prepared,"
                f" {expected.num_rows} of stock Spark, or other values"
            )
        if number >= warm_ups:
            ours.append(ended - begun)
            fill.append(filled - begun)
            stock.append(stock_ended - ended)
            answers.append(found.num_rows)
    switches = len(prepared.history())
    engine.close()
    middle = {
        name: float(np.median(times)) * 1_000
        for name, times in (("ours", ours), ("fill", fill), ("stock", stock))
    }
    return {
        "query": query,
        "p50_ms": round(middle["ours"], 2),
        "fill_ms": round(middle["fill"], 2),
        "spark_p50_ms": round(middle["stock"], 1),
        "ratio": round(middle["stock"] / middle["ours"], 1),
        "answers": round(float(np.median(answers))),
    }, switches
