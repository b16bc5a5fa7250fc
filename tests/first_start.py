"""A program that starts Spark and uses an engine, so that those that tests start find an archive of classes.

Without one, each of the first dozen would write its own, which takes longer than the program itself.
"""

from __future__ import annotations

import os
import subprocess
import sys

from pyspark.sql import SparkSession

import sparkext
from tests.conftest import ROOT
from tests.sparkext.listening import S, listen, query, triple


def begin() -> None:
    """Have it run beside what follows."""
    subprocess.Popen(
        [sys.executable, "-m", "tests.first_start"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def main() -> None:
    """Start, answer a query, end."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = sparkext.configure(builder).getOrCreate()
    engine = sparkext.Engine(spark)
    stream = engine.register_stream(S)
    heard = listen(engine, query("WINDOW :w { ?x :p ?y }", "[RANGE 10]"))
    stream.push(triple("a", "p", "b"), 1)
    stream.push(triple("a", "p", "b"), 20)
    assert heard
    spark.stop()


if __name__ == "__main__":
    main()
