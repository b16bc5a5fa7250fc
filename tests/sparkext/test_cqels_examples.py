"""Every query of the CQELS report on its test world: the engine's answers, and the oracle's, are the table's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import evaluations, static_store
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def answered(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[int, Counter[str]]]:
    """What the engine answers to all queries, registered together."""
    from sparkext import Engine

    engine = Engine(spark)
    path = write_graphs(tmp_path_factory.mktemp("world"), DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    engine.load_static(path, progress=False)
    results = replay(engine, list(QUERIES.values()), {STREAM: sightings()})
    engine.close()
    return {name: shortened(answers) for name, (_, answers) in zip(QUERIES, results, strict=True)}


@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_gives_the_answers_of_the_table(
    answered: dict[str, dict[int, Counter[str]]], name: str
) -> None:
    assert answered[name] == table_of(name)


@pytest.mark.parametrize("name", QUERIES)
def test_the_oracle_gives_the_answers_of_the_table(name: str) -> None:
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    found = evaluations(QUERIES[name], {STREAM: sightings()}, store)
    assert shortened(found) == table_of(name)
