"""A stream's batches through an engine of its own, each of them at the next second."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.join_orders.batch_streams import BatchStream
from bench.report import BenchError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.registered_query import RegisteredQuery

OPERATOR = {"spark.cqels.multiwayJoin.enabled": "true"}
"""Settings under which one operator joins."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation of the engine: its milliseconds, of these those of statistics and decisions, and its answers."""

    ms: float
    optimizer_ms: float
    answers: pa.Table


class Replay:
    """An engine with a stream's static data, its query registered; windows hold the batch that was shown last."""

    def __init__(
        self, spark: SparkSession, stream: BatchStream, static: Path, keys: Mapping[str, str]
    ) -> None:
        self._kind = stream
        self._second = 0
        self._engine = engine_with(spark, {**stream.keys, **keys})
        try:
            self._engine.open_static(static, progress=False)
            self._stream = self._engine.register_stream(stream.iri)
            registered = self._engine.register_query(stream.query)
            assert isinstance(registered, RegisteredQuery)
            self.query = registered
        except BaseException:
            self._engine.close()
            raise

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._engine.close()

    def show(self, phase: int, batch: int, not_before: float = 0.0) -> Evaluation:
        """The next second, in which this batch arrives; what is told is made and pushed before `not_before`."""
        self._second += 1
        instant = self._second * 1000
        lines = [*self._kind.told_again(self._second), *self._kind.arriving(phase, batch)]
        self._stream.push_elements([StreamElement(instant, None, (line,)) for line in lines])
        time.sleep(max(0.0, not_before - time.monotonic()))
        progress = self.query.progress
        spent, optimizing = _seconds(self.query), progress.optimizer_seconds
        self._stream.advance_to(instant)
        answers = self.query.last_answers
        if answers is None or answers.time != instant or progress.evaluations != self._second:
            raise BenchError(f"{self._kind.name}: not one evaluation at {instant} ms")
        return Evaluation(
            (_seconds(self.query) - spent) * 1e3,
            (progress.optimizer_seconds - optimizing) * 1e3,
            answers.table,
        )


def _seconds(query: RegisteredQuery) -> float:
    """What evaluations took, without moving the windows."""
    return query.progress.seconds - query.progress.window_seconds


def engine_with(spark: SparkSession, keys: Mapping[str, str]) -> sparkext.Engine:
    """An engine under settings that others of the session do not have."""
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        return sparkext.Engine(spark)
    finally:
        for key in keys:
            spark.conf.unset(key)
