"""The JVM's classes of distributions, as tests call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Jvm:
    """The classes under test."""

    def __init__(self, spark: SparkSession) -> None:
        package = spark._jvm.org.apache.spark.sql.cqels
        self.parse = package.distributions.Distribution.parse
        self.probabilities = package.distributions.Probabilities
        self.sums = package.distributions.SumForms
        self._threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()

    def cpu_seconds(self, call: Callable[[], object]) -> float:
        """What a call takes of the JVM's thread that serves this one, whatever else the machine does."""
        before = self._threads.getCurrentThreadCpuTime()
        call()
        return float(self._threads.getCurrentThreadCpuTime() - before) / 1e9
