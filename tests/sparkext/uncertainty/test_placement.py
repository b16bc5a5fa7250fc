"""Where a dear filter goes in a running query: answers do not depend on it, and the place follows the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from adaptive import FilterCounts
from sparkext.language import parse_query
from sparkext.language.algebra import Filter
from sparkext.runtime.call_counts import CallCounts
from tests.sparkext.uncertainty.fan_out import (
    MULTIPLIED,
    READINGS,
    TRIMMED,
    answers,
    is_low,
    placed,
    push,
    rows_looked_at,
    started,
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
        spark, filterPlacement=placement, functionBurden="100000", functionCache__enabled="false"
    ) as engine:
        query = started(engine, QUERY)
        for step, fans_out in ((0, False), (2, True)):
            steps(engine, query, step, 2, fans_out)
            joined = MULTIPLIED if fans_out else TRIMMED
            assert rows_looked_at(query) == [READINGS if placement == "early" else joined]
        report = placed(query)
        assert report["placement"] == placement
        assert [f["place"] for f in report["filters"]] == [placement]
        assert f"filters placed {placement}" in str(query.explain())


def test_cost_follows_the_stream(spark: SparkSession) -> None:
    """After a join that trims, before one that fans out."""
    with engine_with(spark, functionBurden="100000", functionCache__enabled="false") as engine:
        query = started(engine, QUERY)
        steps(engine, query, 0, 5, fans_out=False)
        assert rows_looked_at(query) == [TRIMMED]
        late = placed(query)
        assert late["late_cost"] < late["early_cost"]
        steps(engine, query, 5, 5, fans_out=True)
        assert rows_looked_at(query) == [READINGS]
        early = placed(query)
        assert early["early_cost"] < early["late_cost"]
        (item,) = early["filters"]
        # Two calls a row; what else runs on the machine only makes them longer.
        assert item["call_us"] > 190
        # On its way from 1/3, of the few rows that the join left, to 1/6.
        assert 1 / 6 - 0.03 < item["selectivity"] < 1 / 3
        assert early["chosen_cost"] == pytest.approx(
            min(early["early_cost"], early["late_cost"]), rel=0.05
        )
        assert "filters placed by cost" in str(query.explain())
        steps(engine, query, 10, 5, fans_out=False)
        assert rows_looked_at(query) == [TRIMMED]
        assert len(query.history()) >= 2


def test_counts_are_those_of_rows() -> None:
    """A row's two calls are one result; what its row takes beside them belongs to it, too."""
    pattern = parse_query(QUERY).pattern
    (condition,) = [node.condition for node in pattern.walk() if isinstance(node, Filter)]
    counts = CallCounts(lambda: 7)
    counts.sites.of(condition)
    told = {"calls": [[7, 9, 3, 5_000, 6, 2, 600]]}
    assert counts.filters(told, {"low": condition}) == {"low": FilterCounts(6, 2, 5, 1, 5_500)}
    assert counts.filters({"calls": [[7, 0, 0, 0, 0, 0, 0]]}, {"low": condition}) == {}
    assert counts.filters({}, {"low": condition}) == {}
    # Counts of threads that count meanwhile are read one after the other.
    told = {"calls": [[7, 9, 3, 5_000, 6, 7, 600]]}
    assert counts.filters(told, {"low": condition}) == {"low": FilterCounts(6, 6, 5, 1, 5_500)}


@pytest.mark.parametrize(("placement", "rows"), [("early", READINGS), ("late", 3), ("cost", None)])
def test_the_written_order_of_joins_has_placed_filters_too(
    spark: SparkSession, placement: str, rows: int | None
) -> None:
    with engine_with(spark, filterPlacement=placement, adaptive__enabled="false") as engine:
        query = started(engine, QUERY)
        steps(engine, query, 0, 1, fans_out=False)
        assert rows is None or rows_looked_at(query) == [rows]
        steps(engine, query, 1, 1, fans_out=True)
