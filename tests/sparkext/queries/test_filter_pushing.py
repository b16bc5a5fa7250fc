"""Filters pushed through UNION, OPTIONAL, WINDOW, GRAPH, BIND and sub-selects: the answers stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext.language import parse_query
from sparkext.rewriting.push_filters import push_filters
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
from tests.sparkext.replay import check, write_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SEEN = "WINDOW :w30 { ?person loc:at ?loc }"
NOT_ANN = '?name != "Ann" && ?name > "B"'
TEXTS = [
    query(select, pattern, "w30")
    for select, pattern in {
        "?person ?paper ?name": f"{SEEN} {{ ?person foaf:name ?name }} UNION"
        f" {{ ?paper dc:creator ?person . ?person foaf:name ?name }} FILTER({NOT_ANN})",
        "?name ?paper ?cited": f"{SEEN} ?person foaf:name ?name"
        f" OPTIONAL {{ ?paper dc:creator ?person OPTIONAL {{ ?paper dcterms:references ?cited"
        f" FILTER(?cited != :pD) }} }} FILTER({NOT_ANN} && BOUND(?paper))",
        "?loc ?locName ?name": f"{SEEN} OPTIONAL {{ {ROOM} FILTER(?locName != 'Room 2' && ?loc = :r1) }}"
        f" ?person foaf:name ?name FILTER(?loc != :r2 || {NOT_ANN})",
        "?name ?again": f"{SEEN} {{ ?person foaf:name ?name BIND(?name AS ?again) }} FILTER({NOT_ANN})",
        "?person ?name ?n": f"{SEEN} {{ SELECT ?person ?name WHERE {{ ?person foaf:name ?name"
        f" OPTIONAL {{ ?paper dc:creator ?person }} }} }}"
        f" {{ SELECT ?person (COUNT(?p) AS ?n) WHERE {{ ?p dc:creator ?person }} GROUP BY ?person }}"
        f" FILTER({NOT_ANN} && ?n > 0)",
        "?person ?name": f"{SEEN} {{ ?person foaf:name ?name MINUS {{ :pD dc:creator ?person }} }}"
        f" FILTER({NOT_ANN})",
        "?person ?name ?paper": f"{SEEN} ?person foaf:name ?name OPTIONAL {{ ?paper dc:creator ?person }}"
        f" FILTER({NOT_ANN} && EXISTS {{ ?any dc:creator ?person FILTER(?any != :pA) }})",
    }.items()
]


@pytest.mark.parametrize("text", TEXTS)
def test_there_is_something_to_push(text: str) -> None:
    pattern = parse_query(text).pattern
    assert push_filters(pattern) != pattern


@pytest.mark.parametrize("enabled", ["true", "false"])
def test_answers_with_and_without(spark: SparkSession, tmp_path: Path, enabled: str) -> None:
    from sparkext import Engine

    spark.conf.set("spark.cqels.heuristics.h3.enabled", enabled)
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.heuristics.h3.enabled")
    engine.load_static(write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    histories = check(engine, TEXTS, {STREAM: sightings()}, store, batch=2)
    assert all(any(rows for rows in history.values()) for history in histories)
    engine.close()
