"""The JVM's classes of distributions, as tests call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Jvm:
    """The classes under test."""

    def __init__(self, spark: SparkSession) -> None:
        package = spark._jvm.org.apache.spark.sql.cqels
        self.parse = package.Distribution.parse
        self.probabilities = package.Probabilities
        self.sums = package.DistributionSum
