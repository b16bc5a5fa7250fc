"""Q1 to Q4 on generated data: every evaluation gives what Oxigraph answers over the same windows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import static_store
from tests.oracle.recorded import Element
from tests.sparkext.real_world import RealWorld
from tests.sparkext.replay import check, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from bench.data.world import World
    from sparkext import Engine
    from sparkext.oracle import StaticGraphs

SCALE, RATE, SECONDS = 0.005, 25, 40
STREAM = "http://deri.org/locstreams"
ROOMS = "http://deri.org/localization/"
QUERY_FILES = sorted((Path(__file__).resolve().parents[3] / "bench" / "queries").glob("*.rspql"))


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
) -> Iterator[tuple[Engine, StaticGraphs, list[Element]]]:
    """A small generated world in an engine and in the oracle's store, and its sightings."""
    from bench.data.rdf_files import write_localization, write_static
    from bench.data.world import generate_world
    from sparkext import Engine
    from sparkext.oracle import read_static_graphs

    folder = tmp_path_factory.mktemp("generated")
    world = generate_world(SCALE)
    write_static(world, folder)
    write_localization(world, folder / "localization.ttl")
    engine = Engine(spark)
    papers = sorted(folder.glob("dblp*.nt.gz"))
    engine.load_static(papers, progress=False)
    engine.load_static(folder / "localization.ttl", graph=ROOMS, progress=False)
    store = read_static_graphs(papers, {ROOMS: [folder / "localization.ttl"]})
    yield engine, store, sightings_of(world, RATE, SECONDS)
    engine.close()


def test_there_are_four_queries() -> None:
    assert [path.stem for path in QUERY_FILES] == ["q1", "q2", "q3", "q4"]


def test_cqels_queries_on_generated_data(
    generated: tuple[Engine, StaticGraphs, list[Element]],
) -> None:
    engine, store, elements = generated
    texts = [path.read_text() for path in QUERY_FILES]
    for text, answered in zip(
        texts, check(engine, texts, {STREAM: elements}, store, batch=RATE), strict=True
    ):
        assert len(answered) == SECONDS
        # Answers that are all empty would agree with anything.
        assert sum(rows.total() > 0 for rows in answered.values()) > SECONDS // 4, text


def test_cqels_queries_on_badge_contacts_and_communities(
    spark: SparkSession, shared: Path, tmp_path: Path
) -> None:
    from sparkext import Engine

    if not (shared / "data" / "rfid").is_dir():
        pytest.skip("the shared data are not there")
    world = RealWorld(shared / "data")
    engine = Engine(spark)
    default, named = world.default_graph(), {ROOMS: world.localization()}
    engine.load_static(write_graphs(tmp_path, default, named), progress=False)
    store = static_store(default, named)
    texts = [path.read_text() for path in QUERY_FILES]
    for text, answered in zip(
        texts, check(engine, texts, {STREAM: world.sightings}, store, batch=20), strict=True
    ):
        assert len(answered) > 20
        assert sum(rows.total() for rows in answered.values()) > 20, text
    engine.close()


@pytest.mark.slow
def test_cqels_queries_on_more_generated_data(spark: SparkSession, tmp_path: Path) -> None:
    from bench.data.rdf_files import write_localization, write_static
    from bench.data.world import generate_world
    from sparkext import Engine
    from sparkext.oracle import read_static_graphs

    world = generate_world(0.02, seed=11)
    engine = Engine(spark)
    papers = list(write_static(world, tmp_path))
    engine.load_static(papers, progress=False)
    write_localization(world, tmp_path / "localization.ttl")
    engine.load_static(tmp_path / "localization.ttl", graph=ROOMS, progress=False)
    store = read_static_graphs(papers, {ROOMS: [tmp_path / "localization.ttl"]})
    texts = [path.read_text() for path in QUERY_FILES]
    elements = sightings_of(world, 100, SECONDS)
    for answered in check(engine, texts, {STREAM: elements}, store, batch=50):
        assert all(rows.total() > 0 for t, rows in answered.items() if t >= 10_000)
    engine.close()
