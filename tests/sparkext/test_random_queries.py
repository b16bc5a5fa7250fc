"""Random queries over random streams and graphs answer as the oracle does, at every instant."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.oracle.evaluation import static_store
from tests.sparkext.random_queries import (
    BASE,
    STATIC_GRAPHS,
    random_query,
    random_stream,
    random_triples,
)
from tests.sparkext.replay import check, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.oracle import StaticGraphs

World = tuple["Engine", "StaticGraphs"]
_numbers = itertools.count()


def make_world(spark: SparkSession, folder: Path, seed: int) -> World:
    """An engine with three random graphs, and the oracle's store of the same."""
    from sparkext import Engine

    random = Random(seed)
    default, named = (
        random_triples(random, 10),
        {g: random_triples(random, 8) for g in STATIC_GRAPHS},
    )
    engine = Engine(spark)
    engine.load_static(write_graphs(folder, default, named), progress=False)
    return engine, static_store(default, named)


def check_random(world: World, random: Random) -> None:
    """One random query over two random streams."""
    engine, store = world
    number = next(_numbers)  # a stream that has ended cannot be used again
    names = [f"{BASE}stream-{number}-{k}" for k in (1, 2)]
    query = random_query(random)
    streams = {names[0]: random_stream(random, 12)}
    if "STREAM-2" in query.text:
        streams[names[1]] = random_stream(random, 8)
    check(engine, [query.on(*names)], streams, store, batch=random.choice((1, 3, 20)))


@pytest.fixture(scope="module")
def world(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One engine and its data for all examples; every example has streams of its own."""
    made = make_world(spark, tmp_path_factory.mktemp("random"), 7)
    yield made
    made[0].close()


@settings(
    max_examples=18,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.randoms(use_true_random=False))
def test_random_queries(world: World, random: Random) -> None:
    check_random(world, random)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_many_random_queries(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    world = make_world(spark, tmp_path, seed)
    random = Random(1_000 + seed)
    for _ in range(50):
        check_random(world, random)
    world[0].close()
