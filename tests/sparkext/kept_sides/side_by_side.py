"""Streaming jobs side by side over one source, each with kept static sides and, as the oracle, without."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from tests.sparkext.kept_sides.streaming_job import READINGS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

Rows = Iterable[tuple[Any, ...]]


@dataclass(frozen=True)
class Scenario:
    """A job, what happens while it runs, and when it starts again.

    `ways` has a letter for each batch, `k` with kept sides and `s` without, and a space where the job stops and starts
    again. What is in `before` happens once, before the batch with that number, for all jobs that run side by side.
    """

    answers: Callable[[DataFrame], DataFrame]
    ways: str = "kkkk"
    mode: str = "append"
    before: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    # What a function of foreachBatch makes of the rows of a batch.
    in_batch: Callable[[DataFrame], DataFrame] | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def stock(self) -> str:
        """The same starts, all of stock Spark."""
        return self.ways.replace("k", "s")


@dataclass
class Outcome:
    """Of one job: the sorted rows of each batch that has some, the error that ended it, the plan after each feeding."""

    rows: list[list[str]] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)
    # The rows that Spark says its sources gave, for each trigger that told.
    inputs: list[int] = field(default_factory=list)

    @property
    def seen(self) -> tuple[list[list[str]], list[str]]:
        """What must be as with stock Spark. A kept side fails while the batch is planned, stock maybe in its sink."""
        return self.rows, self.error[-1:]

    @property
    def rows_in(self) -> list[int]:
        """The same without the triggers that found nothing."""
        return [n for n in self.inputs if n]

    def kept(self) -> list[bool]:
        """Whether the joins of each batch had a kept side."""
        return ["KeptStaticSide" in plan for plan in self.plans]

    def uses(self) -> list[int]:
        """How often the first kept side of each plan had been used."""
        found = [re.search(r"KeptStaticSide .*?, used (\d+) times", plan) for plan in self.plans]
        return [int(one.group(1)) if one else 0 for one in found]


class _Job:
    """One scenario in one way."""

    def __init__(self, scenario: Scenario, ways: str, checkpoint: Path) -> None:
        self.scenario = scenario
        self.letters = ways.replace(" ", "")
        ends = [len(run) for run in ways.split(" ")]
        self.starts = {sum(ends[:at]) for at in range(len(ends))}
        self.checkpoint = checkpoint
        self.query: StreamingQuery | None = None
        self.outcome = Outcome()

    def begin(self, number: int, spark: SparkSession, stream: DataFrame) -> None:
        if number not in self.starts or self.outcome.error:
            return
        self.end()
        conf = {
            "spark.cqels.keptSides.enabled": str(self.letters[number] == "k").lower(),
            "spark.sql.streaming.pollingDelay": "1s",
            **self.scenario.conf,
        }
        for key, value in conf.items():
            spark.conf.set(key, value)
        try:
            writer = self.scenario.answers(stream).writeStream.outputMode(self.scenario.mode)
            writer = writer.option("checkpointLocation", str(self.checkpoint))
            self.query = writer.foreachBatch(self._keep).start()
        finally:
            for key in conf:
                spark.conf.unset(key)

    def _keep(self, batch: DataFrame, _: int) -> None:
        made = batch if self.scenario.in_batch is None else self.scenario.in_batch(batch)
        rows = sorted(repr(tuple(row)) for row in made.collect())
        if rows:
            self.outcome.rows.append(rows)

    def wait(self) -> None:
        if self.query is None or self.outcome.error:
            return
        try:
            self.query.processAllAvailable()
        except PySparkException as failure:
            self.outcome.error = re.findall(r"\[([A-Z_.]+)\]", str(failure)) or [str(failure)]
            return
        self.outcome.plans.append(str(self.query._jsq.explainInternal(False)))

    def end(self) -> None:
        if self.query is not None:
            self.outcome.inputs += [p.numInputRows for p in self.query.recentProgress]
            self.query.stop()
            self.query = None


def side_by_side(
    spark: SparkSession, folder: Path, scenarios: Mapping[str, Scenario], batches: Sequence[Rows]
) -> dict[str, tuple[Outcome, Outcome]]:
    """What stock Spark and kept sides made of each scenario, in this order."""
    source = folder / "source"
    source.mkdir(parents=True)
    stream = spark.readStream.schema(READINGS).option("maxFilesPerTrigger", 1).json(str(source))
    pairs = {
        name: tuple(
            _Job(one, ways, folder / "checkpoints" / f"{at}-{kind}")
            for kind, ways in (("stock", one.stock), ("kept", one.ways))
        )
        for at, (name, one) in enumerate(scenarios.items())
    }
    jobs = [job for pair in pairs.values() for job in pair]
    try:
        for number, rows in enumerate(batches):
            # A change that several scenarios share happens once.
            changes = {id(c): c for s in scenarios.values() if (c := s.before.get(number))}
            for change in changes.values():
                change()
            for job in jobs:
                job.begin(number, spark, stream)
            feed(source, number, rows)
            for job in jobs:
                job.wait()
    finally:
        for job in jobs:
            job.end()
    return {name: (stock.outcome, kept.outcome) for name, (stock, kept) in pairs.items()}


def feed(source: Path, number: int, rows: Rows) -> None:
    """A file of readings, there as a whole or not at all."""
    names = [column.split()[0] for column in READINGS.split(", ")]
    made = source.parent / f"reading-{number:05}.json"
    made.write_text("\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows))
    made.rename(source / made.name)
