"""Unchanged Structured Streaming jobs: stock Spark against the same script with the extension configured.

Each job runs in two processes of its own, which differ in configuration only: `spark.sql.extensions` and the jar. All
micro-batches count, the first ones too: trigger_p50_ms, trigger_p99_ms and add_batch_p50_ms are those of Spark's own
progress; in mode real-time, trigger_* are milliseconds from a row's being given to the source until the join gave it
out. first_ms is the first trigger (of real-time mode the slowest row of the first ten seconds), rest_p99_ms the 99th
percentile of all others. stock_* are those of stock Spark. The answers of the first batches must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.report import BenchError, Report, progress
from bench.unchanged_jobs.readings import sensor_of

NAME = "unchanged"
COLUMNS = (
    "job",
    "mode",
    "spark_version",
    "trigger_p50_ms",
    "trigger_p99_ms",
    "add_batch_p50_ms",
    "first_ms",
    "stock_trigger_p50_ms",
    "stock_trigger_p99_ms",
    "stock_add_batch_p50_ms",
    "stock_first_ms",
)
SHOWN = ("jobs", "seconds")

TABLES_OF = {
    "stream_join": ("sensors", "people"),
    "enrichment": ("products",),
    "star": ("products", "customers", "stores"),
    "changing": ("products",),
    "left_into_parquet": ("customers",),
    "large": ("accounts",),
    "fan_out": ("products",),
    "no_gain": (),
    "real_time": ("sensors",),
}
REAL_TIME_ROWS = 2_000_000
# Of real-time mode as of no other: it has a slot for each partition of a source, and joins by broadcast only.
REAL_TIME_CONF = {
    "spark.sql.autoBroadcastJoinThreshold": "4g",
    "spark.sql.adaptive.enabled": "false",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which jobs, and for how long."""
    parser.add_argument("--jobs", help=f"of {','.join(TABLES_OF)} (default all; quick enrichment)")
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="for the extension, such as a switch",
    )
    parser.add_argument("--seconds", type=float, help="of each run (default 30; quick 8)")
    parser.add_argument(
        "--data",
        type=Path,
        help="folder of tables to use or make (default: one that goes at the end)",
    )


def run(args: argparse.Namespace) -> Report:
    """Makes the tables, runs each job both ways, and compares."""
    jobs = (args.jobs or ("enrichment" if args.quick else ",".join(TABLES_OF))).split(",")
    unknown = [job for job in jobs if job not in TABLES_OF]
    if unknown:
        raise BenchError(f"there is no job {unknown[0]}: {', '.join(TABLES_OF)}")
    seconds = args.seconds or (8.0 if args.quick else 30.0)
    report = Report(NAME, [])
    report.summary.update(jobs=len(jobs), seconds=seconds)
    with tempfile.TemporaryDirectory(prefix="bench-unchanged-") as temporary:
        data = (args.data or Path(temporary)).resolve()
        data.mkdir(parents=True, exist_ok=True)
        missing = sorted(
            {t for job in jobs for t in TABLES_OF[job] if not (data / f"{t}.rows").exists()}
        )
        if missing:
            progress(f"{NAME}: writing {', '.join(missing)}")
            _python(
                "bench.unchanged_jobs.tables", [str(data), ",".join(missing)], {}, Path(temporary)
            )
        for job in jobs:
            progress(f"{NAME}: {job}, stock Spark")
            stock = _run(job, data, seconds, False, Path(temporary))
            progress(f"{NAME}: {job}, with the extension")
            ours = _run(job, data, seconds, True, Path(temporary), args.conf)
            compare(job, stock, ours)
            report.rows.append(row(job, stock, ours))
    return report


def _run(
    job: str,
    data: Path,
    seconds: float,
    extension: bool,
    folder: Path,
    conf_given: Sequence[str] = (),
) -> dict[str, Any]:
    out = folder / "result.json"
    out.unlink(missing_ok=True)
    conf = {
        "spark.master": "local[6]" if job == "real_time" else "local[2]",
        "spark.driver.memory": "8g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.streaming.numRecentProgressUpdates": "100000",
        "spark.sql.warehouse.dir": str(folder / f"warehouse-{job}-{extension}"),
        **(REAL_TIME_CONF if job == "real_time" else {}),
    }
    if extension:
        from sparkext import jar
        from sparkext.session import EXTENSION

        conf |= {
            "spark.sql.extensions": EXTENSION,
            "spark.jars": str(jar.locate()),
            **dict(one.split("=", 1) for one in conf_given),
        }
    script = "real_time" if job == "real_time" else "jobs"
    what = str(REAL_TIME_ROWS) if job == "real_time" else job
    _python(
        f"bench.unchanged_jobs.{script}", [what, str(data), str(seconds), str(out)], conf, folder
    )
    result: dict[str, Any] = json.loads(out.read_text())
    return result


def _python(module: str, arguments: list[str], conf: dict[str, str], folder: Path) -> None:
    """Runs a script of Spark in a process of its own, configured as `spark-submit` would."""
    given = " ".join(f"--conf {key}={value}" for key, value in conf.items())
    env = {
        **os.environ,
        "PYSPARK_SUBMIT_ARGS": f"{given} pyspark-shell",
        "PYTHONPATH": str(Path.cwd()),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise BenchError(f"{module} {arguments[0]} failed:\n{done.stderr[-3000:]}")


def compare(job: str, stock: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raises BenchError unless both ways of a job gave the same answers, and some."""
    if job == "real_time":
        # Runs end at different readings, and answers come in any order.
        both = min(stock["given"], ours["given"]) // 2
        wanted = {str(sensor_of(number, REAL_TIME_ROWS)) for number in range(both)}
        stock, ours = (
            {"answers": sorted(a for a in r["answers"] if a.split()[0] in wanted)}
            for r in (stock, ours)
        )
    if not stock["answers"] or stock["answers"] != ours["answers"]:
        raise BenchError(
            f"{job}: the answers of stock Spark and with the extension are not the same"
        )


def row(job: str, stock: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """One line of the result."""
    result = {
        "job": job,
        "mode": "real-time" if job == "real_time" else "micro-batch",
        "spark_version": ours["version"],
    }
    for prefix, run in (("", ours), ("stock_", stock)):
        first, rest, added = _times(job, run)
        result[f"{prefix}trigger_p50_ms"] = _percentile([*first, *rest], 50)
        result[f"{prefix}trigger_p99_ms"] = _percentile([*first, *rest], 99)
        result[f"{prefix}add_batch_p50_ms"] = _percentile(added, 50)
        result[f"{prefix}first_ms"] = _percentile(first, 100)
        result[f"{prefix}rest_p99_ms"] = _percentile(rest, 99)
        result[f"{prefix}triggers"] = len(first) + len(rest)
    return result


def _times(job: str, result: dict[str, Any]) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds of the first trigger, of the others, and of what Spark calls addBatch."""
    if job == "real_time":
        return result["first"], result["rest"], []
    triggers = [batch["triggerExecution"] for batch in result["batches"]]
    return triggers[:1], triggers[1:], [batch["addBatch"] for batch in result["batches"]]


def _percentile(times: list[float], percent: int) -> float | None:
    return round(float(np.percentile(times, percent)), 1) if times else None
