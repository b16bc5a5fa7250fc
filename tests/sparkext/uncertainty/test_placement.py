"""Where an expensive filter goes in a running query: answers do not depend on it, and the place follows the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.sparkext.uncertainty.fan_out import (
    MULTIPLIED,
    READINGS,
    TRIMMED,
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

QUERY = text("?o ?t", "", "FILTER(rspu:lessThan(rspu:add(?error, ?level), 0.18) > 0.5)")


def steps(engine: Engine, query: RegisteredQuery, first: int, number: int, fans_out: bool) -> None:
    for step in range(first, first + number):
        pairs = push(engine, step, fans_out)
        assert answers(query) == sorted((f"o{n}", t) for n, t in pairs if is_low(n)), step


@pytest.mark.parametrize("placement", ["early", "late"])
def test_heuristics_have_their_place(spark: SparkSession, placement: str) -> None:
    with engine_with(
        spark, predicatePlacement=placement, functionBurden="100000", functionCache__enabled="false"
    ) as engine:
        query = started(engine, QUERY)
        for step, fans_out in ((0, False), (2, True)):
            steps(engine, query, step, 2, fans_out)
            # A join that trims begins with the one temperature that there is, wherever filters stand.
            rows = (READINGS if placement == "early" else MULTIPLIED) if fans_out else TRIMMED
            assert rows_looked_at(query) == [rows]
            step = step_of(query, "lessThan")
            assert (step["rows_in"], step["rows_out"]) == (rows, last_passed(query))
        assert is_early(query, "lessThan") == (placement == "early")
        assert ("lessThan" in order_of(query)[-1]) == (placement == "late")


def last_passed(query: RegisteredQuery) -> int:
    """The rows that passed the filter in the last evaluation."""
    (site,) = query.explain().data["calls"]
    return int(site["last"]["rows_passed"])


def test_cost_follows_the_stream(spark: SparkSession) -> None:
    """After a join that trims, before one that fans out."""
    with engine_with(spark, functionBurden="100000", functionCache__enabled="false") as engine:
        query = started(engine, QUERY)
        steps(engine, query, 0, 5, fans_out=False)
        assert rows_looked_at(query) == [TRIMMED]
        assert not is_early(query, "lessThan")
        steps(engine, query, 5, 5, fans_out=True)
        assert rows_looked_at(query) == [READINGS]
        assert is_early(query, "lessThan")
        low = sum(map(is_low, range(READINGS)))
        step = step_of(query, "lessThan")
        assert (step["rows_in"], step["rows_out"]) == (READINGS, low)
        assert step["estimated_out"] == pytest.approx(low, abs=2)
        # Two calls a row; what else runs on the machine only makes them longer.
        assert step["us"] > READINGS * 190
        steps(engine, query, 10, 5, fans_out=False)
        assert rows_looked_at(query) == [TRIMMED]
        assert not is_early(query, "lessThan")
        times = [switch.time for switch in query.history()]
        assert any(60_000 <= time <= 100_000 for time in times) and times[-1] >= 110_000
        assert all(switch.cause for switch in query.history())


@pytest.mark.parametrize(("placement", "rows"), [("early", READINGS), ("late", 3), ("cost", None)])
def test_the_written_order_of_joins_has_placed_filters_too(
    spark: SparkSession, placement: str, rows: int | None
) -> None:
    with engine_with(spark, predicatePlacement=placement, adaptive__enabled="false") as engine:
        query = started(engine, QUERY)
        steps(engine, query, 0, 1, fans_out=False)
        assert rows is None or rows_looked_at(query) == [rows]
        steps(engine, query, 1, 1, fans_out=True)
