"""A script: kept static sides on a cluster of three JVMs, sent as a whole and in parts, held to stock Spark.

python -m tests.sparkext.kept_sides.on_cluster WORK_DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkext
from tests.sparkext.execution.on_cluster import start
from tests.sparkext.kept_sides.streaming_job import StreamingJob, both_ways

LARGE = 1_000_000
# Spark takes a text to have 20 bytes: the whole is more than a cluster is sent as a whole.
WIDTH = 10


def large(spark: SparkSession) -> DataFrame:
    """Two rows of each key."""
    texts = [f"'{name}' text_{name}" for name in "abcdefghij"[:WIDTH]]
    return spark.range(LARGE).selectExpr(
        f"cast(id % {LARGE // 2} as bigint) sensor", "id * 2 twice", *texts
    )


def small(spark: SparkSession, folder: Path) -> DataFrame:
    """A table of files."""
    path = str(folder / "kinds")
    if not Path(path).exists():
        spark.range(100).selectExpr("cast(id as int) kind", "concat('k', id) label").write.parquet(
            path
        )
    return spark.read.parquet(path)


def batch(number: int) -> list[tuple[object, ...]]:
    """Readings of which some match nothing."""
    return [
        (None if i % 9 == 0 else i * 104_729 % 600_000, i % 120, f"s{i}", float(i), None)
        for i in range(number * 50, number * 50 + 50)
    ]


def main() -> None:
    """Do it; a failure is an uncaught error."""
    folder = Path(sys.argv[1])
    spark = start(folder)
    spark.conf.set("spark.cqels.keptSides.maxMemory", "70%")
    for how in ("inner", "left", "left_semi", "left_anti"):

        def scenario(job: StreamingJob, how: str = how) -> None:
            stream = job.readings()
            joined = stream.join(large(spark), F.col("id") == F.col("sensor"), how)
            job.start(joined.join(small(spark, folder), F.col("k") == F.col("kind"), "left"))
            for number in range(3):
                job.feed(batch(number))
            # Where no column of it is asked for, the side is small enough to be sent.
            expected = job.kept and how in ("inner", "left")
            assert ("KeptPartsJoin" in job.plan()) == expected, job.plan()
            assert ("KeptStaticSide parquet kinds" in job.plan()) == job.kept, job.plan()

        stock, kept = both_ways(spark, folder / how, scenario)
        assert any(stock)
        assert kept == stock, how
    sides = sparkext.kept_sides(spark)
    assert {side.rows for side in sides} == {LARGE, 100}, sides
    spark.stop()
    sys.stdout.write("all answers are right\n")


if __name__ == "__main__":
    main()
