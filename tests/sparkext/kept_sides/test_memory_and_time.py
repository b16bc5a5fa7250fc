"""How much is kept and for how long: shared sides, the bound of memory, the time to live, settings of a session."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkext
from tests.sparkext.kept_sides.job_shapes import batches, write_sensors
from tests.sparkext.kept_sides.streaming_job import StreamingJob, both_ways


@pytest.fixture(autouse=True)
def nothing_kept(spark: SparkSession) -> Iterator[None]:
    report = spark._jvm.org.apache.spark.sql.cqels.kept.KeptSidesReport
    report.clear(spark._jsparkSession)
    yield
    for key in ("maxMemory", "ttl"):
        spark.conf.unset(f"spark.cqels.keptSides.{key}")
    spark.conf.set("spark.sql.session.timeZone", "UTC")


def joined(job: StreamingJob, side: DataFrame) -> DataFrame:
    return job.readings().join(side, F.col("id") == F.col("sensor"), "left")


def test_two_queries_share_a_side(spark: SparkSession, tmp_path: Path) -> None:
    write_sensors(tmp_path / "sensors" / "a.parquet")
    jobs = [StreamingJob(spark, tmp_path / name, kept=True) for name in ("one", "two")]
    try:
        for job in jobs:
            job.start(joined(job, spark.read.parquet(str(tmp_path / "sensors"))))
            job.feed(batches(1)[0])
        (side,) = sparkext.kept_sides(spark)
        assert side.rows == 40
        assert side.side == "parquet sensors"
        assert side.bytes > 0
        assert {str(job.query.id) for job in jobs if job.query} == set(side.queries)
    finally:
        for job in jobs:
            job.stop()
    assert jobs[0].answers() == jobs[1].answers()


def test_what_does_not_fit_stays_with_spark(spark: SparkSession, tmp_path: Path) -> None:
    def scenario(job: StreamingJob) -> None:
        spark.conf.set("spark.cqels.keptSides.maxMemory", "100k")
        large = spark.range(20_000).selectExpr("id sensor", "concat('n', id) label")
        job.start(joined(job, large))
        for batch in batches(2):
            job.feed(batch)
        assert "KeptStaticSide" not in job.plan()
        assert sparkext.kept_sides(spark) == []

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert any(stock)
    assert kept == stock


def test_what_does_not_fit_is_not_begun_again_as_time_goes_by(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set("spark.cqels.keptSides.maxMemory", "100k")
    made = spark.range(20_000).selectExpr("id sensor", "timestamp_seconds(id) made")
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    reasons: list[str | None] = []
    try:
        job.start(joined(job, made.where("made < current_timestamp()")))
        for batch in batches(3):
            job.feed(batch)
            found = re.search("not kept, (it takes more|its data change)", job.plan())
            reasons.append(found and found[1])
    finally:
        job.stop()
    assert reasons == ["it takes more", "its data change", "its data change"]


def test_the_least_recently_used_goes(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.cqels.keptSides.maxMemory", "1m")
    jobs = []
    for at in range(3):
        job = StreamingJob(spark, tmp_path / str(at), kept=True)
        jobs.append(job)
        try:
            # Three take more than a megabyte, two do not.
            job.start(joined(job, spark.range(5_000).selectExpr("id sensor", f"id * {at} times")))
            job.feed(batches(1)[0])
            assert "KeptStaticSide" in job.plan()
        finally:
            job.stop()
    held = [side.queries for side in sparkext.kept_sides(spark)]
    ids = [str(job.query.id) for job in jobs if job.query]
    assert 1 <= len(held) < 3
    assert held[-1] == (ids[-1],)
    assert (ids[0],) not in held


def test_sides_that_are_read_at_once_share_the_room(spark: SparkSession, tmp_path: Path) -> None:
    """As when an application with many queries starts again: none of them is there when they begin."""
    spark.conf.set("spark.cqels.keptSides.maxMemory", "1m")
    begun = [tmp_path / f"begun {n}" for n in range(2)]

    def together(number: int, times: int) -> int:
        """The rows of each side come when all sides are being read."""
        if number == 0:
            begun[times].touch()
            end = time.monotonic() + 60
            while not all(one.exists() for one in begun) and time.monotonic() < end:
                time.sleep(0.01)
        return number * times

    spark.sparkContext.pythonExec = sys.executable  # that has what functions need
    waiting = F.udf(together, "long")
    jobs = [StreamingJob(spark, tmp_path / str(n), kept=True) for n in range(2)]
    try:
        for n, job in enumerate(jobs):
            rows = spark.range(0, 8_000, 1, 1).select(F.col("id").alias("sensor"))
            job.start(joined(job, rows.withColumn("times", waiting("sensor", F.lit(n)))))
        feeding = [Thread(target=job.feed, args=(batches(1)[0],)) for job in jobs]
        for thread in feeding:
            thread.start()
        for thread in feeding:
            thread.join()
        assert all(one.exists() for one in begun)
        (side,) = sparkext.kept_sides(spark)
        assert 500_000 < side.bytes <= 1 << 20
        assert all(len(job.answers()) == 1 for job in jobs)
    finally:
        for job in jobs:
            job.stop()


def test_a_query_without_a_time_to_live_does_not_end_that_of_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.conf.set("spark.cqels.keptSides.ttl", "1h")
    other = StreamingJob(spark, tmp_path / "other", kept=True)
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    try:
        job.start(joined(job, listed(spark)))
        spark.conf.unset("spark.cqels.keptSides.ttl")
        other.start(joined(other, spark.range(9).selectExpr("id sensor")))
        job.feed(batches(1)[0])
        (first,) = sparkext.kept_sides(spark)
        other.feed(batches(1)[0])
        assert first.since in {side.since for side in sparkext.kept_sides(spark)}
    finally:
        job.stop()
        other.stop()


def test_a_side_past_its_time_to_live_is_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set("spark.cqels.keptSides.ttl", "2s")
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    try:
        job.start(joined(job, listed(spark)))
        job.feed(batches(1)[0])
        (first,) = sparkext.kept_sides(spark)
        time.sleep(2.1)
        job.feed(batches(2)[1])
        (again,) = sparkext.kept_sides(spark)
        assert again.since > first.since
    finally:
        job.stop()


def listed(spark: SparkSession) -> DataFrame:
    """Rows of an RDD, of which nothing tells whether they change."""
    rows = spark.sparkContext.parallelize([(i, f"l{i}") for i in range(20)], 2).map(tuple)
    return rows.toDF("sensor long, label string")


def test_another_time_zone(spark: SparkSession, tmp_path: Path) -> None:
    write_sensors(tmp_path / "sensors" / "a.parquet")

    def scenario(job: StreamingJob) -> None:
        for zone in ("UTC", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            side = spark.read.parquet(str(tmp_path / "sensors")).selectExpr(
                "sensor", "hour(timestamp_seconds(sensor * 3600)) hour"
            )
            job.start(joined(job, side))
            job.feed(batches(1)[0])
            job.stop()

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert len(stock) == 2
    assert kept == stock
