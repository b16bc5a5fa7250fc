"""An ordinary Structured Streaming job, unchanged, with the extension and without: the same answers, other times.

The job joins a stream of readings with a table of 300,000 sensors. Spark reads, sends and hashes that table
in each micro-batch; with the extension in the session it does so in the first one, and keeps it. Nothing of
the job speaks of this package: `job` below is plain PySpark.

    python examples/unchanged_spark_job.py
"""

from __future__ import annotations

import json
import statistics
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import sparkext

SENSORS, BATCHES, READINGS = 300_000, 6, 1000


def job(spark: SparkSession, folder: Path, name: str) -> StreamingQuery:
    """Readings above the threshold of their sensor, as Parquet files: a job as everybody writes it."""
    sensors = spark.read.parquet(str(folder / "sensors"))
    readings = (
        spark.readStream.schema("sensor BIGINT, value DOUBLE")
        .option("maxFilesPerTrigger", 1)  # each file is a micro-batch
        .json(str(folder / "readings"))
    )
    return (
        readings.join(sensors, "sensor")
        .where("value > threshold")
        .select("sensor", "room", "value")
        .writeStream.format("parquet")
        .option("checkpointLocation", str(folder / f"checkpoint-{name}"))
        .trigger(availableNow=True)
        .start(str(folder / f"alarms-{name}"))
    )


def write_data(spark: SparkSession, folder: Path) -> None:
    """The table of sensors, and a file of readings for each micro-batch."""
    sensors = spark.range(SENSORS).selectExpr(
        "id AS sensor", "concat('room ', id % 5000) AS room", "20D + id % 10 AS threshold"
    )
    sensors.write.parquet(str(folder / "sensors"))
    (folder / "readings").mkdir()
    for batch in range(BATCHES):
        lines = (
            json.dumps(
                {"sensor": (batch * 7919 + n * 401) % SENSORS, "value": 15 + (n * 7 + batch) % 18}
            )
            for n in range(READINGS)
        )
        (folder / "readings" / f"{batch:03}.json").write_text("\n".join(lines), encoding="utf-8")


def milliseconds(query: StreamingQuery) -> list[int]:
    """What each micro-batch took, by Spark's own count."""
    progress = [p for p in query.recentProgress if p["numInputRows"]]
    return [int(p["durationMs"]["triggerExecution"]) for p in progress]


def main(spark: SparkSession) -> None:
    """Run the job in both ways over the same data, and compare."""
    took, answers = {}, {}
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write_data(spark, folder)
        for name, enabled in (("without", "false"), ("with", "true")):
            # Off, the session plans and answers as one that does not know the extension.
            spark.conf.set("spark.cqels.keptSides.enabled", enabled)
            query = job(spark, folder, name)
            query.awaitTermination()
            took[name] = milliseconds(query)
            kept = "KeptStaticSide" in query._jsq.explainInternal(False)
            print(
                f"{name:>7} the extension: milliseconds of each batch {took[name]}, table kept: {kept}"
            )
            rows = spark.read.parquet(str(folder / f"alarms-{name}")).collect()
            answers[name] = sorted(map(tuple, rows))
        for side in sparkext.kept_sides(spark):
            print(
                f"kept: {side.side}, {side.rows} rows, {side.bytes / 2**20:.0f} MiB, used {side.uses} times"
            )
        spark.conf.unset("spark.cqels.keptSides.enabled")
    print(f"answers: {len(answers['with'])} rows, equal: {answers['with'] == answers['without']}")
    # The first batch of either way has the code to compile; the others are what an endless job is made of.
    ways = {name: statistics.median(times[1:]) for name, times in took.items()}
    print(
        f"a batch after the first: {ways['without']:.0f} ms without, {ways['with']:.0f} ms with the extension"
    )


if __name__ == "__main__":
    quiet = {
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
    }
    builder = SparkSession.builder.master("local[2]").appName("unchanged job").config(map=quiet)
    # For a job that is started by `spark-submit`, two lines of configuration do the same: see docs/spark_sql.md.
    main(sparkext.configure(builder).getOrCreate())
