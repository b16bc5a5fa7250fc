"""Memory while ever-new terms come in, by every way into a stream.

Readings of sensors that are never seen again (`--elements`, 20,000,000 by each way; quick 16,000), 100,000 a window
of ten seconds, with one query that joins each window with static data, in a heap of 1 GB. Eight times, after a window's
answers, the heap is collected and read, and the processes' resident memory. `heap_mib` and the others are those eight;
`heap_growth` is the last of the heap over the second, which is when all that is kept once is there. The answers of all
windows are counted and compared with what the readings say; the rate is with all that.
"""

from __future__ import annotations

import argparse
import gc
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from bench.long_runs.memory import Held, held
from bench.report import Report, progress
from bench.ways import SETTINGS
from bench.ways_in.engine import AnswersDifferError, ReadingsEngine
from bench.ways_in.readings import AREAS, PLACES, Readings
from bench.ways_in.replaying import NAME as REPLAY
from bench.ways_in.replaying import replay_file
from bench.ways_in.ways import (
    FromDataFrame,
    PushCodes,
    PushElements,
    PushMapped,
    PushOne,
    PushText,
    Way,
)

NAME = "intake"
COLUMNS = (
    "way",
    "elements",
    "elements_per_s",
    "heap_mib",
    "heap_growth",
    "java_mib",
    "python_mib",
    "terms",
)
WAYS: tuple[type[Way], ...] = (
    PushOne,
    PushElements,
    PushText,
    PushCodes,
    PushMapped,
    FromDataFrame,
)
NAMES = (*(way.name for way in WAYS), REPLAY)
_SAMPLES = 8


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--way", action="append", choices=NAMES, help="only this way; repeatable")
    parser.add_argument(
        "--elements", type=int, help="elements by each way (default 20000000; quick 16000)"
    )
    parser.add_argument(
        "--window", type=int, help="elements of a window (default 100000; quick 1000)"
    )


def run(args: argparse.Namespace) -> Report:
    """Runs the bench; raises AnswersDifferError where what came in is not what was given."""
    elements = args.elements or (16_000 if args.quick else 20_000_000)
    window = args.window or (1_000 if args.quick else 100_000)
    builder = sparkext.configure(SparkSession.builder)
    for key, value in {**SETTINGS, "spark.driver.memory": "1g"}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        rows = []
        for name in args.way or NAMES:
            progress(f"{name}, {elements:,} elements")
            rows.append(measure(spark, name, elements, window))
    finally:
        spark.stop()
    return Report(NAME, rows, {"elements_a_window": window})


def measure(spark: SparkSession, name: str, elements: int, window: int) -> dict[str, Any]:
    """One way in, in an engine of its own."""
    gc.collect()  # what Python's objects of the engine before still hold in the JVM
    kind = next((way for way in WAYS if way.name == name), None)
    with tempfile.TemporaryDirectory(prefix="bench-intake-") as given:
        folder = Path(given)
        mapping = None
        if kind is not None and kind.mapping is not None:
            mapping = folder / "mapping.ttl"
            mapping.write_text(kind.mapping, encoding="utf-8")
        with closing(ReadingsEngine(spark, 1, mapping)) as engine:
            watch = _Watch(engine, elements)
            if kind is None:
                path = folder / "readings.nq"
                for number, readings in enumerate(_windows(elements, window)):
                    readings.append_quads(path, number * window)
                watch.begin()
                replay_file(engine, path)
            else:
                watch.begin()
                with closing(kind(engine)) as way:
                    for readings in _windows(elements, window):
                        way.take(way.in_hand(readings), math.inf)
                        engine.stream.advance_to(readings.end_ms)
            seconds = time.perf_counter() - watch.began
            expected = sum(_answers(readings) for readings in _windows(elements, window))
            if watch.answers != expected:
                raise AnswersDifferError(f"{name}: {watch.answers:,} answers, not {expected:,}")
    heap = [round(one.heap) for one in watch.held]
    return {
        "way": name,
        "elements": elements,
        "elements_per_s": round(elements / seconds),
        "heap_mib": heap,
        "heap_growth": round(heap[-1] / heap[min(1, len(heap) - 1)] - 1, 3),
        "java_mib": [round(one.java) for one in watch.held],
        "python_mib": [round(one.python) for one in watch.held],
        "terms": [one.terms for one in watch.held],
    }


def _windows(elements: int, window: int) -> Iterator[Readings]:
    for number in range(-(-elements // window)):
        made = Readings.of_window(number, window)
        sensors = np.arange(number * window, number * window + window)
        yield Readings(sensors, made.place, made.time).first(elements - number * window)


def _answers(readings: Readings) -> int:
    """How many of a window's readings are of the area that the query asks for: its sensors differ."""
    assert PLACES % AREAS == 0
    return int((readings.place % AREAS == 0).sum())


class _Watch:
    """Counts answers, and reads memory after some of them."""

    def __init__(self, engine: ReadingsEngine, elements: int) -> None:
        self.answers = 0
        self.held: list[Held] = []
        self.began = 0.0
        self._engine = engine
        self._step = elements / _SAMPLES
        engine.queries[0].subscribe(self._tell)

    def begin(self) -> None:
        """Start the clock."""
        self.began = time.perf_counter()

    def _tell(self, answers: Any) -> None:
        self.answers += len(answers)
        taken = self._engine.stream.accepted_count
        if len(self.held) < _SAMPLES and taken >= self._step * (len(self.held) + 0.99):
            self.held.append(held(self._engine.spark, self._engine.engine))
            progress(f"{taken:,}: {self.held[-1].heap:,.0f} MiB")
