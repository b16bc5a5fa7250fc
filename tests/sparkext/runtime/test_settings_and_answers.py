"""Every optimisation switched off by itself: the answers stay the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from adaptive import Prejoined
from adaptive.graph.plan import describe, walk
from tests.oracle.evaluation import static_store
from tests.sparkext import flipping_stream as flipping
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

    from adaptive import PlanNode
    from sparkext import Engine
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


# Each leaves something off or at its limit, with what else that needs to matter.
OFF = [
    {"enabled": "false"},
    {"adaptive.enabled": "false"},
    {"prejoin.enabled": "false"},
    {"driverExecution.enabled": "false"},
    {"driverExecution.threads": "1"},
    {"sharing.enabled": "false"},
    {"statistics.enabled": "false"},
    {"heuristics.h1.enabled": "false"},
    {"heuristics.h3.enabled": "false"},
    {"multiwayJoin.enabled": "false"},
    {"windowCopies.enabled": "false"},
]
# Each with whether orders change under it.
FOLLOWED: list[tuple[dict[str, str], bool]] = [
    ({}, True),
    ({"driverExecution.threads": "1"}, True),
    ({"multiwayJoin.enabled": "false"}, False),
]
# What H1 and H2 order otherwise than their absence: bound positions, one graph and all graphs.
GUESSED = {
    "heuristics.h1.enabled": query(
        "?person ?paper",
        'WINDOW :w30 { ?person loc:at ?loc } ?person foaf:name "Ann" . ?paper dc:creator ?person',
        "w30",
    ),
    "heuristics.h2.enabled": query(
        "?person ?locName ?paper",
        "WINDOW :w30 { ?person loc:at ?loc } GRAPH ?g { ?loc loc:name ?locName }"
        " ?paper dc:creator ?person",
        "w30",
    ),
}


def shown(settings: dict[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in settings.items())


def made(spark: SparkSession, settings: dict[str, str], folder: Path) -> Engine:
    """An engine with these settings and the static data of the queries."""
    from sparkext import Engine

    for key, value in settings.items():
        spark.conf.set(f"spark.cqels.{key}", value)
    try:
        engine = Engine(spark)
    finally:
        for key in settings:
            spark.conf.unset(f"spark.cqels.{key}")
    engine.load_static(write_graphs(folder, DEFAULT_GRAPH, {ROOMS: LOCALIZATION}), progress=False)
    return engine


def orders(engine: Engine, text: str) -> tuple[PlanNode, ...]:
    """The plans that a query begins with."""
    engine.register_stream(STREAM)
    registered = engine.register_query(text, name="ordered")
    registered.stop()
    return registered.plans.orders


@pytest.mark.parametrize("off", OFF, ids=shown)
def test_answers_do_not_depend_on(spark: SparkSession, tmp_path: Path, off: dict[str, str]) -> None:
    # Stock Spark plans every evaluation anew: fewer of them will do.
    if "enabled" in off:
        check_without(spark, tmp_path, off, ("Q2", "Q4"), sightings()[:5], MORE[:1], 2)
    else:
        check_without(spark, tmp_path, off, NAMES, sightings(), MORE, 5)


@pytest.mark.parametrize("key", GUESSED)
def test_answers_do_not_depend_on_guesses(spark: SparkSession, tmp_path: Path, key: str) -> None:
    begun = []
    for value in ("true", "false"):
        engine = made(spark, {"statistics.enabled": "false", key: value}, tmp_path)
        begun.append([describe(plan) for plan in orders(engine, GUESSED[key])])
        store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
        check(engine, [GUESSED[key]], {STREAM: sightings()}, store, batch=2)
        engine.close()
    assert begun[0] != begun[1]


@pytest.mark.parametrize("key", ["prejoin.maxRows", "prejoin.maxGrowth"])
def test_answers_do_not_depend_on_the_limits_of_pre_joins(
    spark: SparkSession, tmp_path: Path, key: str
) -> None:
    kept = []
    for settings in ({}, {key: "0.001" if key.endswith("Growth") else "0"}):
        engine = made(spark, settings, tmp_path)
        # So few rows are kept whatever the limits.
        engine.parts.prejoin_policy = replace(engine.parts.prejoin_policy, always_rows=0.0)
        nodes = [node for plan in orders(engine, QUERIES["Q2'"]) for node in walk(plan)]
        kept.append(any(isinstance(node, Prejoined) for node in nodes))
        [(_, answered)] = replay(engine, [QUERIES["Q2'"]], {STREAM: sightings()}, batch=2)
        assert shortened(answered) == table_of("Q2'")
        engine.close()
    assert kept == [True, False]


@pytest.mark.parametrize(
    ("settings", "switches"),
    FOLLOWED,
    ids=[shown(settings) or "as it is" for settings, _ in FOLLOWED],
)
def test_answers_of_orders_that_follow_do_not_depend_on(
    spark: SparkSession, tmp_path: Path, settings: dict[str, str], switches: bool
) -> None:
    engine = flipping.started(spark, tmp_path, **settings)
    registered = engine.register_query(flipping.QUERY.format(name="any"))
    for second in (1, 2, 3, 11, 12, 13, 21, 22, 31, 32):
        flipping.evaluate(engine, second)
        assert flipping.answers(registered) == flipping.expected(second), second
    assert bool(registered.history()) == switches
    engine.close()


@pytest.mark.slow
def test_answers_of_stock_spark(spark: SparkSession, tmp_path: Path) -> None:
    check_without(spark, tmp_path, {"enabled": "false"}, tuple(QUERIES), sightings(), MORE, 5)


def check_without(
    spark: SparkSession,
    tmp_path: Path,
    off: dict[str, str],
    names: tuple[str, ...],
    seen: list[Element],
    more: list[str],
    size: int,
) -> None:
    """Run the queries of these names over `seen`, and `more` over the first `size` of it, with these settings."""
    engine = made(spark, off, tmp_path)
    results = replay(engine, [QUERIES[name] for name in names], {STREAM: seen}, batch=2)
    for name, (_, answered) in zip(names, results, strict=True):
        expected = {t: rows for t, rows in table_of(name).items() if t <= seen[-1].time}
        assert shortened(answered) == expected, name
    store = static_store(DEFAULT_GRAPH, {ROOMS: LOCALIZATION})
    other = f"{STREAM}/other"
    texts = [text.replace(f"<{STREAM}>", f"<{other}>") for text in more]
    check(engine, texts, {other: seen[:size]}, store, batch=2)
    engine.close()
