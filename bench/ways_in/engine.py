"""An engine with a stream of readings and queries over it, which must answer what the readings say."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

import sparkext
from bench.report import BenchError
from bench.ways_in.readings import (
    AREAS,
    OBSERVED,
    PATTERN,
    STREAM,
    Readings,
    query_text,
    static_lines,
)


class AnswersDifferError(BenchError):
    """What came in by some way is not what was given."""


class ReadingsEngine:
    """An engine with so many queries over the stream; with a mapping, the stream takes rows by it. Close it.

    `keys` are settings of the engine. Queries ask for OBSERVED readings, each of them an answer, or by PATTERN.
    """

    def __init__(
        self,
        spark: SparkSession,
        queries: int,
        mapping: Path | None = None,
        observed: bool = False,
        keys: Mapping[str, str] | None = None,
    ) -> None:
        self.spark = spark
        self._observed = observed
        self.engine = _engine_with(spark, keys or {})
        try:
            with tempfile.TemporaryDirectory(prefix="bench-ways-") as folder:
                static = Path(folder) / "places.nt"
                static.write_text(static_lines(), encoding="utf-8")
                self.engine.load_static(static, progress=False)
            # Named only where there is one: versions without mappings have the other ways.
            options: dict[str, Any] = {}
            if mapping is not None:
                options = {"mapping": mapping, "time": "time"}
            self.stream = self.engine.register_stream(STREAM, **options)
            self.queries = [
                self.engine.register_query(query_text(number, OBSERVED if observed else PATTERN))
                for number in range(queries)
            ]
        except BaseException:
            self.engine.close()
            raise

    @property
    def evaluation_seconds(self) -> float:
        """What all evaluations have taken so far, moving windows and decoding included."""
        return sum(query.progress.seconds for query in self.queries)

    def check(self, way: str, taken: list[Readings]) -> None:
        """Raise AnswersDifferError unless the windows so far had these readings, all of them evaluated."""
        counts = np.sum([window.answer_counts(self._observed) for window in taken], axis=0)
        for number, query in enumerate(self.queries):
            expected = int(counts[number % AREAS])
            if query.progress.answers != expected:
                raise AnswersDifferError(
                    f"{way}: query {number} of {len(self.queries)} has {query.progress.answers:,} answers over "
                    f"{len(taken)} window(s), not {expected:,}"
                )
            answers = query.last_answers
            assert answers is not None
            if Counter(answers.rows()) != taken[-1].answers(number % AREAS, self._observed):
                raise AnswersDifferError(
                    f"{way}: query {number} has other answers to the last window"
                )

    def close(self) -> None:
        """End the engine."""
        self.engine.close()


def _engine_with(spark: SparkSession, keys: Mapping[str, str]) -> sparkext.Engine:
    for key, value in keys.items():
        spark.conf.set(key, value)
    try:
        return sparkext.Engine(spark)
    finally:
        for key in keys:
            spark.conf.unset(key)
