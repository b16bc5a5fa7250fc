"""This engine at the events bench: events as lines of N-Triples in, answers as an Arrow table out."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

import sparkext
from bench.event_chains.event_batches import (
    EXAMPLE,
    SECOND_MS,
    STREAM,
    Happened,
    Numbers,
    query_text,
)
from bench.report import BenchError
from sparkext.recorded_streams import StreamElement


@dataclass(frozen=True)
class Answered:
    """What a batch took, and its matches as sorted rows of node numbers.

    Milliseconds from events in the caller's hands to answers there, of these evaluation alone (None: not known), and of
    processor time of all that works for it.
    """

    ms: float
    run_ms: float | None
    cpu_ms: float
    matches: Numbers


class EngineChains:
    """The query registered in an engine of its own, its stream filled."""

    name = ""

    def __init__(
        self,
        spark: SparkSession,
        steps: int,
        filling: Iterable[Happened],
        static: Path | None,
        together: int = 1,
    ) -> None:
        self._spark = spark
        self._together = together
        self._instant = 0
        self._engine = sparkext.Engine(spark)
        try:
            if static is not None:
                self._engine.open_static(static, progress=False)
            self._stream = self._engine.register_stream(STREAM)
            self._query = self._engine.register_query(query_text(steps, static is not None))
            for some in filling:
                self._stream.push_elements(_elements(some, some.lines(), 1))
            self._end_second()
        except BaseException:
            self._engine.close()
            raise

    def take(self, batch: Happened) -> Answered:
        """Push a batch, evaluate, and read the answers."""
        lines = batch.lines()  # a source hands over text
        used = self._used_ms()
        evaluated = self._query.progress.seconds
        began = time.perf_counter()
        self._stream.push_elements(_elements(batch, lines, self._together))
        answers = self._end_second()
        ms = (time.perf_counter() - began) * 1e3
        return Answered(
            ms,
            (self._query.progress.seconds - evaluated) * 1e3,
            self._used_ms() - used,
            _numbers(answers),
        )

    def _end_second(self) -> pa.Table:
        self._instant += SECOND_MS
        self._stream.advance_to(self._instant)
        answers = self._query.last_answers
        if answers is None or answers.time != self._instant:
            raise BenchError(f"no evaluation at {self._instant} ms")
        return answers.table

    def _used_ms(self) -> float:
        processes = self._spark._jvm.java.lang.ProcessHandle  # type: ignore[union-attr]
        used = processes.current().info().totalCpuDuration()
        return time.process_time() * 1e3 + float(used.get().toMillis())

    def state_bytes(self) -> int:
        """Bytes that the query's MATCH holds: partial matches and matches."""
        return sum(int(match["state_bytes"]) for match in self._query.explain().data["matches"])

    def close(self) -> None:
        """End the engine."""
        self._engine.close()


def _elements(some: Happened, lines: list[str], together: int) -> list[StreamElement]:
    if together == 1:
        times = some.time.tolist()
        return [StreamElement(t, None, (line,)) for t, line in zip(times, lines, strict=True)]
    times = some.time[::together].tolist()
    return [
        StreamElement(t, None, tuple(lines[place * together : (place + 1) * together]))
        for place, t in enumerate(times)
    ]


def _numbers(answers: pa.Table) -> Numbers:
    """Answers as sorted rows of node numbers."""
    begins = len(f"<{EXAMPLE}n")
    columns = [
        pc.utf8_slice_codeunits(column.cast(pa.string()), begins, -1).cast(pa.int64())
        for column in answers.columns
    ]
    return in_order(np.column_stack([np.asarray(column) for column in columns]))


def in_order(rows: Numbers) -> Numbers:
    """The rows, sorted."""
    return rows[np.lexsort(rows.T[::-1])]
