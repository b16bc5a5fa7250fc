"""The tables of TPC-H, made by tpchgen-cli, and its queries in one of two Sparks.

`python -m tests.sparkext.unchanged.tpch_tables KIND FOLDER` prints the answers as JSON; KIND is stock or extended.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sparkext
from tests.sparkext.unchanged.tpch_queries import QUERIES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
SCALE = "0.01"
PARTS = "3"


def make_tables(folder: Path) -> None:
    """Each table as a folder of Parquet files; skips the test where nothing makes them."""
    generator = shutil.which("tpchgen-cli") or shutil.which(
        "tpchgen-cli", path=str(Path(sys.executable).parent)
    )
    if generator is None:
        pytest.skip("tpchgen-cli is not installed")
    made = [generator, "parquet", "--scale-factor", SCALE, "--parts", PARTS, "--quiet"]
    subprocess.run([*made, "--output-dir", str(folder)], check=True, timeout=120)


def open_tables(spark: SparkSession, folder: Path) -> None:
    """Makes a view of each table."""
    for table in TABLES:
        spark.read.parquet(str(folder / table)).createOrReplaceTempView(table)


def rows_of(answers: DataFrame) -> list[list[str]]:
    """Rows as texts; values are exact, as TPC-H's numbers are decimals."""
    return [[str(value) for value in row] for row in answers.collect()]


def main(kind: str, folder: Path) -> dict[str, list[list[str]]]:
    """The answers to all queries, over files and over cached tables."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.log.level", "ERROR")
    if kind == "extended":
        builder = sparkext.configure(builder.config("spark.cqels.classArchive", "false"))
    spark = builder.getOrCreate()
    open_tables(spark, folder)
    answers = {f"{n} of files": rows_of(spark.sql(q.over_tables())) for n, q in QUERIES.items()}
    for table in TABLES:
        spark.sql(f"CACHE TABLE {table}")
    cached = {f"{n} of cached": rows_of(spark.sql(q.over_tables())) for n, q in QUERIES.items()}
    spark.stop()
    return {**answers, **cached}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
