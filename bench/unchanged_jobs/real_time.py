"""A stream joined with a static table in Spark's real-time mode; knows nothing of the extension.

    python -m bench.unchanged_jobs.real_time ROWS DATA SECONDS OUT

One reading every 20 ms; writes to OUT, as JSON, the milliseconds from each one's being given to the source until the
join gave it out, and the answers.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession

from bench.unchanged_jobs.readings import sensor_of

LONG_BATCH_SECONDS = 10
EVERY_SECONDS = 0.02


def run(rows: int, data: Path, seconds: float) -> dict[str, Any]:
    """Runs the job for some seconds, long batches of ten."""
    spark = SparkSession.builder.appName("real-time").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    jvm: Any = spark._jvm
    sources = jvm.org.apache.spark.sql.execution.streaming.sources
    made = getattr(sources, "LowLatencyMemoryStream$").__getattr__("MODULE$")
    stream = made.apply(spark._jsparkSession, 2, jvm.org.apache.spark.sql.Encoders.STRING())
    readings = DataFrame(stream.toDF(), spark).selectExpr(
        "cast(split(value, ',')[0] as bigint) sensor",
        "cast(split(value, ',')[1] as double) value",
        "split(value, ',')[2] given",
    )
    sensors = spark.read.parquet(str(data / "sensors")).where(f"sensor < {rows}")
    now = 'cast(java_method("java.lang.System", "currentTimeMillis") as double)'
    joined = readings.join(sensors, "sensor").where("value > threshold")
    joined = joined.selectExpr("sensor", "kind", f"{now} - cast(given as double) * 1000 ms")
    with tempfile.TemporaryDirectory(prefix="real-time-") as temporary:
        out = Path(temporary) / "out"

        def write(row: Row) -> None:
            with out.open("a") as file:
                file.write(f"{row.sensor}\t{row.kind}\t{row.ms:.2f}\n")

        writer = joined.writeStream.foreach(write).outputMode("update")
        writer = writer.option("checkpointLocation", f"{temporary}/checkpoint")
        query = writer.trigger(realTime=f"{LONG_BATCH_SECONDS} seconds").start()  # type: ignore[call-overload]
        given, start = 0, time.monotonic()
        while time.monotonic() - start < seconds and query.isActive:
            text = f"{sensor_of(given, rows)},1000.0,{time.time():.6f}"
            stream.addData(jvm.org.apache.spark.api.python.PythonUtils.toSeq([text]))
            given += 1
            time.sleep(EVERY_SECONDS)
        time.sleep(LONG_BATCH_SECONDS)
        failure = query.exception()
        query.stop()
        if failure is not None:
            raise failure
        lines = [line.split("\t") for line in out.read_text().splitlines()]
    at_first = {str(sensor_of(n, rows)) for n in range(int(LONG_BATCH_SECONDS / EVERY_SECONDS))}
    return {
        "version": spark.version,
        "given": given,
        "first": [float(ms) for sensor, _, ms in lines if sensor in at_first],
        "rest": [float(ms) for sensor, _, ms in lines if sensor not in at_first],
        "answers": [f"{sensor} {kind}" for sensor, kind, _ in lines],
    }


if __name__ == "__main__":
    count, folder, length, target = sys.argv[1:]
    Path(target).write_text(json.dumps(run(int(count), Path(folder), float(length))))
