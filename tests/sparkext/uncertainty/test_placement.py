"""Where a dear filter goes in a running query: answers do not depend on it, and the place follows the stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from adaptive import FilterCounts, SwitchPolicy
from sparkext.language import parse_query
from sparkext.language.algebra import Filter
from sparkext.runtime.call_counts import CallCounts
from tests.sparkext.uncertainty.readings import (
    PREFIXES,
    E,
    engine_with,
    local,
    oxygen,
    temperature,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

QUERY = f"""{PREFIXES} SELECT ?o ?t
FROM NAMED WINDOW :w1 ON <{E}oxygen> [RANGE PT10S STEP PT10S]
FROM NAMED WINDOW :w2 ON <{E}heat> [RANGE PT10S STEP PT10S]
WHERE {{
  WINDOW :w1 {{ ?o :oxygen ?level ; :at ?place . << ?o :oxygen ?level >> rspu:uncertainty ?error }}
  WINDOW :w2 {{ ?t :at ?place }}
  FILTER(rspu:lessThan(rspu:add(?error, ?level), 0.18) > 0.5) }}"""
READINGS, PLACES, HOT = 30, 10, 6
Answers = list[tuple[str, str]]


def is_low(number: int) -> bool:
    """Few readings are: the filter is selective."""
    return number % 6 == 0


def push(engine: Engine, step: int, fans_out: bool) -> Answers:
    """Fill the windows of one step; what the query is to answer.

    Either all places have many readings of the temperature, or one place has a single one.
    """
    start = step * 10
    engine.stream(E + "oxygen").push_elements(
        [
            oxygen(
                f"o{n}",
                f"L{n % PLACES}",
                f"0.{171 if is_low(n) else 211 + n}",
                start + 1,
                "N(0, 0.0001)",
            )
            for n in range(READINGS)
        ]
    )
    hot = [(f"t{p}-{k}", p) for p in range(PLACES) for k in range(HOT)] if fans_out else [("t", 0)]
    engine.stream(E + "heat").push_elements(
        [temperature(name, f"L{place}", 30, start + 1) for name, place in hot]
    )
    engine.advance_to((start + 10) * 1000)
    return sorted(
        (f"o{n}", name)
        for n in range(READINGS)
        for name, place in hot
        if is_low(n) and n % PLACES == place
    )


def answers(query: RegisteredQuery) -> Answers:
    assert query.last_answers is not None
    return sorted((local(o), local(t)) for o, t in query.last_answers.rows())


def rows_looked_at(query: RegisteredQuery) -> int:
    (site,) = query.explain().data["calls"]
    return int(site["last"]["rows_in"])


def placed(query: RegisteredQuery) -> dict[str, Any]:
    (choice,) = query.explain().data["choices"]
    found: dict[str, Any] = choice["placement"]
    return found


def started(engine: Engine) -> RegisteredQuery:
    # Contents this small never pay for another plan: here, preparing and switching are free.
    engine.switch_policy = SwitchPolicy(prepare_cost=0.0, switch_cost=0.0, margin=0.0)
    for stream in ("oxygen", "heat"):
        engine.register_stream(E + stream)
    return engine.register_query(QUERY)


def steps(engine: Engine, query: RegisteredQuery, first: int, number: int, fans_out: bool) -> None:
    for step in range(first, first + number):
        expected = push(engine, step, fans_out)
        assert answers(query) == expected, step
        engine.background.submit(lambda: None).result(timeout=120)


@pytest.mark.parametrize("placement", ["early", "late"])
def test_heuristics_have_their_place(spark: SparkSession, placement: str) -> None:
    with engine_with(
        spark, filterPlacement=placement, functionBurden="100000", functionCache__enabled="false"
    ) as engine:
        query = started(engine)
        for step, fans_out in ((0, False), (2, True)):
            steps(engine, query, step, 2, fans_out)
            joined = READINGS * HOT if fans_out else READINGS // PLACES
            assert rows_looked_at(query) == (READINGS if placement == "early" else joined)
        report = placed(query)
        assert report["placement"] == placement
        assert [f["place"] for f in report["filters"]] == [placement]
        assert f"filters placed {placement}" in str(query.explain())


def test_cost_follows_the_stream(spark: SparkSession) -> None:
    """After a join that trims, before one that fans out."""
    with engine_with(spark, functionBurden="100000", functionCache__enabled="false") as engine:
        query = started(engine)
        steps(engine, query, 0, 5, fans_out=False)
        assert rows_looked_at(query) == READINGS // PLACES
        late = placed(query)
        assert late["late_cost"] < late["early_cost"]
        steps(engine, query, 5, 5, fans_out=True)
        assert rows_looked_at(query) == READINGS
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
        assert rows_looked_at(query) == READINGS // PLACES
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


@pytest.mark.parametrize(("placement", "rows"), [("early", READINGS), ("late", 3), ("cost", None)])
def test_the_written_order_of_joins_has_placed_filters_too(
    spark: SparkSession, placement: str, rows: int | None
) -> None:
    with engine_with(spark, filterPlacement=placement, adaptive__enabled="false") as engine:
        query = started(engine)
        steps(engine, query, 0, 1, fans_out=False)
        assert rows is None or rows_looked_at(query) == rows
        steps(engine, query, 1, 1, fans_out=True)
