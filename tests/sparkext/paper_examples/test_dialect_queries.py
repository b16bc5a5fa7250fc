"""The CQELS report's queries in its own syntax, and in CQELS-QL: the answers are those worked out by hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    PREFIXES,
    QUERIES,
    ROOMS,
    STREAM,
    expected_bag,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.replay import replay, write_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

NAMES = ("Q1", "Q3 DISTINCT")
WINDOWS = {"now": "[NOW]", "w30": "[RANGE 30 seconds]"}
REGISTER = re.compile(r"REGISTER .*? AS\n")
DECLARED = re.compile(rf"FROM NAMED WINDOW :(\w+) ON <{STREAM}> \[.*?\]")


def as_in_report(text: str) -> str:
    """The query as the report writes it: windows named by variables, and read with GRAPH."""
    text = DECLARED.sub(
        lambda match: f"FROM NAMED <{STREAM}> {WINDOWS[match[1]]} as ?{match[1]}",
        REGISTER.sub("", text),
    )
    return re.sub(r"WINDOW :(\w+)", r"GRAPH ?\1", text)


def as_cqels_ql(text: str) -> str:
    """The query in CQELS-QL: streams and windows stand in the pattern."""
    text = DECLARED.sub("", REGISTER.sub("", text))
    return re.sub(r"WINDOW :(\w+)", lambda match: f"STREAM <{STREAM}> {WINDOWS[match[1]]}", text)


@pytest.mark.parametrize("written", [as_in_report, as_cqels_ql])
def test_answers(spark: SparkSession, tmp_path: Path, written: object) -> None:
    from sparkext import Engine

    assert callable(written)
    texts = [written(QUERIES[name]) for name in NAMES]
    assert not any("WINDOW" in text or "REGISTER" in text for text in texts)
    engine = Engine(spark)
    engine.load_static(write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    results = replay(engine, texts, {STREAM: sightings()})
    for name, (_, answered) in zip(NAMES, results, strict=True):
        assert shortened(answered) == table_of(name), name
    engine.close()


# Who was where in the windows (0, 30], (10, 40], (20, 50] and (30, 60], by name and room.
IN_WINDOWS = {
    30: "Bob r1, Cat r1, Cat r2, Ann r2, Dan r1",
    40: "Cat r1, Cat r2, Ann r2, Dan r1, Ann r1",
    50: "Cat r2, Ann r2, Dan r1, Ann r1",
    60: "Ann r1",
}
WHERE = "WHERE { ?person loc:at ?loc . ?person foaf:name ?name }"
MERGED = {
    "csparql": (
        f"{PREFIXES}REGISTER QUERY near AS SELECT ?name ?loc FROM STREAM <{STREAM}>"
        f" [RANGE 30s STEP 10s] {WHERE}",
        IN_WINDOWS,
    ),
    "sparqlstream": (
        f"{PREFIXES}SELECT ISTREAM ?name ?loc FROM NAMED STREAM <{STREAM}>"
        f" [NOW - 30 S TO NOW - 0 S STEP 10 S] {WHERE}",
        {**dict.fromkeys(IN_WINDOWS, ""), 30: IN_WINDOWS[30], 40: "Ann r1"},
    ),
}


@pytest.mark.parametrize("profile", MERGED)
def test_answers_of_merged_windows(spark: SparkSession, tmp_path: Path, profile: str) -> None:
    from sparkext import Engine

    text, expected = MERGED[profile]
    spark.conf.set("spark.cqels.semantics", profile)
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.semantics")
    engine.load_static(write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    ((_, answered),) = replay(engine, [text], {STREAM: sightings()})
    assert shortened(answered) == {t * 1000: expected_bag(rows) for t, rows in expected.items()}
    engine.close()
