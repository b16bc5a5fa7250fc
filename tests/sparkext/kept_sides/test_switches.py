"""What turns kept static sides off, and what is seen of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import sparkext
from sparkext.config import Settings
from sparkext.errors import CqelsError
from tests.sparkext.kept_sides.job_shapes import batches, write_sensors
from tests.sparkext.kept_sides.streaming_job import StreamingJob
from tests.sparkext.sql.tables import jobs_of

ROOT = Path(__file__).resolve().parents[3]
EXPLAINED = "org.apache.spark.sql.cqels.kept.KeptSidesExplained"


def plans(folder: Path, way: str) -> dict[str, str]:
    (folder / way).mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-m", "tests.sparkext.kept_sides.stock_plans", str(folder / way), way],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_plans_are_those_of_stock_when_it_is_off(tmp_path: Path) -> None:
    stock = plans(tmp_path, "stock")
    assert all("Join" in plan for plan in stock.values())
    assert plans(tmp_path, "disabled") == stock
    assert plans(tmp_path, "not_kept") == stock


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", "perhaps"),
        ("joinOrder", "perhaps"),
        ("maxMemory", "abc"),
        ("maxMemory", "101%"),
        ("maxMemory", "-1"),
        ("ttl", "soon"),
        ("ttl", "-1"),
    ],
)
def test_a_wrong_value_is_refused(spark: SparkSession, key: str, value: str) -> None:
    name = f"spark.cqels.keptSides.{key}"
    try:
        with pytest.raises(PySparkException, match=name):
            spark.sql(f"SET {name}={value}")
        with pytest.raises(PySparkException, match=name):
            spark.conf.set(name, value)
    finally:
        spark.conf.unset(name)


class Listening:
    """A listener of Spark's that keeps the events of kept sides."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def onOtherEvent(self, event: object) -> None:  # noqa: N802
        self.events.append(event.toString())  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> object:
        if name.startswith("on"):
            return lambda *_: None
        raise AttributeError(name)

    class Java:
        """What py4j asks for."""

        implements = ("org.apache.spark.scheduler.SparkListenerInterface",)


@pytest.fixture
def sensors(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    write_sensors(tmp_path / "sensors" / "a.parquet")
    spark._jvm.org.apache.spark.sql.cqels.kept.KeptSidesReport.clear(spark._jsparkSession)
    yield str(tmp_path / "sensors")


def test_what_is_seen(spark: SparkSession, tmp_path: Path, sensors: str) -> None:
    from pyspark.java_gateway import ensure_callback_server_started

    ensure_callback_server_started(spark.sparkContext._gateway)
    context = spark.sparkContext._jsc.sc()
    listening = Listening()
    context.addSparkListener(listening)
    spark.conf.set("spark.sql.extendedExplainProviders", EXPLAINED)
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    try:
        stream = job.readings()
        made = stream.join(spark.read.parquet(sensors), F.col("id") == F.col("sensor"))
        rows = spark.sparkContext.parallelize([(i, "x") for i in range(9)], 2).map(tuple)
        more = rows.toDF("number long, text string")
        job.start(made.join(more, F.col("k") == F.col("number"), "left"))
        for batch in batches(2):
            job.feed(batch)
        text = job.plan()
        assert "parquet sensors: kept, rows 40" in text
        assert "LogicalRDD: not kept, an RDD has no version" in text
        (side,) = sparkext.kept_sides(spark)
        assert (side.rows, side.side) == (40, "parquet sensors")
        context.listenerBus().waitUntilEmpty(60_000)
        told = [e for e in listening.events if e.startswith("StaticSide")]
        assert job.query is not None
        assert [e.partition("(")[0] for e in sorted(told)] == [
            "StaticSideKept",
            "StaticSideNotKept",
        ]
        assert all(str(job.query.id) in e for e in told)
    finally:
        job.stop()
        context.removeSparkListener(listening)


def test_what_is_observed_of_a_side_is_told_in_each_batch(
    spark: SparkSession, tmp_path: Path, sensors: str
) -> None:
    side = spark.read.parquet(sensors).observe("side", F.count("*").alias("rows"))
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    try:
        job.start(job.readings().join(side, F.col("id") == F.col("sensor")))
        for batch in batches(2):
            job.feed(batch)
        assert job.query is not None
        told = [one["observedMetrics"].get("side") for one in job.query.recentProgress]
        assert [row and row["rows"] for row in told if row is not None] == [40, 40]
    finally:
        job.stop()


def test_a_batch_that_is_cached(spark: SparkSession, tmp_path: Path, sensors: str) -> None:
    """As by functions that write it to several places."""
    counts: list[int] = []

    def answer(batch: DataFrame, _: int) -> None:
        batch.persist()
        side = spark.read.parquet(sensors)
        counts.append(batch.join(side, F.col("id") == F.col("sensor")).count())
        batch.unpersist()

    job = StreamingJob(spark, tmp_path / "job", kept=True)
    writer = job.readings().writeStream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    job.query = writer.foreachBatch(answer).start()
    try:
        for batch in batches(2):
            job.feed(batch)
        (side,) = sparkext.kept_sides(spark)
        assert (side.rows, side.side) == (40, "parquet sensors")
        assert len(counts) == 2 and all(counts)
    finally:
        job.stop()


@pytest.mark.parametrize(("how", "kept"), [("inner", False), ("right", True)])
def test_a_hint_to_broadcast_the_stream(
    spark: SparkSession, tmp_path: Path, sensors: str, how: str, kept: bool
) -> None:
    """It is followed where Spark can follow it."""
    job = StreamingJob(spark, tmp_path / "job", kept=True)
    try:
        readings = F.broadcast(job.readings())
        side = spark.read.parquet(sensors)
        job.start(side.join(readings, F.col("id") == F.col("sensor"), how))
        job.feed(batches(1)[0])
        assert ("KeptStaticSide" in job.plan()) == kept
    finally:
        job.stop()


def test_a_plan_that_is_only_shown_reads_nothing(spark: SparkSession, sensors: str) -> None:
    stream = spark.readStream.format("rate").load()
    made = stream.join(spark.read.parquet(sensors), F.col("value") == F.col("sensor"))
    assert jobs_of(spark, lambda: made.explain(True)) == 0
    assert sparkext.kept_sides(spark) == []


def test_settings_name_the_key(spark: SparkSession) -> None:
    name = "spark.cqels.keptSides.maxMemory"
    with pytest.raises(CqelsError, match=name):
        Settings.from_mapping({name: "abc"})


def test_rows_of_a_source_of_version_two(spark: SparkSession, tmp_path: Path, sensors: str) -> None:
    counts = {}
    for kept in (False, True):
        spark.conf.set("spark.cqels.keptSides.enabled", str(kept).lower())
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
        made = stream.join(spark.read.parquet(sensors), F.col("value") == F.col("sensor"))
        query = made.writeStream.format("noop").start()
        try:
            while len([p for p in query.recentProgress if p.numInputRows]) < 2:
                query.awaitTermination(1)
            counts[kept] = {p.numInputRows for p in query.recentProgress if p.numInputRows}
        finally:
            query.stop()
            spark.conf.unset("spark.cqels.keptSides.enabled")
    assert counts[True] == counts[False] == {10}
