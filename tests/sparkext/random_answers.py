"""Random queries answered side by side: by engines of one static dataset, and by the oracle."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.query import Query
from sparkext.oracle import Answer, ContinuousEvaluation, StaticGraphs
from sparkext.oracle.verdict import compare_instants
from sparkext.recorded_streams import StreamElement
from tests.sparkext.random_continuous import Dialect
from tests.sparkext.random_worlds import RandomStatic, random_static

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.answering.answers import Answers

_numbers = itertools.count()
Recorded = dict[str, list[StreamElement]]


@dataclass(frozen=True)
class Case:
    """One query of a seed's group: over these streams, pushed in these batches, under this dialect."""

    seed: int
    dialect: Dialect
    text: str
    query: Query
    streams: Recorded

    def describe(self) -> str:
        lines = [f"seed {self.seed}, {self.dialect.name}", self.text]
        for name, elements in self.streams.items():
            if f"<{name}>" in self.text:
                lines += [f"  {name} @{e.time_ms} {' '.join(e.nquads())}" for e in elements]
        return "\n".join(lines)


IN_FILES = {"load.driverMaxBytes": "0", "mappedIndexes.minRows": "0"}


class Worlds:
    """Engines by dialect, all over one random static dataset, made when first asked for.

    With `in_files` they look static tables up in index files, as engines do with large ones.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, seed: int, in_files: bool = False
    ) -> None:
        self._spark = spark
        self.static: RandomStatic = random_static(Random(seed))
        self.for_oracle: StaticGraphs = self.static.for_oracle()
        self._path = folder / f"static-{seed}.nq"
        self._path.write_text(self.static.nquads())
        self._engines: dict[str, Engine] = {}
        self._settings = IN_FILES if in_files else {}

    def engine(self, dialect: Dialect) -> Engine:
        from sparkext import Engine

        if dialect.name not in self._engines:
            settings = {"semantics": dialect.profile, **dialect.settings, **self._settings}
            keys = {f"spark.cqels.{key}": value for key, value in settings.items()}
            for key, value in keys.items():
                self._spark.conf.set(key, value)
            try:
                engine = Engine(self._spark)
            finally:
                for key in keys:
                    self._spark.conf.unset(key)
            engine.load_static(self._path, progress=False)
            self._engines[dialect.name] = engine
        return self._engines[dialect.name]

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()


def right_answers(case: Case, static: StaticGraphs) -> dict[int, Answer]:
    settings = case.dialect.settings
    return ContinuousEvaluation(
        case.query,
        case.streams,
        static,
        case.dialect.profile,
        bags=settings.get("duplicates") == "bag",
        starting_at=int(settings.get("startingAt", 0)),
        closed_open=settings.get("windowBounds") == "closed-open",
    ).answers()


def answered(
    engine: Engine,
    cases: Sequence[Case],
    batch: int,
    once_registered: Callable[[Engine], object] = lambda engine: None,
) -> list[dict[int, Answer] | str | UnsupportedFeatureError]:
    """What the engine answers to queries over the same streams, or why it does not."""
    number = next(_numbers)  # a stream that has ended cannot be used again
    streams = cases[0].streams
    for name in streams:
        engine.register_stream(f"urn:{number}:{name}")
    results: list[dict[int, Answer] | str | UnsupportedFeatureError] = []
    registered = []
    for case in cases:
        text = case.text
        for name in streams:
            text = text.replace(f"ON <{name}>", f"ON <urn:{number}:{name}>")
        # The name of a CONSTRUCT query is that of the stream it makes.
        text = text.replace(" :query ", f" :query-{number}-{len(results)} ")
        told: dict[int, Answer] = {}

        def note(answers: Answers, told: dict[int, Answer] = told) -> None:
            told[answers.time] = answer_of(answers)

        try:
            query = engine.register_query(text, name=f"random-{number}-{len(results)}")
        except UnsupportedFeatureError as error:
            results.append(error)
            continue
        except Exception as error:
            results.append(f"not registered: {type(error).__name__}: {error}")
            continue
        query.subscribe(note)
        registered.append((len(results), query))
        results.append(told)
    once_registered(engine)
    merged = sorted(
        ((e, name) for name, elements in streams.items() for e in elements),
        key=lambda pair: pair[0].time_ms,
    )
    for name, run in itertools.groupby(merged, key=lambda pair: pair[1]):
        elements = [e for e, _ in run]
        for start in range(0, len(elements), batch):
            engine.stream(f"urn:{number}:{name}").push_elements(elements[start : start + batch])
    engine.finish()
    for place, query in registered:
        if query.progress.failures:
            results[place] = f"{query.progress.failures} evaluations failed"
        query.stop()
    return results


def answer_of(answers: Answers) -> Answer:
    if answers.form == "ASK":
        return Answer("ASK", boolean=answers.boolean)
    return Answer(answers.form, tuple(answers.variables), tuple(answers.rows()))


def what_differs(
    expected: dict[int, Answer], found: dict[int, Answer] | str | UnsupportedFeatureError
) -> str:
    """The first difference in words; empty where there is none."""
    if not isinstance(found, dict):
        return str(found)
    differences = compare_instants(expected, in_columns_of(found, expected), skip_empty=False)
    if not differences:
        return ""
    first = differences[0]
    right, theirs = first.expected, first.given
    return (
        f"{len(differences)} of {len(expected)} instants differ; at {first.time} {first.kind.value}:\n"
        f" oracle {right and (right.rows, right.boolean)}\n"
        f" engine {theirs and (theirs.rows, theirs.boolean)}"
    )


def shrunk(worlds: Worlds, case: Case, batch: int) -> str:
    """The case without the elements that it can do without, and what differs then."""
    engine = worlds.engine(case.dialect)

    def differs(case: Case) -> str:
        (found,) = answered(engine, [case], batch)
        return what_differs(right_answers(case, worlds.for_oracle), found)

    words = differs(case)
    if not words:
        return f"{case.describe()}\ndiffers only beside the other queries of its seed"
    for name, elements in case.streams.items():
        for element in elements:
            fewer = [e for e in case.streams[name] if e is not element]
            smaller = replace(case, streams={**case.streams, name: fewer})
            if still := differs(smaller):
                case, words = smaller, still
    return f"{case.describe()}\n{words}"


def in_columns_of(found: dict[int, Answer], expected: dict[int, Answer]) -> dict[int, Answer]:
    """The engine's answers with the oracle's order of columns, which means nothing."""
    return {
        t: answer
        if t not in expected or sorted(answer.variables) != sorted(expected[t].variables)
        else Answer(
            answer.form,
            expected[t].variables,
            tuple(
                tuple(row[answer.variables.index(v)] for v in expected[t].variables)
                for row in answer.rows
            ),
            answer.boolean,
        )
        for t, answer in found.items()
    }
