"""Joins of a stream with several kept sides follow what earlier batches counted, and answer the same."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.sparkext.kept_sides.streaming_job import StreamingJob, both_ways


def many_then_few(stream: DataFrame, spark: SparkSession, folder: Path) -> DataFrame:
    """Twenty rows for each reading by the first join, and one reading of ten kept by the second."""
    if not (folder / "many").exists():
        spark.range(200).selectExpr("cast(id % 10 as int) kind", "id part").write.parquet(
            str(folder / "many")
        )
        spark.range(100).selectExpr("id * 10 as chosen", "concat('c', id) why").write.parquet(
            str(folder / "few")
        )
    many, few = (spark.read.parquet(str(folder / name)) for name in ("many", "few"))
    return stream.join(many, F.col("k") == F.col("kind")).join(few, F.col("id") == F.col("chosen"))


def joined_first(plan: str) -> str:
    """The side that the innermost join of a plan has: the others stand below it."""
    final = plan.partition("Initial Plan")[0]
    return "many" if final.index("parquet many") < final.index("parquet few") else "few"


def test_the_order_follows_what_was_counted(spark: SparkSession, tmp_path: Path) -> None:
    orders = {}

    def scenario(job: StreamingJob) -> None:
        job.start(many_then_few(job.readings(), spark, tmp_path))
        for batch in range(4):
            job.feed(
                (i, i % 10, None, None, "2026-01-01T00:00:00Z")
                for i in range(batch * 100, batch * 100 + 100)
            )
            # What listeners are told arrives a little later.
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
            if job.kept:
                orders[batch] = joined_first(job.plan())

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert any(stock)
    assert kept == stock
    assert orders[0] == "many"
    assert orders[3] == "few"
