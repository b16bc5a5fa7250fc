"""An engine under one setting of placement, lazy variables and function cache, and what its evaluations took."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.peers.answers import fingerprint
from bench.report import BenchError
from sparkext.recorded_streams import StreamElement
from sparkext.runtime.registered_query import RegisteredQuery

T = TypeVar("T")

FUNCTIONS = ("native", "dear")
PLACEMENTS = ("early", "late", "cost")
# What a dear call takes: the class of the paper's prototype.
DEAR_NANOSECONDS = 100_000

SESSION = {
    "spark.master": "local[2]",
    "spark.app.name": "bench",
    # Three engines with windows of half a million events each, in the placement bench.
    "spark.driver.memory": "8g",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Distributions are read where the texts of terms are: on the driver.
    "spark.cqels.driverExecution.maxRows": "1000000000",
}


class AnswersDifferError(BenchError):
    """Two settings answered the same query over the same windows differently."""


def session() -> SparkSession:
    """The Spark session of the uncertainty benches."""
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SESSION.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


@dataclass(frozen=True)
class Setting:
    """How uncertainty functions are placed and called.

    >>> Setting("dear", "late").keys["spark.cqels.predicatePlacement"]
    'late'
    """

    functions: str = "native"
    placement: str = "cost"
    lazy: bool = True
    cache: bool = True

    @property
    def keys(self) -> dict[str, str]:
        """The setting as `spark.cqels.*` keys."""
        burden = DEAR_NANOSECONDS if self.functions == "dear" else 0
        return {
            "spark.cqels.filterScope": "lift",
            "spark.cqels.predicatePlacement": self.placement,
            "spark.cqels.lazyVariables.enabled": str(self.lazy).lower(),
            "spark.cqels.functionCache.enabled": str(self.cache).lower(),
            "spark.cqels.functionBurden": str(burden),
        }

    @property
    def name(self) -> str:
        """The setting in a few words."""
        lazy, cache = ("on" if used else "off" for used in (self.lazy, self.cache))
        return f"{self.functions} functions, placement {self.placement}, lazy {lazy}, cache {cache}"


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: milliseconds without moving the windows, answers, calls made and calls that the cache spared.

    `window_ms` is what moving them took: keeping up the indexes that its plans read is a part of that.
    """

    instant: int
    ms: float
    fingerprint: str
    answers: int
    calls: int
    cache_hits: int
    window_ms: float = 0.0

    @property
    def total_ms(self) -> float:
        """Moving the windows and evaluating."""
        return self.ms + self.window_ms


@dataclass(frozen=True)
class Counted:
    """What a query has done since it was registered."""

    evaluations: int = 0
    seconds: float = 0.0
    calls: int = 0
    cache_hits: int = 0
    window_seconds: float = 0.0

    @staticmethod
    def of(query: RegisteredQuery) -> Counted:
        """As the query says now."""
        done = query.progress
        sites = [site["total"] for site in query.calls.describe()]
        return Counted(
            done.evaluations,
            done.seconds - done.window_seconds,
            sum(site["calls"] for site in sites),
            sum(site["cache_hits"] for site in sites),
            done.window_seconds,
        )


class WatchedQuery:
    """A registered query whose evaluations are taken one at a time; `runs` are those that were kept."""

    def __init__(self, query: RegisteredQuery) -> None:
        self.query = query
        self.runs: list[Evaluation] = []
        self._before = Counted.of(query)
        self._known: tuple[pa.Table, str] | None = None

    def take(self, instant: int) -> Evaluation:
        """The evaluation at `instant`, which must be the only one since the last was taken."""
        now, before = Counted.of(self.query), self._before
        answers = self.query.last_answers
        if now.evaluations != before.evaluations + 1 or answers is None or answers.time != instant:
            raise BenchError(
                f"{self.query.name}: {now.evaluations - before.evaluations} evaluations,"
                f" not one, at {instant} ms"
            )
        self._before = now
        return Evaluation(
            instant,
            (now.seconds - before.seconds) * 1e3,
            self._fingerprint(answers.table),
            answers.table.num_rows,
            now.calls - before.calls,
            now.cache_hits - before.cache_hits,
            (now.window_seconds - before.window_seconds) * 1e3,
        )

    def _fingerprint(self, table: pa.Table) -> str:
        # It takes several times as long as an evaluation, and windows that stay the same are answered the same.
        if self._known is None or not self._known[0].equals(table):
            self._known = table, fingerprint(table)
        return self._known[1]

    @property
    def median_ms(self) -> float:
        """The median of the runs that were kept."""
        return float(np.median([run.ms for run in self.runs]))

    @property
    def plan(self) -> str | None:
        """The order of the last evaluation; None where there is nothing to order."""
        return " ; ".join(self.query.orders) or None


