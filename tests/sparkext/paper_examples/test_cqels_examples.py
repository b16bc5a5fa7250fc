"""Every query of the CQELS report on its test world: the engine's answers, and the oracle's, are the table's."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import evaluations, static_store
from tests.oracle.recorded import Element
from tests.sparkext.cqels_world import (
    CASES,
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    E,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = [pytest.param(name, id=CASES.get(name, name)) for name in QUERIES]

# S-003-9: rule 7 evaluates a pattern in each snapshot by itself; a window is the union of its snapshots.
SNAPSHOTS = "http://example.org/snapshots"
RULE_7 = {
    "union graph": ("?x ?y { WINDOW :w { :a :p ?x . ?x :q ?y } }", ["b c"]),
    "per snapshot": ("?x ?y { WINDOW :w { GRAPH ?g { :a :p ?x . ?x :q ?y } } }", []),
}


@pytest.fixture(scope="module")
def answered(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[int, Counter[str]]]:
    """What the engine answers to all queries, registered together."""
    from sparkext import Engine

    engine = Engine(spark)
    path = write_graphs(tmp_path_factory.mktemp("world"), DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    engine.load_static(path, progress=False)
    texts = dict(QUERIES)
    for name, (query, _) in RULE_7.items():
        select, pattern = query.split("{", 1)
        texts[name] = (
            f"PREFIX : <http://example.org/> SELECT {select}"
            f" FROM NAMED WINDOW :w ON <{SNAPSHOTS}> [RANGE 10] {{ {pattern}"
        )
    snapshots = [
        Element(time, (f"<{E}{s}> <{E}{p}> <{E}{o}> .",), f"{E}snapshot-{time}")
        for time, s, p, o in ((1, "a", "p", "b"), (2, "b", "q", "c"))
    ]
    streams = {STREAM: sightings(), SNAPSHOTS: snapshots}
    results = replay(engine, list(texts.values()), streams)
    engine.close()
    return {name: shortened(answers) for name, (_, answers) in zip(texts, results, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_gives_the_answers_of_the_table(
    answered: dict[str, dict[int, Counter[str]]], name: str
) -> None:
    assert answered[name] == table_of(name)


@pytest.mark.parametrize("name", NAMES)
def test_the_oracle_gives_the_answers_of_the_table(name: str) -> None:
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    found = evaluations(QUERIES[name], {STREAM: sightings()}, store)
    assert shortened(found) == table_of(name)


@pytest.mark.parametrize("reading", RULE_7, ids=[f"003-rule7 {reading}" for reading in RULE_7])
def test_two_patterns_over_two_snapshots(
    answered: dict[str, dict[int, Counter[str]]], reading: str
) -> None:
    assert answered[reading] == {1: Counter(), 2: Counter(RULE_7[reading][1])}
