"""A week of a stream in ten minutes: whether memory and the slowest evaluations stay as they are.

100 elements a second, a minute of stream time at once: readings, each an element with an IRI that was never there
before, of sensors in 1,000 rooms, and alarms. Four queries: counts by area each minute, rooms that are new in five
minutes, an alarm after a door was opened within two (MATCH), and a stream of triples that a query makes and another
reads. All is in a checkpoint. Four times a stream-day (quick: every five minutes) the garbage is collected and memory
is read. A slope is that of a straight line through what was read after the first stream-day (quick: after 20 minutes),
as a part of the mean, for a stream-day.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.long_runs.memory import Held, held
from bench.report import Report, progress
from bench.ways import SETTINGS
from static_data.terms import Iri

NAME = "soak"
COLUMNS = ("hour", "heap", "java", "python", "code", "terms", "p50_ms", "p99_ms", "checkpoint")
E = "http://example.org/"
READINGS, ALARMS, LOUD = f"{E}readings", f"{E}alarms", f"{E}loud"
SENSORS, ROOMS, AREAS = 5_000, 1_000, 20
RATE = 100
_MINUTE = 60_000
_DAY = 24 * 60
_BEGIN = 1_767_225_600_000

STATIC = "".join(
    [f"<{E}sensor/{n}> <{E}in> <{E}room/{n % ROOMS}> .\n" for n in range(SENSORS)]
    + [f"<{E}room/{n}> <{E}area> <{E}area/{n % AREAS}> .\n" for n in range(ROOMS)]
)
QUERIES = {
    "areas": f"""PREFIX : <{E}> REGISTER RSTREAM :areas AS SELECT ?area (COUNT(*) AS ?n)
        FROM NAMED WINDOW :w ON :readings [RANGE PT1M STEP PT1M]
        WHERE {{ WINDOW :w {{ ?reading :by ?sensor }} ?sensor :in ?room . ?room :area ?area }} GROUP BY ?area""",
    "rooms": f"""PREFIX : <{E}> REGISTER ISTREAM :rooms AS SELECT ?room
        FROM NAMED WINDOW :w ON :readings [RANGE PT5M STEP PT1M]
        FROM NAMED WINDOW :a ON :alarms [RANGE PT5M]
        WHERE {{ WINDOW :w {{ ?reading :by ?sensor }} WINDOW :a {{ ?room :alarm ?alarm }} ?sensor :in ?room }}""",
    "opened": f"""PREFIX : <{E}> REGISTER RSTREAM :opened AS SELECT ?room ?alarm
        FROM NAMED WINDOW :w ON :alarms [RANGE PT5M]
        EVENT ON :w {{ ?room :opened ?door }} AS A EVENT ON :w {{ ?room :alarm ?alarm }} AS B
        WHERE {{ MATCH CHRONOLOGICAL {{ A SEQ B WITHIN PT2M }} }}""",
    LOUD: f"""PREFIX : <{E}> REGISTER RSTREAM :loud AS CONSTRUCT {{ ?room :loud ?alarm }}
        FROM NAMED WINDOW :a ON :alarms [RANGE PT1M STEP PT1M] WHERE {{ WINDOW :a {{ ?room :alarm ?alarm }} }}""",
    "loudest": f"""PREFIX : <{E}> REGISTER RSTREAM :loudest AS SELECT ?room (COUNT(*) AS ?n)
        FROM NAMED WINDOW :l ON :loud [RANGE PT10M STEP PT5M]
        WHERE {{ WINDOW :l {{ ?room :loud ?alarm }} }} GROUP BY ?room""",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--hours", type=float, help="of stream time (default 168, a week; quick 1)")


def run(args: argparse.Namespace) -> Report:
    """Runs the bench."""
    hours = args.hours or (1.0 if args.quick else 168.0)
    minutes = round(hours * 60)
    every, warm = (5, 20) if args.quick else (_DAY // 4, _DAY)
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.config("spark.driver.memory", "2g").getOrCreate()
    began = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="bench-soak-") as folder:
            rows = _rows(spark, Path(folder), minutes, every)
    finally:
        spark.stop()
    seconds = time.perf_counter() - began
    late = [row for row in rows if row["hour"] * 60 > warm]
    slopes = {
        f"{name}_slope_a_day": round(_slope([(row["hour"] / 24, row[name]) for row in late]), 5)
        for name in ("heap", "java", "python", "code", "p99_ms")
    }
    counts = {"elements": minutes * 60 * RATE, "seconds": round(seconds, 1)}
    return Report(NAME, rows, {**slopes, **counts})


def _rows(spark: SparkSession, folder: Path, minutes: int, every: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    static = folder / "static.nt"
    static.write_text(STATIC, encoding="utf-8")
    kept = folder / "checkpoint"
    with closing(sparkext.Engine(spark, checkpoint=kept)) as engine:
        engine.load_static(static, progress=False)
        readings, alarms = engine.register_stream(READINGS), engine.register_stream(ALARMS)
        told: dict[str, int] = dict.fromkeys(QUERIES, 0)

        def tell(answers: Any) -> None:
            told[answers.query] += len(answers)

        for name, text in QUERIES.items():
            engine.register_query(text, name).subscribe(tell)
        ms: list[float] = []
        for minute in range(minutes):
            table, rare = _minute(minute)
            began = time.perf_counter()
            readings.push_table(table, predicate=Iri(f"{E}by"), position=minute)
            alarms.push_table(rare)
            engine.advance_to(_BEGIN + (minute + 1) * _MINUTE)
            ms.append((time.perf_counter() - began) * 1000)
            if (minute + 1) % every == 0:
                rows.append(_row(minute + 1, held(spark, engine), ms, kept))
                progress(", ".join(f"{key} {value}" for key, value in rows[-1].items()))
                ms.clear()
        _check(told, minutes)
    return rows


def _minute(minute: int) -> tuple[pa.Table, pa.Table]:
    """The readings and the alarms of a minute."""
    rng = np.random.default_rng([23, minute])
    count = 60 * RATE
    first = minute * count
    times = _BEGIN + minute * _MINUTE + 1 + np.arange(count) * (_MINUTE - 1) // count
    subjects = [f"{E}reading/{n}" for n in range(first, first + count)]
    objects = [f"<{E}sensor/{n}>" for n in rng.integers(0, SENSORS, count)]
    table = pa.table({"subject": subjects, "object": objects, "time": times})
    rooms = rng.integers(0, 50, 6)
    kinds = ["opened", "alarm"] * 3
    rare = pa.table(
        {
            "subject": [f"{E}room/{room}" for room in rooms],
            "predicate": [f"{E}{kind}" for kind in kinds],
            "object": [f"<{E}{kind}/{minute}-{n}>" for n, kind in enumerate(kinds)],
            "time": _BEGIN + minute * _MINUTE + 5_000 + np.arange(6) * 9_000,
        }
    )
    return table, rare


def _row(minute: int, now: Held, ms: list[float], kept: Path) -> dict[str, Any]:
    size = sum(file.stat().st_size for file in kept.iterdir()) / (1 << 20)
    return {
        "hour": round(minute / 60, 2),
        "heap": round(now.heap, 1),
        "java": round(now.java, 1),
        "python": round(now.python, 1),
        "code": round(now.code, 1),
        "terms": now.terms,
        "p50_ms": round(float(np.percentile(ms, 50)), 2),
        "p99_ms": round(float(np.percentile(ms, 99)), 2),
        "checkpoint": round(size, 2),
    }


def _slope(points: list[tuple[float, float]]) -> float:
    """Of a straight line through points, as a part of their mean."""
    if len(points) < 2:
        return float("nan")
    x, y = np.array(points).T
    return float(np.polyfit(x, y, 1)[0] / y.mean())


def _check(told: dict[str, int], minutes: int) -> None:
    if told["areas"] != minutes * AREAS or not all(told.values()):
        raise AssertionError(f"{told} answers in {minutes} minutes")
