"""The listings of the uncertainty paper through the engine: oxygen alarms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sparkext.recorded_streams import StreamElement
from tests.sparkext.uncertainty.readings import E, engine_with, oxygen, run, temperature

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ERROR = "N(0,0.0001)"
LEVELS = {"197": "0.197", "207": "0.207", "208": "0.208", "210": "0.210"}
LISTING_1 = f"""SELECT ?reading ?level FROM NAMED WINDOW :w ON <{E}oxygen> [RANGE PT10S STEP PT10S]
WHERE {{ WINDOW :w {{ GRAPH ?g {{
  ?reading :oxygen ?level .
  << ?reading :oxygen ?level >> rspu:uncertainty ?error .
  FILTER(rspu:greaterThan(rspu:add(?error, ?level), 0.195) > 0.90)
}} }} }}"""
LISTING_2 = f"""SELECT ?place ?level ?degrees
FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE PT10S STEP PT10S]
FROM NAMED WINDOW :w2 ON <{E}heat> [RANGE PT10S STEP PT10S]
WHERE {{
  WINDOW :w1 {{ GRAPH ?g1 {{
    ?o :oxygen ?level ; :at ?place .
    << ?o :oxygen ?level >> rspu:uncertainty ?error .
    FILTER(rspu:lessThan(rspu:add(?error, ?level), 0.18) >= 0.80)
  }} }}
  WINDOW :w2 {{ GRAPH ?g2 {{ ?t :temperature ?degrees ; :at ?place . FILTER(?degrees > 30) }} }}
}}"""
OXYGEN = [
    oxygen("o1", "L1", "0.170", 1, ERROR),
    oxygen("o2", "L2", "0.171", 2, ERROR),
    oxygen("o3", "L3", "0.190", 3, ERROR),
]
HEAT = [
    temperature("t1", "L1", 31, 1),
    temperature("t2", "L1", 33, 2),
    temperature("t3", "L2", 29, 3),
]
ALARMS = {10: ["L1 0.170 31", "L1 0.170 33"]}


def readings(error: str = ERROR) -> list[StreamElement]:
    return [
        oxygen(f"r{name}", "L1", level, place + 1, error)
        for place, (name, level) in enumerate(LEVELS.items())
    ]


def test_listing_1_oxygen_is_high_enough_with_more_than_90_percent(spark: SparkSession) -> None:
    with engine_with(spark) as engine:
        told, query = run(engine, LISTING_1, {"oxygen": readings()})
    assert told == {10: ["r208 0.208", "r210 0.210"]}
    assert (query.progress.calls, query.progress.cache_hits) == (8, 0)


def test_the_probabilities_of_listing_1(spark: SparkSession) -> None:
    text = LISTING_1.replace("?reading ?level", "?level ?p").replace(
        "FILTER(rspu:greaterThan(rspu:add(?error, ?level), 0.195) > 0.90)",
        "BIND(rspu:greaterThan(rspu:add(?error, ?level), 0.195) AS ?p)",
    )
    with engine_with(spark) as engine:
        told, _ = run(engine, text, {"oxygen": readings()})
    found = {level: float(p) for level, p in (row.split() for row in told[10])}
    expected = {"0.197": 0.579260, "0.207": 0.884930, "0.208": 0.903200, "0.210": 0.933193}
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("settings", "calls", "hits"),
    [
        ({"predicatePlacement": "early"}, 6, 0),
        ({"predicatePlacement": "late"}, 2, 2),
        ({"predicatePlacement": "late", "functionCache__enabled": "false"}, 4, 0),
        ({"heuristics__h4__enabled": "true"}, 2, 2),
        ({"enabled": "false", "predicatePlacement": "early"}, 6, 0),
        ({"enabled": "false", "predicatePlacement": "late"}, 2, 2),
    ],
)
def test_listing_2_as_h3_and_as_h4(
    spark: SparkSession, settings: dict[str, str], calls: int, hits: int
) -> None:
    """Two calls a row: `add` and `lessThan`; H3 asks each of three readings, H4 the two rows of the join."""
    with engine_with(spark, **settings) as engine:
        told, query = run(engine, LISTING_2, {"oxygen": OXYGEN, "heat": HEAT})
    assert told == ALARMS
    assert (query.progress.calls, query.progress.cache_hits) == (calls, hits)


def test_explain_shows_calls_and_rows(spark: SparkSession) -> None:
    with engine_with(spark, predicatePlacement="early") as engine:
        _, query = run(engine, LISTING_2, {"oxygen": OXYGEN, "heat": HEAT})
        (site,) = query.explain().data["calls"]
    assert site["expression"].startswith("<http://w3id.org/rsp/rspu#lessThan>(")
    assert (site["last"]["rows_in"], site["last"]["rows_passed"]) == (3, 2)
    assert site["last"]["calls"] == site["total"]["calls"] == 6
    assert site["last"]["seconds"] > 0


@pytest.mark.parametrize("placement", ["early", "late"])
def test_a_condition_of_optional(spark: SparkSession, placement: str) -> None:
    """It reads both sides, so it is asked for each pair; calls count at one site, rows only for filters and BINDs."""
    text = f"""SELECT ?t ?o FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE PT10S STEP PT10S]
      FROM NAMED WINDOW :w2 ON <{E}heat> [RANGE PT10S STEP PT10S]
      WHERE {{ WINDOW :w2 {{ ?t :temperature ?degrees ; :at ?place }}
        OPTIONAL {{ WINDOW :w1 {{ ?o :oxygen ?level ; :at ?place . << ?o :oxygen ?level >> rspu:uncertainty ?error }}
          FILTER(rspu:lessThan(rspu:add(?error, ?level), 0.18) * ?degrees > 26) }} }}"""
    with engine_with(spark, predicatePlacement=placement) as engine:
        told, query = run(engine, text, {"oxygen": OXYGEN, "heat": HEAT})
        (site,) = query.explain().data["calls"]
    assert told == {10: ["t1 o1", "t2 o1", "t3 -"]}
    assert site["total"]["calls"] + site["total"]["cache_hits"] == 6


def test_dear_functions(spark: SparkSession) -> None:
    """Each of the 6 calls is burdened with two milliseconds."""
    with engine_with(spark, predicatePlacement="early", functionBurden="2000000") as engine:
        told, query = run(engine, LISTING_2, {"oxygen": OXYGEN, "heat": HEAT})
        (site,) = query.explain().data["calls"]
        text = str(query.explain())
    assert told == ALARMS
    assert site["total"]["seconds"] >= 6 * 0.002
    assert "2 of 3 rows, 6 calls" in text
