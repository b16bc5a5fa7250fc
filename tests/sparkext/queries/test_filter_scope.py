"""`spark.cqels.filterScope` in the engine: a filter inside a window that reads what only the outside binds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparkext.language import parse_query
from tests.oracle.evaluation import static_store
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    ROOM,
    ROOMS,
    STREAM,
    query,
    sightings,
)
from tests.sparkext.replay import check, replay, write_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext import Engine

SHOWN = "?person ?locName"
WRITTEN = query(
    SHOWN,
    'WINDOW :w30 { ?person loc:at ?loc FILTER(?locName != "Room 2") }' + ROOM,
    "w30",
)
MEANT = query(
    SHOWN,
    "WINDOW :w30 { ?person loc:at ?loc }" + ROOM + 'FILTER(?locName != "Room 2")',
    "w30",
)


def engine_in(spark: SparkSession, scope: str) -> Engine:
    from sparkext import Engine

    spark.conf.set("spark.cqels.filterScope", scope)
    try:
        return Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.filterScope")


def test_standard_scope_and_lift(spark: SparkSession, tmp_path: Path) -> None:
    data = write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    engine = engine_in(spark, "standard")
    engine.load_static(data, progress=False)
    (standard,) = check(engine, [WRITTEN], {STREAM: sightings()}, store)
    assert len(standard) == 5 and not any(standard.values())
    engine.close()
    engine = engine_in(spark, "lift")
    engine.load_static(data, progress=False)
    (_, written), (_, meant) = replay(engine, [WRITTEN, MEANT], {STREAM: sightings()})
    assert written == meant and any(written.values())
    engine.close()


def test_lift_of_binds(spark: SparkSession, tmp_path: Path) -> None:
    """A BIND moves out with the filters that read its variable; out of an OPTIONAL nothing is bound."""
    data = write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    written, optional = (
        query(
            "?person ?locName ?both",
            f"WINDOW :w30 {{ ?person loc:at ?loc {inner} }}{ROOM}",
            "w30",
        )
        for inner in (
            'BIND(CONCAT(?locName, "!") AS ?both) FILTER(?both != "Room 2!")',
            'OPTIONAL { ?person loc:at ?loc BIND(CONCAT(?locName, "!") AS ?both) }',
        )
    )
    meant = query(
        "?person ?locName ?both",
        f'WINDOW :w30 {{ ?person loc:at ?loc }}{ROOM}BIND(CONCAT(?locName, "!") AS ?both)'
        ' FILTER(?both != "Room 2!")',
        "w30",
    )
    assert [w.message for w in parse_query(optional).warnings] == [
        "?locName is not bound inside this WINDOW group, so the BIND leaves ?both unbound; move the BIND out to where"
        " the variable is bound, or set spark.cqels.filterScope=lift to have it read there"
    ]
    engine = engine_in(spark, "lift")
    engine.load_static(data, progress=False)
    (_, first), (_, second), (_, third) = replay(
        engine, [written, meant, optional], {STREAM: sightings()}
    )
    assert first == second and any(first.values())
    assert any(third.values()) and all(row[2] is None for rows in third.values() for row in rows)
    engine.close()
