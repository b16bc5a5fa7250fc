"""Spark as the peers on it are launched: the engine of this project and stock Spark, by the same settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession

from sparkext import session


def launch_settings(scale: float) -> dict[str, str]:
    """What all Spark peers are launched with; the heap grows with the world."""
    return {
        "spark.master": "local[2]",
        "spark.app.name": "bench",
        "spark.driver.memory": f"{round(2 + min(scale, 10) * 0.6)}g",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        **session.launch_settings(),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def stock_session(settings: Mapping[str, str]) -> SparkSession:
    """A plain PySpark session, quiet."""
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def cached_view(name: str, frame: DataFrame) -> DataFrame:
    """The frame, cached and filled, as a view of that name."""
    cached = frame.cache()
    cached.count()
    cached.createOrReplaceTempView(name)
    return cached
