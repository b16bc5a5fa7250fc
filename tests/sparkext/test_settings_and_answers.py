"""Every optimisation switched off by itself: the answers stay the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.oracle.evaluation import static_store
from tests.sparkext.cqels_world import (
    DEFAULT_GRAPH,
    LOCALIZATION,
    QUERIES,
    ROOMS,
    STREAM,
    query,
    shortened,
    sightings,
    table_of,
)
from tests.sparkext.replay import check, replay, write_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.oracle.recorded import Element

NAMES = ("Q2", "Q3", "Q4")
# Optional parts, sums, and inline data, which the report's queries do without.
MORE = [
    query(
        "?person ?locName ?paper ?cited",
        f"WINDOW :w30 {{ ?person loc:at ?loc }} OPTIONAL {{ GRAPH <{ROOMS}> {{ ?loc loc:name ?locName }} }}"
        " OPTIONAL { ?paper dc:creator ?person OPTIONAL { ?paper dcterms:references ?cited } }",
        "w30",
    ).replace("RSTREAM", "ISTREAM"),
    query(
        "?person (COUNT(DISTINCT ?paper) AS ?n) (SUM(?k) AS ?sum)",
        "WINDOW :w30 { ?person loc:at ?loc } ?paper dc:creator ?person"
        " VALUES (?paper ?k) { (:pA 1) (:pC 2.5) (UNDEF 10) }",
        "w30",
        "GROUP BY ?person",
    ),
]


# What is off at another value than false.
OFF = {"driverExecution.threads": "1", "planCache.size": "1"}


@pytest.mark.parametrize(
    "key",
    [
        "enabled",
        "adaptive.enabled",
        "prejoin.enabled",
        "driverExecution.enabled",
        "driverExecution.threads",
        "sharing.enabled",
        "statistics.enabled",
        "heuristics.h1.enabled",
        "heuristics.h2.enabled",
        "heuristics.h3.enabled",
        "planCache.size",
    ],
)
def test_answers_do_not_depend_on(spark: SparkSession, tmp_path: Path, key: str) -> None:
    # Stock Spark plans every evaluation anew: fewer of them will do.
    if key == "enabled":
        check_without(spark, tmp_path, key, ("Q2", "Q4"), sightings()[:5], MORE[:1], 2)
    else:
        check_without(spark, tmp_path, key, NAMES, sightings(), MORE, 5)


@pytest.mark.slow
def test_answers_of_stock_spark(spark: SparkSession, tmp_path: Path) -> None:
    check_without(spark, tmp_path, "enabled", tuple(QUERIES), sightings(), MORE, 5)


def check_without(
    spark: SparkSession,
    tmp_path: Path,
    key: str,
    names: tuple[str, ...],
    seen: list[Element],
    more: list[str],
    size: int,
) -> None:
    """Run the queries of these names over `seen`, and `more` over the first `size` of it, with the key off."""
    from sparkext import Engine

    spark.conf.set(f"spark.cqels.{key}", OFF.get(key, "false"))
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset(f"spark.cqels.{key}")
    engine.load_static(write_graphs(tmp_path, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    results = replay(engine, [QUERIES[name] for name in names], {STREAM: seen}, batch=2)
    for name, (_, answered) in zip(names, results, strict=True):
        expected = {t: rows for t, rows in table_of(name).items() if t <= seen[-1].time}
        assert shortened(answered) == expected, name
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    other = f"{STREAM}/other"
    texts = [text.replace(f"<{STREAM}>", f"<{other}>") for text in more]
    check(engine, texts, {other: seen[:size]}, store, batch=2)
    engine.close()
