"""Static sides made of an RDD of the program: without a version, they are kept as long as the user says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from sparkext.session import EXPLAIN_PROVIDER
from tests.sparkext.kept_sides.streaming_job import StreamingJob

ROWS = [(n, f"label {n}") for n in range(6)]
EXTENDED_EXPLAIN = "spark.sql.extendedExplainProviders"


def of_a_list(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(ROWS, "sensor BIGINT, label STRING")


def of_an_rdd(spark: SparkSession) -> DataFrame:
    return spark.sparkContext.parallelize(ROWS, 2).map(tuple).toDF(["sensor", "label"])


def of_an_rdd_and_a_table(spark: SparkSession) -> DataFrame:
    return of_an_rdd(spark).join(spark.range(4).withColumnRenamed("id", "sensor"), "sensor")


@pytest.mark.parametrize("made", [of_a_list, of_an_rdd, of_an_rdd_and_a_table])
def test_rows_of_a_program_are_kept_as_long_as_the_user_says(
    made: Callable[[SparkSession], DataFrame], spark: SparkSession, tmp_path: Path
) -> None:
    found = {}
    assert EXPLAIN_PROVIDER in spark.conf.get(EXTENDED_EXPLAIN)
    for ttl in ("0", "1h"):
        spark.conf.set("spark.cqels.keptSides.ttl", ttl)
        job = StreamingJob(spark, tmp_path / ttl, kept=True)
        try:
            job.start(job.readings().withColumnRenamed("id", "sensor").join(made(spark), "sensor"))
            for n in range(2):
                job.feed((i, 0, "x", i / 2, "2026-01-01T00:00:00Z") for i in range(n, n + 4))
            found[ttl] = (job.answers(), job.plan())
        finally:
            job.stop()
            spark.conf.unset("spark.cqels.keptSides.ttl")
    (stock, stock_plan), (kept, plan) = found["0"], found["1h"]
    assert stock == kept
    assert all(stock)
    assert "not kept, an RDD has no version" in stock_plan
    assert "KeptStaticSide" in plan
    assert "not kept" not in plan
