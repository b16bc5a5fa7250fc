"""Python in Spark's tasks: which Python it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def driver_python(spark: SparkSession) -> Iterator[None]:
    """Make functions defined inside run in this very Python when the workers are on this machine.

    Otherwise PySpark starts whatever `python3` is on PATH, which is another one when no environment
    is activated.
    """
    context = spark.sparkContext
    stated = "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python")
    before = context.pythonExec
    if (context.master or "").startswith("local") and not stated:
        context.pythonExec = sys.executable
    try:
        yield
    finally:
        context.pythonExec = before
