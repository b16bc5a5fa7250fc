"""The CQELS report's queries in its own syntax, and in CQELS-QL: the answers are those worked out by hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

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
