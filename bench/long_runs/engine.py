"""An engine over the CQELS report's world, with or without a checkpoint, fed second by second of stream time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.data.rdf_files import QUERIES
from bench.data.vocabulary import LOC, LOCALIZATION_GRAPH, STREAM
from sparkext.runtime.answering.answers import Answers
from static_data.terms import Iri

AT = Iri(f"{LOC}at")


@dataclass
class Fed:
    """What has gone in and come out: milliseconds of each second of stream time, elements and answers."""

    ms: list[float] = field(default_factory=list)
    elements: int = 0
    answers: int = 0
    decoded: int = 0

    @property
    def seconds(self) -> float:
        """Of wall time."""
        return sum(self.ms) / 1000.0


class WorldEngine:
    """An engine with the world's static data and one query, whose answers are all decoded; close it."""

    def __init__(
        self, spark: SparkSession, folder: Path, query: str, checkpoint: Path | None = None
    ) -> None:
        self.engine = sparkext.Engine(spark, checkpoint=checkpoint)
        self.engine.load_static(sorted(folder.glob("dblp-*.nt.gz")), progress=False)
        self.engine.load_static(
            folder / "localization.ttl", graph=LOCALIZATION_GRAPH, progress=False
        )
        self.stream = self.engine.register_stream(STREAM)
        text = (QUERIES / f"{query}.rspql").read_text(encoding="utf-8")
        self.query = self.engine.register_query(text)
        self.query.subscribe(self._told)
        self.fed = Fed()

    def _told(self, answers: Answers) -> None:
        self.fed.answers += len(answers)
        self.fed.decoded += sum(column.nbytes for column in answers.table.columns)

    def feed(self, rows: pa.Table, instant: int) -> None:
        """Push the sightings of a second, which all get the time of its end, and promise that no others come."""
        began = time.perf_counter()
        times = pa.array(np.full(len(rows), instant, np.int64))
        self.stream.push_table(
            rows.append_column("time", times),
            subject="person",
            predicate=AT,
            object="room",
            position=instant,
        )
        self.stream.advance_to(instant)
        self.fed.ms.append((time.perf_counter() - began) * 1000)
        self.fed.elements += len(rows)

    def close(self) -> None:
        """End the engine."""
        self.engine.close()
