"""Unchanged streaming jobs with kept static sides give the answers of stock Spark, whatever the shape of the join."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.sparkext.kept_sides.streaming_job import StreamingJob, both_ways

Shape = Callable[[DataFrame, SparkSession, Path], DataFrame]


def sensors(spark: SparkSession, folder: Path) -> DataFrame:
    """Forty sensors, several of one kind, some with nulls."""
    path = str(folder / "sensors")
    if not Path(path).exists():
        spark.sql(
            "select id as sensor, cast(id % 7 as int) kind, concat('n', id % 11) label,"
            " if(id % 5 = 0, null, cast(id % 10 as double)) limit, if(id % 9 = 0, null, id % 4) room"
            " from range(40)"
        ).write.parquet(path)
    return spark.read.parquet(path)


def rooms(spark: SparkSession, folder: Path) -> DataFrame:
    """Four rooms and one without a number."""
    path = str(folder / "rooms")
    if not Path(path).exists():
        spark.sql(
            "select if(id = 4, null, id) as room, concat('r', id) title from range(5)"
        ).write.parquet(path)
    return spark.read.parquet(path)


SHAPES: dict[str, Shape] = {
    "inner": lambda s, p, f: s.join(sensors(p, f), s.id == F.col("sensor")),
    "static first": lambda s, p, f: sensors(p, f).join(s, s.id == F.col("sensor")),
    "left": lambda s, p, f: s.join(sensors(p, f), s.id == F.col("sensor"), "left"),
    "right": lambda s, p, f: sensors(p, f).join(s, s.id == F.col("sensor"), "right"),
    "semi": lambda s, p, f: s.join(sensors(p, f), s.id == F.col("sensor"), "left_semi"),
    "anti": lambda s, p, f: s.join(sensors(p, f), s.id == F.col("sensor"), "left_anti"),
    "several rows": lambda s, p, f: s.join(sensors(p, f), s.k == F.col("kind")),
    "two keys": lambda s, p, f: s.join(
        sensors(p, f), (s.k == F.col("kind")) & (s.name == F.col("label"))
    ),
    "null-safe": lambda s, p, f: s.join(sensors(p, f), s.k.eqNullSafe(F.col("room"))),
    "residual": lambda s, p, f: s.join(
        sensors(p, f), (s.id == F.col("sensor")) & (s.v > F.col("limit")), "left"
    ),
    "text key": lambda s, p, f: s.join(sensors(p, f), s.name == F.col("label")),
    "double key": lambda s, p, f: s.join(sensors(p, f), s.v == F.col("limit")),
    "expression as key": lambda s, p, f: s.join(
        sensors(p, f), s.id % 8 == F.col("sensor") + F.col("kind") % 2
    ),
    "filter and projection": lambda s, p, f: s.join(
        sensors(p, f).where("limit > 3").selectExpr("sensor * 2 as twice", "label"),
        s.id == F.col("twice"),
    ),
    "aggregate": lambda s, p, f: s.join(
        sensors(p, f).groupBy("kind").agg(F.max("limit").alias("most"), F.count("*").alias("n")),
        s.k == F.col("kind"),
    ),
    "subquery": lambda s, p, f: s.join(
        sensors(p, f).where(F.expr("limit > 2")).join(rooms(p, f), "room"), s.id == F.col("sensor")
    ),
    "star": lambda s, p, f: s.join(sensors(p, f), s.id == F.col("sensor")).join(
        rooms(p, f), "room", "left"
    ),
    "same table twice": lambda s, p, f: s.join(
        sensors(p, f).selectExpr("sensor", "limit"), s.id == F.col("sensor")
    ).join(sensors(p, f).selectExpr("kind as k2", "label"), F.col("k") == F.col("k2")),
}


def batches() -> list[list[tuple[object, ...]]]:
    """Readings that match none, one or several rows, and nulls among their keys."""
    return [
        [
            (
                None if (i + b) % 6 == 0 else (i * 7 + b) % 50,
                None if i % 8 == 0 else i % 9,
                f"n{i % 13}",
                None if i % 7 == 0 else float(i % 12),
                f"2026-01-01T00:00:{b:02}Z",
            )
            for i in range(24)
        ]
        for b in range(3)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_of_stock(spark: SparkSession, tmp_path: Path, shape: str) -> None:
    def scenario(job: StreamingJob) -> None:
        job.start(SHAPES[shape](job.readings(), spark, tmp_path))
        for batch in batches():
            job.feed(batch)
        assert ("KeptStaticSide" in job.plan()) == job.kept

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert any(stock)
    assert kept == stock


def test_not_in_with_nulls(spark: SparkSession, tmp_path: Path) -> None:
    def scenario(job: StreamingJob) -> None:
        job.readings().createOrReplaceTempView("job_readings")
        sensors(spark, tmp_path).createOrReplaceTempView("job_sensors")
        job.start(
            spark.sql(
                "select * from job_readings where id not in"
                " (select sensor * 3 from job_sensors where limit > 4)"
            )
        )
        for batch in batches():
            job.feed(batch)
        assert ("KeptStaticSide" in job.plan()) == job.kept

    stock, kept = both_ways(spark, tmp_path, scenario)
    assert any(stock)
    assert kept == stock