class Contender:
    """An engine under one setting, its streams and queries."""

    def __init__(self, spark: SparkSession, setting: Setting, static: Path | None = None) -> None:
        self.setting = setting
        # Queries that differ in a threshold only are timed one by one.
        keys = {**setting.keys, "spark.cqels.sharing.enabled": "false"}
        for key, value in keys.items():
            spark.conf.set(key, value)
        try:
            self.engine = sparkext.Engine(spark)
        finally:
            for key in keys:
                spark.conf.unset(key)
        if static is not None:
            self.engine.load_static(static, progress=False)
        self.queries: dict[str, WatchedQuery] = {}
        self.clock = 0  # the last instant

    def register(self, name: str, text: str) -> WatchedQuery:
        """Register a query; its streams must be known."""
        registered = self.engine.register_query(text, name=name)
        assert isinstance(registered, RegisteredQuery)
        watched = self.queries[name] = WatchedQuery(registered)
        return watched

    def stop(self, name: str) -> None:
        """End a query; what it has done stays with who holds it."""
        self.queries.pop(name).query.stop()

    def push(self, iri: str, elements: Sequence[StreamElement]) -> None:
        """Push elements into a stream, which is made known if it is not."""
        report = self.engine.register_stream(iri).push_elements(elements)
        if report.malformed or report.late:
            raise BenchError(f"<{iri}>: {report.malformed} elements malformed, {report.late} late")

    def advance(self, instant: int) -> dict[str, Evaluation]:
        """Let event time reach `instant`; the evaluations there, by the name of their query."""
        self.engine.advance_to(instant)
        self.clock = instant
        return {name: watched.take(instant) for name, watched in self.queries.items()}

    def collect_garbage(self) -> None:
        """Have Java and Python give back what nobody holds any more."""
        gc.collect()
        java: Any = self.engine.spark._jvm
        java.System.gc()

    def close(self) -> None:
        """End the engine."""
        self.engine.close()


def in_turn(contenders: Sequence[T], number: int) -> list[T]:
    """The contenders in the order of one turn: each follows each other one as often (Williams' design).

    What one leaves in the processor's caches is what the next one finds there: whoever always came after the one with
    the most data would always be slower. With an odd number of contenders every other time round is backwards.

    >>> [in_turn("abc", number) for number in (0, 1, 2, 3)]
    [['a', 'b', 'c'], ['b', 'c', 'a'], ['c', 'a', 'b'], ['c', 'b', 'a']]
    >>> ["".join(in_turn("abcd", number)) for number in range(4)]
    ['abdc', 'bcad', 'cdba', 'dacb']
    """
    many = len(contenders)
    order = [contenders[_williams(place, many, number)] for place in range(many)]
    return order[::-1] if many % 2 and number // many % 2 else order


def _williams(place: int, many: int, number: int) -> int:
    step = (place + 1) // 2
    return (number + (step if place % 2 else -step)) % many


def agree(evaluations: dict[str, Evaluation]) -> None:
    """Raises AnswersDifferError unless all have the same answers; keys say who answered."""
    (first, expected), *others = evaluations.items()
    for name, evaluation in others:
        if evaluation.fingerprint != expected.fingerprint:
            raise AnswersDifferError(
                f"{expected.instant} ms: {first} has {expected.answers} answers, {name} has"
                f" {evaluation.answers} or others"
            )
