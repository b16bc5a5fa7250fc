"""A source in memory that Spark's real-time mode reads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

E = "http://example.org/"


class Source:
    """A source in memory that real-time mode reads: lines of terms and a time."""

    def __init__(self, spark: SparkSession, partitions: int = 1) -> None:
        self._jvm: Any = spark._jvm
        sources = self._jvm.org.apache.spark.sql.execution.streaming.sources
        module = getattr(getattr(sources, "LowLatencyMemoryStream$"), "MODULE$")
        strings = self._jvm.org.apache.spark.sql.Encoders.STRING()
        self._stream = module.apply(spark._jsparkSession, partitions, strings)
        cells = [
            f"split(value, ' ')[{n}] AS {name}"
            for n, name in enumerate(("subject", "predicate", "object"))
        ]
        self.frame = DataFrame(self._stream.toDF(), spark).selectExpr(
            *cells, "CAST(split(value, ' ')[3] AS BIGINT) AS time"
        )

    def add(self, *lines: str) -> None:
        self._stream.addData(self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(lines)))


def line(number: int, moment: int, object_: str = f"<{E}o>") -> str:
    return f"{E}a{number} {E}p {object_} {moment}"


def awaited(condition: Callable[[], object], query: StreamingQuery) -> None:
    """Wait for something, or for the end of the query."""
    until = time.monotonic() + 60
    while not condition() and time.monotonic() < until:
        if not query.isActive:
            query.awaitTermination(1)
            raise AssertionError("the query has ended")
        time.sleep(0.02)
    assert condition()
