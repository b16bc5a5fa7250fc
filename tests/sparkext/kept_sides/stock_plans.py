"""A script: the plans of batches of streaming jobs in a session of its own, as JSON.

python -m tests.sparkext.kept_sides.stock_plans WORK_DIR WAY

WAY is stock (no extension), disabled (`spark.cqels.enabled`) or not_kept (`spark.cqels.keptSides.enabled`).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from pyspark.sql import SparkSession

import sparkext
from tests.sparkext.kept_sides.job_shapes import (
    SHAPES,
    Statics,
    batches,
    write_rooms,
    write_sensors,
)
from tests.sparkext.kept_sides.side_by_side import feed
from tests.sparkext.kept_sides.streaming_job import READINGS

PLANNED = ("inner", "residual", "join as side", "aggregate above, update", "not in")
SWITCHES = {"disabled": "spark.cqels.enabled", "not_kept": "spark.cqels.keptSides.enabled"}


def normalised(plan: str) -> str:
    """A plan without the numbers that differ from run to run."""
    plan = re.sub(r"#\d+L?", "#", plan)
    plan = re.sub(r"\[?(plan_id|id|runId|batchId|opId|queryRunId)=[\w#-]+\]?", "", plan)
    plan = re.sub(r"file:[^,\])]*", "file", plan)
    plan = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "uuid", plan)
    # Listings, batch times and places of state are of the run, not of the plan.
    return re.sub(r"state info \[.*?\]|\b\d{13}\b", "", plan)


def session(way: str, folder: Path) -> SparkSession:
    """One local session, with the extension unless it is stock."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.cqels.classArchive", "false")
    )
    if way in SWITCHES:
        builder = sparkext.configure(builder.config(SWITCHES[way], "false"))
    return builder.getOrCreate()


def main() -> None:
    """Writes the plans to standard output."""
    folder, way = Path(sys.argv[1]), sys.argv[2]
    spark = session(way, folder)
    write_sensors(folder / "sensors" / "a.parquet")
    write_rooms(folder / "rooms" / "a.parquet")
    statics = Statics(
        lambda: spark.read.parquet(str(folder / "sensors")),
        lambda: spark.read.parquet(str(folder / "rooms")),
    )
    (folder / "source").mkdir()
    stream = spark.readStream.schema(READINGS).json(str(folder / "source"))
    queries = {
        name: SHAPES[name]
        .made(stream, statics)
        .writeStream.outputMode(SHAPES[name].mode)
        .format("noop")
        .start()
        for name in PLANNED
    }
    feed(folder / "source", 0, batches(1)[0])
    plans = {}
    for name, query in queries.items():
        query.processAllAvailable()
        plans[name] = normalised(str(query._jsq.explainInternal(False)))
        query.stop()
    spark.stop()
    sys.stdout.write(json.dumps(plans))


if __name__ == "__main__":
    main()
