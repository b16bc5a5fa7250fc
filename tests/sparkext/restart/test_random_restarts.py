"""Random queries of all sorts, in programs that are ended after random steps and begun again."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import UnsupportedFeatureError
from sparkext.recorded_streams import StreamElement
from tests.sparkext.listening import settings
from tests.sparkext.random_continuous import DIALECTS, Dialect, random_query
from tests.sparkext.random_events import STREAMS, Shape, random_event_query
from tests.sparkext.random_worlds import random_static, random_stream
from tests.sparkext.restart.broken_runs import Program, Step, Told

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

# One seed can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")
QUERIES = 8
SETTINGS = ({}, {"sharing.enabled": "false"}, {"deltaEvaluation.enabled": "false"})


def program_of(seed: int, folder: Path) -> tuple[Program, Dialect]:
    random = Random(seed)
    dialect = DIALECTS[seed % len(DIALECTS)]
    static = folder / f"static-{seed}.nq"
    static.write_text(random_static(random).nquads())
    shape = Shape(dialect, plain=False)
    texts = [
        random_event_query(random, shape)[0]
        if random.random() < 0.3
        else random_query(random, dialect)[0]
        for _ in range(QUERIES)
    ]
    streams = {
        name: random_stream(random, name, size)
        for name, size in zip(STREAMS, (12, 8, 5), strict=True)
    }
    for name in streams:
        texts = [text.replace(f"ON <{name}>", f"ON <urn:{name}>") for text in texts]
    queries = {f"q{n}": text.replace(" :query ", f" :q{n} ") for n, text in enumerate(texts)}

    def begin(engine: Engine) -> None:
        engine.load_static(static, progress=False)

    steps = list(steps_of(random, streams))
    return Program([f"urn:{name}" for name in streams], queries, steps, begin), dialect


def steps_of(random: Random, streams: dict[str, list[StreamElement]]) -> Iterator[Step]:
    merged = sorted(
        ((e, name) for name, elements in streams.items() for e in elements),
        key=lambda pair: pair[0].time_ms,
    )
    while merged:
        size = random.choice((1, 1, 2, 4))
        yield pushing(merged[:size])
        if random.random() < 0.1:
            yield promising(merged[size - 1 if size <= len(merged) else -1][0].time_ms - 1)
        if random.random() < 0.1:
            number = random.randint(0, 4)
            yield inserting(
                f"<http://e/n{number}> <http://e/p> <http://e/n{random.randint(0, 4)}> ."
            )
        merged = merged[size:]


def pushing(elements: Sequence[tuple[StreamElement, str]]) -> Step:
    def step(engine: Engine) -> None:
        for element, name in elements:
            engine.stream(f"urn:{name}").push_elements([element])

    return step


def promising(time: int) -> Step:
    return lambda engine: engine.advance_to(time)


def inserting(triple: str) -> Step:
    return lambda engine: engine.insert(triple)


def without_labels(told: Told) -> Told:
    """Blank nodes have other names in another process."""
    return {
        key: (number, sorted(re.sub(r"_:\w+", "_:b", repr(row)) for row in rows))
        for key, (number, rows) in told.items()
    }


def supported(spark: SparkSession, program: Program) -> Program:
    """Without the queries that are refused only when they are compiled."""
    engine = replace(program, queries={}, steps=[]).begun(spark, None, {})
    queries = {}
    for name, text in program.queries.items():
        try:
            engine.register_query(text, name)
            queries[name] = text
        except UnsupportedFeatureError:
            continue
    engine.close()
    return replace(program, queries=queries)


def check_seed(spark: SparkSession, folder: Path, seed: int, breaks: int) -> int:
    random = Random(seed + 1_000_000)
    program, dialect = program_of(seed, folder)
    values = {"semantics": dialect.profile, **dialect.settings, **SETTINGS[seed % len(SETTINGS)]}
    with ExitStack() as stack:
        stack.enter_context(settings(spark, **values))
        program = supported(spark, program)
        expected = without_labels(program.whole(spark))
        for number in range(breaks):
            commit = random.randint(0, len(program.steps))
            end = min(len(program.steps), commit + random.choice((0, 0, 1, 3)))
            found = program.broken(spark, folder / f"{seed}-{number}", commit, end)
            differing = {
                key: (expected.get(key), answer)
                for key, answer in without_labels(found).items()
                if expected.get(key) != answer
            }
            names = {key[0] for key in differing}
            said = "\n".join(f"{name}: {program.queries[name]}" for name in sorted(names))
            assert not differing, f"seed {seed}, commit {commit}, end {end}: {differing}\n{said}"
            assert without_labels(found).keys() == expected.keys(), f"seed {seed}"
    return sum(len(rows) for _, rows in expected.values())


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(spark: SparkSession, tmp_path: Path) -> None:
    assert ONE is not None
    for seed in ONE.split(","):
        check_seed(spark, tmp_path, int(seed), 3)


def test_two_programs(spark: SparkSession, tmp_path: Path) -> None:
    assert sum(check_seed(spark, tmp_path, seed, 1) for seed in (4, 5)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_100_programs(spark: SparkSession, tmp_path: Path, part: int) -> None:
    for seed in range(100 + 10 * part, 110 + 10 * part):
        check_seed(spark, tmp_path, seed, 2)
