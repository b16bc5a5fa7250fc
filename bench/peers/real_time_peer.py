"""Stock Spark's real-time mode as a peer: a stream joined with static tables by tasks that run all the time."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bench.report import BenchError

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

LONG_BATCH_SECONDS = 10
# Tasks of the source hold their slots; what is read for a long batch needs others.
MASTER = "local[4]"
_PARTITIONS = 2
_AT_MOST_SECONDS = 120


def seconds_answered(
    spark: SparkSession, query: str, view: str, batches: Iterable[pa.Table]
) -> tuple[list[float], list[pa.Table]]:
    """Gives the rows of a batch each second; milliseconds until its last answer was there, and its answers.

    `query` reads the stream under the name `view`, with the columns `sensor`, `value`, `number` and `given`, of which
    it hands on the last two. A batch without answers has the milliseconds of none, 0.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql.pandas.types import to_arrow_schema

    jvm: Any = spark._jvm
    sources = jvm.org.apache.spark.sql.execution.streaming.sources
    made = getattr(sources, "LowLatencyMemoryStream$").__getattr__("MODULE$")
    stream = made.apply(
        spark._jsparkSession, _PARTITIONS, jvm.org.apache.spark.sql.Encoders.STRING()
    )
    rows = DataFrame(stream.toDF(), spark).selectExpr(
        "cast(split(value, '#')[0] as int) number",
        "cast(split(value, '#')[1] as double) given",
        "explode(split(split(value, '#')[2], ';')) pair",
    )
    rows = rows.selectExpr(
        "number",
        "given",
        "cast(split(pair, ',')[0] as bigint) sensor",
        "cast(split(pair, ',')[1] as double) value",
    )
    rows.createOrReplaceTempView(view)
    now = 'cast(java_method("java.lang.System", "currentTimeMillis") as double)'
    answers = spark.sql(query).selectExpr("*", f"{now} - given ms").drop("given")
    folder = tempfile.mkdtemp(prefix="real-time-")
    writer = answers.writeStream.foreach(_Writer(f"{folder}/answers")).outputMode("update")
    running = writer.trigger(realTime=f"{LONG_BATCH_SECONDS} seconds").start()  # type: ignore[call-overload]
    count = 0
    try:
        for count, batch in enumerate(batches, start=1):
            begun = time.monotonic()
            pairs = [
                f"{s},{v!r}" for s, v in zip(*(c.to_pylist() for c in batch.columns), strict=True)
            ]
            given = time.time() * 1e3
            parts = [
                f"{count - 1}#{given:.3f}#{';'.join(pairs[n::_PARTITIONS])}"
                for n in range(_PARTITIONS)
            ]
            stream.addData(jvm.org.apache.spark.api.python.PythonUtils.toSeq(parts))
            time.sleep(max(0.0, begun + 1.0 - time.monotonic()))
        found = _all_answers(
            running, Path(folder, "answers"), to_arrow_schema(answers.schema), count
        )
    finally:
        running.stop()
        shutil.rmtree(folder)
    numbers = found.column("number").to_pylist()
    times = found.column("ms").to_pylist()
    ms = [0.0] * count
    places: list[list[int]] = [[] for _ in range(count)]
    for place, (number, took) in enumerate(zip(numbers, times, strict=True)):
        ms[number] = max(ms[number], took)
        places[number].append(place)
    answered = found.drop_columns(["number", "ms"])
    return ms, [answered.take(pa.array(wanted, pa.int64())) for wanted in places]


class _Writer:
    """Appends each answer to a file, at once: a task of a long batch ends late."""

    def __init__(self, path: str) -> None:
        self._path = path

    def open(self, partition: int, epoch: int) -> bool:
        self._file = Path(self._path).open("a", buffering=1)  # noqa: SIM115
        return True

    def process(self, answer: Row) -> None:
        self._file.write(json.dumps(list(answer)) + "\n")

    def close(self, failure: Exception | None) -> None:
        self._file.close()


def _all_answers(running: StreamingQuery, path: Path, schema: pa.Schema, count: int) -> pa.Table:
    """The answers once the last batch has some and no more come."""
    before, until = -1, time.monotonic() + _AT_MOST_SECONDS
    number = schema.names.index("number")
    while time.monotonic() < until:
        if not running.isActive:
            raise BenchError(f"real-time mode ended: {running.exception()}")
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) == before:
            rows = [json.loads(line) for line in lines]
            if any(row[number] == count - 1 for row in rows):
                columns = [list(column) for column in zip(*rows, strict=True)]
                return pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)
        before = len(lines)
        time.sleep(1)
    raise BenchError("real-time mode gave no answers to the last batch")
