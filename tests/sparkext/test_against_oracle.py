"""Q1 to Q4 on generated data: every evaluation gives what Oxigraph answers over the same windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import load_file, static_store
from tests.oracle.recorded import Element
from tests.sparkext.replay import check

if TYPE_CHECKING:
    import pyoxigraph as ox
    from pyspark.sql import SparkSession

    from bench.data.world import World
    from sparkext import Engine

SCALE, RATE, SECONDS = 0.005, 25, 40
STREAM = "http://deri.org/locstreams"
ROOMS = "http://deri.org/localization/"
QUERY_FILES = sorted((Path(__file__).resolve().parents[2] / "bench" / "queries").glob("*.rspql"))


def sightings_of(world: World, rate: int, seconds: int) -> list[Element]:
    """The generated stream as elements of one triple, whole seconds after the epoch."""
    from bench.data import vocabulary

    seen = world.sightings(rate, seconds)
    return [
        Element(
            int(second) * 1000,
            (f"<{vocabulary.PERSON}{person}> <{vocabulary.LOC}at> <{vocabulary.ROOM}{room}> .",),
        )
        for second, person, room in zip(
            seen.time.tolist(), seen.person.tolist(), seen.room.tolist(), strict=True
        )
    ]


@pytest.fixture(scope="module")
def generated(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, ox.Store, list[Element]]]:
    """A small generated world in an engine and in the oracle's store, and its sightings."""
    from bench.data.rdf_files import write_localization, write_static
    from bench.data.world import generate_world
    from sparkext import Engine

    folder = tmp_path_factory.mktemp("generated")
    world = generate_world(SCALE)
    write_static(world, folder)
    write_localization(world, folder / "localization.ttl")
    store = static_store()
    engine = Engine(spark)
    papers = sorted(folder.glob("dblp*.nt.gz"))
    engine.load_static(papers, progress=False)
    for path in papers:
        load_file(store, path)
    engine.load_static(folder / "localization.ttl", graph=ROOMS, progress=False)
    load_file(store, folder / "localization.ttl", ROOMS)
    yield engine, store, sightings_of(world, RATE, SECONDS)
    engine.close()


def test_there_are_four_queries() -> None:
    assert [path.stem for path in QUERY_FILES] == ["q1", "q2", "q3", "q4"]


def test_cqels_queries_on_generated_data(
    generated: tuple[Engine, ox.Store, list[Element]],
) -> None:
    engine, store, elements = generated
    texts = [path.read_text() for path in QUERY_FILES]
    for text, answered in zip(
        texts, check(engine, texts, {STREAM: elements}, store, batch=RATE), strict=True
    ):
        assert len(answered) == SECONDS
        # Answers that are all empty would agree with anything.
        assert sum(rows.total() > 0 for rows in answered.values()) > SECONDS // 4, text
