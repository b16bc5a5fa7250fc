"""TPC-H with the extension gives what stock Spark gives: as queries over tables, and as streaming jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT
from tests.sparkext.unchanged.tpch_queries import QUERIES, STREAMING, WITHOUT_JOIN
from tests.sparkext.unchanged.tpch_tables import make_tables, open_tables, rows_of

IN_EVERY_RUN = (3,)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of each table."""
    folder = tmp_path_factory.mktemp("tpch")
    make_tables(folder)
    return folder


@pytest.mark.slow
def test_queries_over_tables_answer_as_stock_spark_does(tables: Path) -> None:
    found = {}
    for kind in ("stock", "extended"):
        command = [sys.executable, "-m", "tests.sparkext.unchanged.tpch_tables", kind, str(tables)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-4000:]
        found[kind] = json.loads(done.stdout)
    assert len(found["stock"]) == 2 * len(QUERIES)
    for name, rows in found["stock"].items():
        assert rows, name
        assert found["extended"][name] == rows, name


@pytest.mark.parametrize(
    "number",
    [n if n in IN_EVERY_RUN else pytest.param(n, marks=pytest.mark.slow) for n in STREAMING],
)
def test_a_streaming_job_answers_as_stock_spark_does(
    number: int, spark: SparkSession, tables: Path, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    open_tables(session, tables)
    query = QUERIES[number]
    rows, plan = streamed(session, number, tables, tmp_path / "kept")
    session.conf.set("spark.cqels.enabled", "false")
    stock, stock_plan = streamed(session, number, tables, tmp_path / "stock")
    if query.mode == "append":  # Nothing sorts what is appended.
        rows, stock = sorted(rows), sorted(stock)
    assert rows == stock
    assert sorted(rows) == sorted(rows_of(session.sql(query.over_tables())))
    assert "KeptStaticSide" not in stock_plan
    assert ("KeptStaticSide" in plan) == (number not in WITHOUT_JOIN)


def streamed(
    spark: SparkSession, number: int, tables: Path, folder: Path
) -> tuple[list[list[str]], str]:
    """The answers of a job that takes its stream file by file, and the plan of its last batch."""
    query = QUERIES[number]
    assert query.stream is not None
    source = spark.readStream.schema(spark.table(query.stream).schema)
    source = source.option("maxFilesPerTrigger", 1)
    source.parquet(str(tables / query.stream)).createOrReplaceTempView("streamed")
    writer = spark.sql(query.over_stream("streamed")).writeStream.outputMode(query.mode)
    writer = writer.option("checkpointLocation", str(folder)).trigger(availableNow=True)
    job = writer.format("memory").queryName(f"answers_{folder.name}").start()
    job.awaitTermination()
    assert job.lastProgress is not None
    return rows_of(spark.table(f"answers_{folder.name}")), str(job._jsq.explainInternal(False))
