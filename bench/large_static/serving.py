"""Saved static data opened again and queries answered over them, in a process that has run nothing before."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

import sparkext
from bench.arrivals import ENCODED
from bench.arrivals.engine_peer import Peer, start_session
from bench.arrivals.rows import rows_at
from bench.data.vocabulary import STREAM
from bench.large_static.resident import Resident, java_heap_mib, java_process
from bench.peers.answers import fingerprint

# Between the streams of two queries, so that no window reaches from one into the other.
PAUSE_MS = 600_000


@dataclass
class Answers:
    """What a query took: seconds to register it, milliseconds from arrival to answer and the answers of each second."""

    register_s: float
    ms: list[float] = field(default_factory=list)
    evaluation_ms: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    fingerprints: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Served:
    """Seconds to start the session (with the process) and to open the data, answers by query, MiB at the end."""

    start_s: float
    open_s: float
    answers: dict[str, Answers]
    heap_mib: float
    resident: Resident

    def first_s(self, query: str) -> float:
        """From before opening, in a session that has started, until the first answer of a query is there."""
        answers = self.answers[query]
        return self.open_s + answers.register_s + answers.ms[0] / 1000


class _Peer(Peer):
    """Opens what there is, and keeps how long that took."""

    def open(self, spark: SparkSession, folder: Path) -> None:
        """Opens the saved data."""
        self.engine = self._engine = sparkext.Engine(spark)
        started = time.perf_counter()
        self._engine.open_static(folder / ENCODED, progress=False)
        self.open_s = time.perf_counter() - started
        self._stream = self._engine.register_stream(STREAM)


def serve(
    folder: Path,
    scale: float,
    heap: str,
    queries: Sequence[str],
    seconds: Sequence[Path],
    launched: float,
) -> Served:
    """Opens the data of the folder and answers each query at every second of a stream, one query after the other.

    `launched` is the `time.perf_counter()` at which this process was asked for: the clock of all processes.
    """
    spark = start_session(scale, {"spark.driver.memory": heap})
    start_s = time.perf_counter() - launched
    peer = _Peer()
    peer.open(spark, folder)
    try:
        answers = {
            query: _answer(peer, query, seconds, turn * PAUSE_MS)
            for turn, query in enumerate(queries)
        }
        resident = Resident.of(java_process(spark))
        return Served(start_s, peer.open_s, answers, java_heap_mib(spark), resident)
    finally:
        peer.close()


def _answer(peer: _Peer, query: str, seconds: Sequence[Path], begin: int) -> Answers:
    started = time.perf_counter()
    peer.begin(query)
    answers = Answers(time.perf_counter() - started)
    for second, path in enumerate(seconds, 1):
        instant = begin + second * 1000
        rows = rows_at(path, instant)
        started = time.perf_counter()
        answered = peer.take(rows, instant)
        answers.ms.append((time.perf_counter() - started) * 1000)
        answers.evaluation_ms.append(answered.evaluation_ms or 0.0)
        answers.counts.append(answered.table.num_rows)
        answers.fingerprints.append(fingerprint(answered.table))
    return answers
