"""Spark's real-time mode beside a checkpoint: each row once, wherever its long batch was broken off."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sparkext import Engine
from sparkext.runtime.streams.structured_source import StreamSourceError
from tests.sparkext.listening import S, listen, query, settings
from tests.sparkext.restart.broken_runs import leave
from tests.sparkext.restart.live_source import Source, awaited, line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.runtime.answering.answers import Answers

TEXT = query("WINDOW :w { ?x :p ?y }", "[RANGE 5000 STEP 1000]", "*", "ISTREAM")
LONG = "5 minutes"


@pytest.fixture
def source(spark: SparkSession) -> Source:
    return Source(spark, partitions=2)


@pytest.fixture(autouse=True)
def seldom(spark: SparkSession) -> Iterator[None]:
    with settings(spark, **{"checkpoint.interval": "1h"}):
        yield


@pytest.fixture
def short(spark: SparkSession) -> Iterator[str]:
    """Long batches that are as short as a test wants them."""
    key = "spark.sql.streaming.realTimeMode.minBatchDuration"
    spark.conf.set(key, "500ms")
    yield "1 second"
    spark.conf.unset(key)


class Run:
    """A program that reads a source in real-time mode, until it is left."""

    def __init__(self, spark: SparkSession, source: Source, folder: Path, duration: str) -> None:
        self._folder = folder
        self.engine = Engine(spark, checkpoint=folder / "engine")
        # Two partitions are read side by side: which row comes first is chance.
        self.stream = self.engine.register_stream(S, allowed_lateness=30_000, late="hold")
        self.had = self.stream.accepted_count
        self.heard: list[Answers] = listen(self.engine, TEXT)
        self.query = self.stream.read(source.frame, str(folder / "spark"), real_time=duration)

    def read(self, count: int) -> None:
        awaited(lambda: self.stream.accepted_count >= count, self.query)

    def left(self, to: Path) -> Path:
        """The folders as they would be if the process were killed now."""
        while True:
            ended = self._ended()
            leave(self._folder / "engine", to / "engine")
            leave(self._folder / "spark", to / "spark")
            if self._ended() == ended:
                return to
            shutil.rmtree(to)  # a batch ended between the two: no kill leaves them so

    def _ended(self) -> set[str]:
        return {file.name for file in self._folder.glob("spark/commits/[0-9]*")}


def rows(count: int, start: int = 0) -> list[str]:
    return [line(number, 700 * number) for number in range(start, start + count)]


def found(heard: list[Answers]) -> dict[tuple[int, int], list[object]]:
    return {(a.time, a.sequence): sorted(map(str, a.rows())) for a in heard}


def test_rows_of_a_batch_that_was_broken_off_come_once(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    first = Run(spark, source, tmp_path / "lived", LONG)
    with closing(first.engine) as engine:
        source.add(*rows(10))
        first.read(10)
        engine.commit()
        source.add(*rows(5, 10))
        first.read(15)
        left = first.left(tmp_path / "left")
        source.add(*rows(5, 15))
        first.read(20)
        engine.advance_to(50_000)
        unbroken = found(first.heard)
    second = Run(spark, source, left, LONG)
    with closing(second.engine) as engine:
        assert second.had == 10
        second.read(20)
        engine.advance_to(50_000)
        again = found(second.heard)
        assert second.stream.accepted_count == 20
        assert second.stream.late_count == 0
    assert unbroken
    assert again == unbroken


def test_a_batch_has_ended_when_its_rows_are_kept(
    spark: SparkSession, source: Source, tmp_path: Path, short: str
) -> None:
    first = Run(spark, source, tmp_path / "lived", short)
    with closing(first.engine):
        source.add(*rows(6))
        awaited(lambda: (first.query.lastProgress or {"batchId": 0})["batchId"] >= 2, first.query)
        left = first.left(tmp_path / "left")
    second = Run(spark, source, left, short)
    with closing(second.engine):
        assert second.had == 6
        source.add(*rows(2, 6))
        second.read(8)
        third = second.left(tmp_path / "third")
        assert second.stream.accepted_count == 8
    last = Run(spark, source, third, short)
    with closing(last.engine):
        last.read(8)
        source.add(*rows(1, 8))
        last.read(9)
        assert last.stream.accepted_count == 9


def test_a_gap_and_a_step_back_are_told(
    spark: SparkSession, source: Source, tmp_path: Path, short: str
) -> None:
    first = Run(spark, source, tmp_path / "lived", short)
    with closing(first.engine) as engine:
        source.add(*rows(3))
        first.read(3)
        engine.commit()
        early = first.left(tmp_path / "early")
        awaited(lambda: (first.query.lastProgress or {"batchId": 0})["batchId"] >= 4, first.query)
        late = first.left(tmp_path / "late")
    mixed = {"gap": (early, late), "step back": (late, early)}
    told = {}
    for name, (ours, its) in mixed.items():
        shutil.copytree(ours / "engine", tmp_path / name / "engine")
        shutil.copytree(its / "spark", tmp_path / name / "spark")
        run = Run(spark, source, tmp_path / name, short)
        with closing(run.engine):
            with pytest.raises(Exception, match="batch"):
                run.query.awaitTermination(60)
            told[name] = str(run.query.exception())
    assert "are not in the checkpoint, which is an older one" in told["gap"]
    assert "the checkpoint folder of the source is an older one" in told["step back"]


def test_a_batch_that_was_begun_is_no_micro_batch(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    run = Run(spark, source, tmp_path / "lived", LONG)
    with closing(run.engine):
        source.add(*rows(4))
        run.read(4)
        run.query.stop()
        query = run.stream.read(source.frame, str(tmp_path / "lived" / "spark"))
        with pytest.raises(Exception, match="begun in real-time mode"):
            query.awaitTermination(60)


def test_a_source_without_rows_is_nowhere(
    spark: SparkSession, source: Source, tmp_path: Path
) -> None:
    run = Run(spark, source, tmp_path / "lived", LONG)
    with closing(run.engine):
        time.sleep(1)
        assert run.query.isActive
        assert run.stream.batches.last == {}


def broken_off(spark: SparkSession, source: Source, folder: Path) -> Path:
    """What is left of a run that had ten rows of a batch."""
    run = Run(spark, source, folder / "lived", LONG)
    with closing(run.engine) as engine:
        source.add(*rows(10))
        run.read(10)
        engine.commit()
        return run.left(folder / "left")


@pytest.mark.parametrize(
    ("partitions", "message"),
    [(2, "the batch has ended .* rows before those"), (3, "in 3 partitions, not in 2")],
)
def test_a_batch_that_is_another_one_when_it_is_read_again_is_refused(
    spark: SparkSession, source: Source, tmp_path: Path, short: str, partitions: int, message: str
) -> None:
    left = broken_off(spark, source, tmp_path)
    other = Source(spark, partitions)
    other.add(*rows(4))
    run = Run(spark, other, left, short)
    with closing(run.engine):
        with pytest.raises(Exception, match="batch"):
            run.query.awaitTermination(60)
        assert re.search(message, str(run.query.exception()))
        assert run.stream.accepted_count == 10


def test_a_micro_batch_ends_as_one(spark: SparkSession, source: Source, tmp_path: Path) -> None:
    with closing(Engine(spark, checkpoint=tmp_path / "engine")) as engine:
        stream = engine.register_stream(S)
        source.add(*rows(3))
        query = stream.read(source.frame, str(tmp_path / "spark"))
        awaited(lambda: stream.accepted_count == 3, query)
        query.processAllAvailable()
        query.stop()
        kept = sorted(tmp_path.glob("spark/offsets/[0-9]*"))
        for file in tmp_path.glob(f"spark/commits/*{kept[-1].name}*"):
            file.unlink()
        with pytest.raises(StreamSourceError, match="begun as a micro-batch"):
            stream.read(source.frame, str(tmp_path / "spark"), real_time=LONG)
        assert sorted(tmp_path.glob("spark/offsets/[0-9]*")) == kept


def test_the_rest_of_a_batch_that_is_gone_is_told(
    spark: SparkSession, source: Source, tmp_path: Path, short: str
) -> None:
    left = broken_off(spark, source, tmp_path)
    ended = Run(spark, source, shutil.copytree(left, tmp_path / "ended"), short)
    with closing(ended.engine):
        awaited((tmp_path / "ended" / "spark" / "commits" / "0").exists, ended.query)
        shutil.rmtree(left / "spark")
        leave(tmp_path / "ended" / "spark", left / "spark")
    run = Run(spark, source, left, short)  # some of batch 0, which Spark takes to be done
    with closing(run.engine):
        with pytest.raises(Exception, match="batch"):
            run.query.awaitTermination(60)
        assert "batches 0 to " in str(run.query.exception())
