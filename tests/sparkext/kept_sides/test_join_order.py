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


def test_what_may_fail_on_a_row_is_asked_of_no_others(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that the first join leaves out have names which the second one cannot read as numbers."""
    spark.range(200).selectExpr("id % 10 number", "id part").write.parquet(str(tmp_path / "many"))
    spark.range(1).selectExpr("id chosen", "'c' why").write.parquet(str(tmp_path / "few"))
    plans = []

    def scenario(job: StreamingJob) -> None:
        many, few = (spark.read.parquet(str(tmp_path / name)) for name in ("many", "few"))
        stream = job.readings().join(many, F.col("id") == F.col("number"))
        job.start(stream.join(few, F.col("name").cast("bigint") == F.col("chosen")))
        for batch in range(4):
            job.feed(
                (i, i, str(i) if i < 10 else "none", float(batch), "2026-01-01T00:00:00Z")
                for i in range(100)
            )
            spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
        plans.append(job.plan())

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert len(stock) == 4 and all(stock)
    assert kept == stock
    assert "KeptStaticSide" in plans[1] and joined_first(plans[1]) == "many"
