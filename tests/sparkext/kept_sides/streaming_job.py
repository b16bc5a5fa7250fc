"""A streaming job whose steps a test decides, run by stock Spark and with kept static sides."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

READINGS = "id BIGINT, k INT, name STRING, v DOUBLE, at TIMESTAMP"


class StreamingJob:
    """Readings that arrive in files, one micro-batch each, in a folder of its own."""

    def __init__(self, spark: SparkSession, folder: Path, kept: bool, mode: str = "append") -> None:
        self.spark = spark
        self.folder = folder
        self.kept = kept
        self.mode = mode
        self.query: StreamingQuery | None = None
        self._name = f"answers_{uuid.uuid4().hex}"
        self._files = 0
        (folder / "readings").mkdir(parents=True)

    def readings(self) -> DataFrame:
        """The stream that `feed` fills."""
        source = self.spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1)
        return source.json(str(self.folder / "readings"))

    def start(self, answers: DataFrame) -> None:
        """Starts the job, or starts it again from its checkpoint."""
        self.spark.conf.set("spark.cqels.keptSides.enabled", str(self.kept).lower())
        try:
            writer = answers.writeStream.outputMode(self.mode)
            writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
            self.query = writer.foreachBatch(self._keep).start()
        finally:
            self.spark.conf.unset("spark.cqels.keptSides.enabled")

    def _keep(self, batch: DataFrame, number: int) -> None:
        target = self.folder / "answers" / f"{number:05}"
        target.parent.mkdir(exist_ok=True)
        target.write_text("\n".join(sorted(row for row in batch.toJSON().collect())))

    def feed(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """One micro-batch of readings, answered when it returns."""
        names = [column.split()[0] for column in READINGS.split(", ")]
        lines = (json.dumps(dict(zip(names, row, strict=False))) for row in rows)
        self._files += 1
        made = self.folder / f"reading-{self._files:05}.json"
        made.write_text("\n".join(lines))
        made.rename(self.folder / "readings" / made.name)
        assert self.query is not None
        self.query.processAllAvailable()

    def stop(self) -> None:
        """Ends the job; its checkpoint stays."""
        if self.query is not None:
            self.query.stop()

    def plan(self) -> str:
        """The physical plan of the last batch."""
        assert self.query is not None
        return str(self.query._jsq.explainInternal(False))

    def answers(self) -> list[str]:
        """The answers of each batch, sorted, as JSON."""
        folder = self.folder / "answers"
        return [f.read_text() for f in sorted(folder.iterdir())] if folder.exists() else []


Scenario = Callable[[StreamingJob], None]


def both_ways(
    spark: SparkSession, folder: Path, scenario: Scenario, mode: str = "append"
) -> tuple[list[str], list[str]]:
    """The answers of stock Spark, and those with kept sides; the scenario starts from nothing each time."""
    ways = []
    for kept in (False, True):
        job = StreamingJob(spark, folder / ("kept" if kept else "stock"), kept, mode)
        try:
            scenario(job)
        finally:
            job.stop()
        ways.append(job.answers())
    return ways[0], ways[1]
