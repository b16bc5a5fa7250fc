"""One streaming job in a Spark session that others configure; knows nothing of the extension.

    python -m bench.unchanged_jobs.jobs JOB DATA SECONDS OUT

Writes to OUT, as JSON, what Spark says of each micro-batch, and answers to compare. DATA is a folder made by
`bench.unchanged_jobs.tables`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

ROWS_A_BATCH = 1_000
COMPARED_BATCHES = 3
OVERWRITTEN_EVERY = 20


def readings(spark: SparkSession, rows: int = ROWS_A_BATCH) -> DataFrame:
    """So many rows a micro-batch, the same in each run."""
    source = spark.readStream.format("rate-micro-batch")
    return source.option("rowsPerBatch", rows).option("numPartitions", 2).load()


def sensors_and_people(spark: SparkSession, data: Path) -> DataFrame:
    """Readings above the threshold of their sensor, and who is in its room."""
    stream = readings(spark).selectExpr(
        "pmod(value * 7919, 2000000) sensor", "cast(value % 120 as double) value"
    )
    joined = stream.join(spark.read.parquet(str(data / "sensors")), "sensor")
    joined = joined.where("value > threshold").join(
        spark.read.parquet(str(data / "people")), "room"
    )
    return joined.select("sensor", "kind", "value", "name")


def enrichment(spark: SparkSession, data: Path) -> DataFrame:
    """Orders with what their product is, of two categories."""
    orders = readings(spark).selectExpr(
        "value", "pmod(value * 31, 200000) product", "value % 9 amount"
    )
    products = spark.read.parquet(str(data / "products")).where("category in ('c3', 'c7')")
    return orders.join(products, "product").selectExpr("value", "title", "price * amount total")


def star(spark: SparkSession, data: Path) -> DataFrame:
    """Orders with customer, product and store."""
    orders = readings(spark).selectExpr(
        "value",
        "pmod(value * 31, 200000) product",
        "pmod(value * 17, 500000) customer",
        "value % 5000 store",
    )
    for name in ("products", "customers", "stores"):
        orders = orders.join(spark.read.parquet(str(data / name)), name[:-1])
    return orders.selectExpr("value", "title", "segment", "city")


def changing(spark: SparkSession, data: Path) -> DataFrame:
    """Orders; today's prices, which are written again every twenty batches, are read for each batch."""
    return readings(spark).selectExpr("value", "pmod(value * 31, 200000) product")


def with_prices(orders: DataFrame, folder: Path) -> DataFrame:
    """Orders with the prices of now."""
    return orders.join(orders.sparkSession.read.parquet(str(folder / "prices")), "product")


def write_prices(spark: SparkSession, folder: Path, day: int) -> None:
    """Prices of a day in place of those of the day before."""
    prices = spark.range(200_000).selectExpr("id product", f"cast(id % 89 + {day} as double) price")
    prices.write.mode("overwrite").parquet(str(folder / "prices"))


def left_into_parquet(spark: SparkSession, data: Path) -> DataFrame:
    """All orders, with their customer where there is one."""
    orders = readings(spark).selectExpr("value", "pmod(value * 17, 750000) customer")
    return orders.join(spark.read.parquet(str(data / "customers")), "customer", "left")


def large(spark: SparkSession, data: Path) -> DataFrame:
    """Orders with the account they are paid from, of twenty million."""
    orders = readings(spark).selectExpr(
        "value", f"pmod(value * 7919, {size(data, 'accounts')}) account"
    )
    return orders.join(spark.read.parquet(str(data / "accounts")), "account")


def fan_out(spark: SparkSession, data: Path) -> DataFrame:
    """Of orders in batches of 100,000 those of the few recalled products, with all that are like it, a hundred each."""
    orders = readings(spark, 100_000).selectExpr("value", "pmod(value * 31, 200000) product")
    products = spark.read.parquet(str(data / "products"))
    like = products.selectExpr("product % 2000 kind", "title")
    recalled = products.where("price < 2").selectExpr("product recalled", "price")
    kinds = orders.selectExpr("value", "product", "product % 2000 kind").join(like, "kind")
    return kinds.join(recalled, kinds.product == recalled.recalled).select(
        "value", "title", "price"
    )


def no_gain(spark: SparkSession, data: Path) -> DataFrame:
    """How many readings each sensor has given: nothing static is read."""
    return readings(spark).selectExpr("value % 1000 sensor").groupBy("sensor").count()


JOBS: dict[str, Callable[[SparkSession, Path], DataFrame]] = {
    "stream_join": sensors_and_people,
    "enrichment": enrichment,
    "star": star,
    "changing": changing,
    "left_into_parquet": left_into_parquet,
    "large": large,
    "fan_out": fan_out,
    "no_gain": no_gain,
}


def size(data: Path, table: str) -> int:
    """How many rows a table of the data has."""
    return int((data / f"{table}.rows").read_text())


def _write(job: str, answers: DataFrame, folder: Path) -> StreamingQuery:
    """The job as it runs: into Parquet, through a function that reads a table that changes, or nowhere."""
    writer = answers.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
    writer = writer.outputMode(_mode(job))
    if job == "left_into_parquet":
        return writer.format("parquet").option("path", str(folder / "answers")).start()
    if job != "changing":
        return writer.format("noop").start()

    def answer(batch: DataFrame, number: int) -> None:
        if number % OVERWRITTEN_EVERY == 0:
            write_prices(batch.sparkSession, folder, number)
        with_prices(batch, folder).write.format("noop").mode("overwrite").save()

    return writer.foreachBatch(answer).start()


def _mode(job: str) -> str:
    return "update" if job == "no_gain" else "append"


def _first_batches(job: str, answers: DataFrame, folder: Path) -> list[str]:
    """The answers of the first batches, sorted."""
    seen: list[str] = []
    done = []

    def keep(batch: DataFrame, number: int) -> None:
        if number < COMPARED_BATCHES:
            if job == "changing":
                write_prices(batch.sparkSession, folder, number // 2)
                batch = with_prices(batch, folder)
            seen.extend(sorted(str(tuple(row)) for row in batch.collect()))
        done.append(number)

    writer = answers.writeStream.option("checkpointLocation", str(folder / "compared"))
    query = writer.outputMode(_mode(job)).foreachBatch(keep).start()
    while query.isActive and len(done) < COMPARED_BATCHES:
        time.sleep(0.05)
    query.stop()
    return seen


def run(job: str, data: Path, seconds: float) -> dict[str, Any]:
    """Runs a job for some seconds from its first trigger on; progress of all of its batches, and answers."""
    spark = SparkSession.builder.appName(job).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory(prefix="unchanged-") as temporary:
        folder = Path(temporary)
        answers = JOBS[job](spark, data)
        query = _write(job, answers, folder)
        query_end = time.monotonic() + seconds
        while query.isActive and time.monotonic() < query_end:
            time.sleep(0.1)
        failure = query.exception()
        query.stop()
        if failure is not None:
            raise failure
        progress = [
            p.durationMs | {"batch": p.batchId} for p in query.recentProgress if p.numInputRows
        ]
        return {
            "version": spark.version,
            "batches": progress,
            "answers": _first_batches(job, answers, folder),
        }


if __name__ == "__main__":
    name, folder, length, out = sys.argv[1:]
    Path(out).write_text(json.dumps(run(name, Path(folder), float(length))))
