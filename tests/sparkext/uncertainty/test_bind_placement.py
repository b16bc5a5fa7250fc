"""Where a BIND of an uncertainty function goes in a running query, how often it is computed, and what it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sparkext.uncertainty.fan_out import (
    MULTIPLIED,
    READINGS,
    TRIMMED,
    Answers,
    answers,
    is_early,
    is_low,
    order_of,
    push,
    rows_looked_at,
    started,
    step_of,
    text,
)
from tests.sparkext.uncertainty.readings import engine_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

EXPENSIVE = {"functionBurden": "100000", "functionCache__enabled": "false"}
BIND = "BIND(rspu:quantile(rspu:add(?error, ?level), 0.5) AS ?p)"
SHOWN = text("?o ?t ?p", BIND)
FILTERED = text("?o ?t ?p", f"{BIND} FILTER(?p < 0.18)")


def steps(
    engine: Engine,
    query: RegisteredQuery,
    first: int,
    number: int,
    fans_out: bool,
    filtered: bool = False,
) -> None:
    for step in range(first, first + number):
        pairs = push(engine, step, fans_out)
        expected = [(n, t) for n, t in pairs if is_low(n) or not filtered]
        found = answers(query)
        assert [row[:2] for row in found] == sorted((f"o{n}", t) for n, t in expected), step
        medians = {row[0]: float(str(row[2])) for row in found}
        for n in {n for n, _ in expected}:
            level = 0.171 if is_low(n) else (211 + n) / 1000
            assert medians[f"o{n}"] == pytest.approx(level)


@pytest.mark.parametrize(
    ("settings", "trimmed", "multiplied"),
    [
        ({"lazyVariables__enabled": "false"}, READINGS, READINGS),
        ({"predicatePlacement": "early"}, TRIMMED, READINGS),
        ({"predicatePlacement": "late"}, TRIMMED, MULTIPLIED),
        ({"predicatePlacement": "cost"}, TRIMMED, READINGS),
    ],
)
def test_calls_before_and_after_the_join(
    spark: SparkSession, settings: dict[str, str], trimmed: int, multiplied: int
) -> None:
    """Two calls a row that comes to the BIND; the one temperature of a place is where the join begins."""
    with engine_with(spark, **EXPENSIVE, **settings) as engine:
        query = started(engine, SHOWN)
        steps(engine, query, 0, 4, fans_out=False)
        before = query.progress.calls
        steps(engine, query, 4, 1, fans_out=False)
        assert query.progress.calls - before == 2 * trimmed
        steps(engine, query, 5, 4, fans_out=True)
        before = query.progress.calls
        steps(engine, query, 9, 1, fans_out=True)
        assert query.progress.calls - before == 2 * multiplied
        (site,) = query.explain().data["calls"]
        assert (site["last"]["rows_in"], site["last"]["calls"]) == (multiplied, 2 * multiplied)


def test_the_cache_spares_calls_after_a_join_that_multiplies(spark: SparkSession) -> None:
    settings = {"functionCache__calls": "all", "driverExecution__threads": "1"}
    with engine_with(spark, predicatePlacement="late", **settings) as engine:
        query = started(engine, SHOWN)
        steps(engine, query, 0, 1, fans_out=True)
        different = 1 + sum(not is_low(n) for n in range(READINGS))
        assert query.progress.calls == 2 * different
        assert query.progress.cache_hits == 2 * (MULTIPLIED - different)


def test_it_moves_when_the_fan_out_drifts(spark: SparkSession) -> None:
    with engine_with(spark, **EXPENSIVE) as engine:
        query = started(engine, SHOWN)
        steps(engine, query, 0, 5, fans_out=False)
        assert not is_early(query, "?p := quantile(add(?error, ?level)")
        assert rows_looked_at(query) == [TRIMMED]
        steps(engine, query, 5, 5, fans_out=True)
        assert is_early(query, "?p := quantile")
        step = step_of(query, "?p := quantile")
        assert (step["rows_in"], step["rows_out"]) == (READINGS, READINGS)
        assert step["us"] > READINGS * 190
        assert rows_looked_at(query) == [READINGS]
        assert f"then {step['step']}: {READINGS} rows in" in str(query.explain())
        steps(engine, query, 10, 5, fans_out=False)
        assert rows_looked_at(query) == [TRIMMED]


def test_a_filter_comes_after_the_bind_that_it_reads(spark: SparkSession) -> None:
    """What a BIND gives is both filtered on and answered: it is computed once a row."""
    with engine_with(spark, **EXPENSIVE) as engine:
        query = started(engine, FILTERED)
        for step, fans_out, rows in ((0, False, TRIMMED), (5, True, READINGS)):
            steps(engine, query, step, 4, fans_out, filtered=True)
            before = query.progress.calls
            steps(engine, query, step + 4, 1, fans_out, filtered=True)
            assert query.progress.calls - before == 2 * rows
            bound, tested = step_of(query, "?p := "), step_of(query, "?p < ")
            order = order_of(query)
            assert order.index(bound["step"]) < order.index(tested["step"])
            assert bound["rows_in"] == bound["rows_out"] == rows
        low = sum(map(is_low, range(READINGS)))
        assert (tested["rows_in"], tested["rows_out"]) == (READINGS, low)


def test_what_nobody_reads_is_not_computed(spark: SparkSession) -> None:
    with engine_with(spark) as engine:
        query = started(engine, text("?o ?t", BIND))
        push(engine, 0, fans_out=True)
        assert query.progress.answers == MULTIPLIED
        assert query.progress.calls + query.progress.cache_hits == 0
        assert not any("quantile" in step for step in order_of(query))


@pytest.mark.parametrize("placement", ["early", "late", "cost"])
def test_the_written_order_of_joins_has_placed_binds_too(
    spark: SparkSession, placement: str
) -> None:
    with engine_with(spark, predicatePlacement=placement, adaptive__enabled="false") as engine:
        query = started(engine, FILTERED)
        steps(engine, query, 0, 1, fans_out=False, filtered=True)
        if placement != "cost":
            rows = READINGS if placement == "early" else TRIMMED
            assert rows_looked_at(query)[0] == rows
        steps(engine, query, 1, 1, fans_out=True, filtered=True)


CHAINED = text(
    "?o ?q ?r",
    "BIND(rspu:mean(rspu:add(?error, ?level)) AS ?p) BIND(?p * 2 AS ?q) BIND(rspu:lessThan(?error, ?q) AS ?r)"
    " FILTER(?q < 0.5 && ?q > ?p)",
)


def test_binds_that_read_others_come_after_them(spark: SparkSession) -> None:
    found: dict[str, Answers] = {}
    for placement in ("early", "late", "cost"):
        with engine_with(spark, predicatePlacement=placement) as engine:
            query = started(engine, CHAINED)
            push(engine, 0, fans_out=False)
            found[placement] = answers(query)
            made = [step[:5] for step in order_of(query) if " := " in step]
            assert sorted(made) == ["?p :=", "?q :=", "?r :="]
            assert made.index("?p :=") < made.index("?q :=") < made.index("?r :=")
    with engine_with(spark, lazyVariables__enabled="false") as engine:
        query = started(engine, CHAINED)
        push(engine, 0, fans_out=False)
        found["as written"] = answers(query)
    assert len({tuple(rows) for rows in found.values()}) == 1
    assert len(found["cost"]) == TRIMMED
