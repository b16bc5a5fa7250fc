"""A streaming job as anyone may have it: `spark-submit plain_job.py FOLDER`. It knows nothing of this project.

Joins three micro-batches of readings with a table of sensors, from the session and from a new one beside it, and prints
what both found, one JSON object with the answers and the plan of the last batch of each.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from typing import Any

from pyspark.sql import SparkSession


def answers(spark: SparkSession, folder: str, name: str) -> dict[str, Any]:
    """What a session's job writes, and the plan of its last batch."""
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    sensors = spark.read.parquet(f"{folder}/sensors")
    readings = spark.readStream.schema("sensor BIGINT, value DOUBLE")
    readings = readings.option("maxFilesPerTrigger", 1).json(f"{folder}/readings")
    writer = readings.join(sensors, "sensor").writeStream.trigger(availableNow=True)
    writer = writer.format("parquet").option("checkpointLocation", f"{folder}/{name}-checkpoint")
    query = writer.start(f"{folder}/{name}")
    query.awaitTermination()
    found = spark.read.parquet(f"{folder}/{name}").select("sensor", "value", "room")
    with redirect_stdout(StringIO()) as plan:
        query.explain()
    return {"rows": sorted(tuple(row) for row in found.collect()), "plan": plan.getvalue()}


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    where = sys.argv[1]
    both = [answers(session, where, "first"), answers(session.newSession(), where, "second")]
    sys.stdout.write(f"FOUND {json.dumps(both)}\n")
