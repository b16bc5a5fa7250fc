"""What calls cost by function and families, where plans start from these costs, and what the cache is asked."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from sparkext.language import parse_query
from sparkext.language.algebra import Filter
from sparkext.r2r.functions.uncertain_placement import CALL_US, uncertainty_calls
from sparkext.recorded_streams import StreamElement
from tests.sparkext.uncertainty.readings import PREFIXES, RSPU, XSD, E, engine_with, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.language.expressions import FunctionCall

BURDEN_US = 300


def query(condition: str) -> str:
    return (
        f"SELECT ?o FROM NAMED WINDOW :w ON <{E}readings> [RANGE PT10S STEP PT10S]"
        f" WHERE {{ WINDOW :w {{ ?o :value ?d ; :level ?x FILTER({condition}) }} }}"
    )


def calls_in(condition: str) -> list[FunctionCall]:
    pattern = parse_query(PREFIXES + query(condition)).pattern
    (found,) = [node.condition for node in pattern.walk() if isinstance(node, Filter)]
    return uncertainty_calls(found)


def readings(start: int, literals: list[str], each: int = 1) -> list[StreamElement]:
    """Each literal so many times, with the level of its place in the list."""
    lines = [
        line
        for level, literal in enumerate(literals)
        for copy in range(each)
        for line in (
            f'<{E}o{level}-{copy}> <{E}value> "{literal}"^^<{RSPU}distribution> .',
            f'<{E}o{level}-{copy}> <{E}level> "{level}"^^<{XSD}integer> .',
        )
    ]
    return [StreamElement(start * 1000 + 1, f"<{E}g{start}>", tuple(lines), None, ())]


ADDED = "rspu:lessThan(rspu:add(?d, ?x), 2) > 0.5"


def test_costs_are_kept_by_function_and_families(spark: SparkSession) -> None:
    given = readings(0, ["N(0, 1)", "U(0, 1)", "G(2, 1)", "N(5, 1)"])
    with engine_with(spark, functionBurden=str(BURDEN_US * 1000)) as engine:
        before = [engine.parts.call_costs.known(call) for call in calls_in(ADDED)]
        told, made = run(engine, query(ADDED), {"readings": given})
        (site,) = made.calls.describe()
        shown = str(made.explain())
        after = [engine.parts.call_costs.known(call) for call in calls_in(ADDED)]
        other = engine.parts.call_costs.known(calls_in("rspu:mean(?d) > 1")[0])
    assert told == {10: ["o0-0", "o1-0"]}
    assert {cost["call"] for cost in site["costs"]} == {
        *(f"add({family}, number)" for family in ("Normal", "Uniform", "Gamma")),
        *(f"lessThan({family}, number)" for family in ("Normal", "Uniform", "Gamma")),
    }
    assert all(cost["from"] == "measured" for cost in site["costs"])
    assert all(cost["us"] >= BURDEN_US - 1 for cost in site["costs"])
    assert sum(cost["samples"] for cost in site["costs"]) == site["total"]["calls"] == 8
    assert site["total"]["seconds"] >= 8 * (BURDEN_US - 1) / 1e6
    assert 0 < site["total"]["row_seconds"] < site["total"]["seconds"]
    assert "add(Gamma, number): " in shown
    assert "us a call (measured, 1 samples), looked up" in shown
    assert before == [(CALL_US + BURDEN_US, "assumed")] * 2
    # So few calls say that it is less than was assumed, and could not say that it is more.
    assert all(BURDEN_US - 1 <= us <= CALL_US + BURDEN_US for us, _ in after)
    assert other == (CALL_US + BURDEN_US, "assumed")


def test_new_queries_start_from_the_measured_cost(spark: SparkSession) -> None:
    """What a user says of a function is right until its calls have been measured."""

    def slow(level: Any) -> Any:
        time.sleep(0.001)
        return level

    expensive, number = ":slow(?x) >= 0", 80
    with engine_with(spark) as engine:
        engine.register_function(E + "slow", slow, returns="double", cost_us=5.0)
        (call,) = calls_in(expensive)
        assert engine.parts.call_costs.known(call) == (5.0, "declared")
        first = engine.parts.uncertain.call_cost(call)
        given = readings(0, ["N(0, 1)"] * number)
        told, made = run(engine, query(expensive), {"readings": given})
        (site,) = made.calls.describe()
        us, origin = engine.parts.call_costs.known(call)
        cost = engine.parts.uncertain.call_cost(call)
        same_families = engine.parts.call_costs.known(calls_in(":slow(1) >= 0")[0])
    assert len(told[10]) == site["total"]["calls"] == number
    assert [p["call"] for p in site["costs"]] == [E + "slow(number)"]
    assert origin == "measured"
    assert us > 1_000
    assert same_families == (us, origin)
    assert first is not None
    assert cost is not None
    assert first.call_us < 100 < us < cost.call_us


@pytest.mark.parametrize(
    ("settings", "looked_up"),
    [({}, None), ({"functionCache__calls": "all"}, True), ({"functionBurden": "100000"}, True)],
)
def test_dear_calls_are_made_once_and_all_are_counted(
    spark: SparkSession, settings: dict[str, str], looked_up: bool | None
) -> None:
    """Whether cheap ones are is a matter of measured times; answers and sums do not depend on it."""
    literals, each, steps = ["N(0, 1)", "N(4, 1)"], 400, 3
    given = [element for step in range(steps) for element in readings(step * 10, literals, each)]
    with engine_with(spark, driverExecution__threads="1", **settings) as engine:
        told, made = run(engine, query("rspu:lessThan(?d, 2) > 0.5"), {"readings": given})
        (site,) = made.calls.describe()
        shown = str(made.explain())
    assert [len(rows) for rows in told.values() if rows] == [each] * steps
    calls, hits = made.progress.calls, made.progress.cache_hits
    rows = len(literals) * each * steps
    assert calls + hits == site["total"]["rows_in"] == rows
    if looked_up:
        assert calls == len(literals) * steps
        (cost,) = site["costs"]
        assert cost["cache"] == "looked up"
        assert cost["hit_ratio"] == pytest.approx(hits / rows, abs=0.01)
        assert "looked up, 100% hits" in shown


def test_nothing_is_looked_up_without_a_cache(spark: SparkSession) -> None:
    with engine_with(spark, functionCache__enabled="false") as engine:
        _, made = run(engine, query(ADDED), {"readings": readings(0, ["N(0, 1)"], 200)})
        (site,) = made.calls.describe()
    assert (made.progress.calls, made.progress.cache_hits) == (400, 0)
    assert {cost["cache"] for cost in site["costs"]} == {"computed"}


def test_what_was_learned_stays_when_static_data_change(spark: SparkSession) -> None:
    text = (
        f"{PREFIXES} SELECT ?o ?room FROM NAMED WINDOW :w ON <{E}readings> [RANGE PT10S STEP PT10S]"
        f" WHERE {{ WINDOW :w {{ ?o :value ?d ; :level ?x }} ?o :in ?room"
        f" FILTER(rspu:lessThan(rspu:add(?d, ?x), 2) > 0.5) }}"
    )
    literals = ["N(0, 1)"] * 20  # two of twenty pass: with the levels 0 and 1
    with engine_with(spark, functionBurden="50000") as engine:
        engine.insert("\n".join(f"<{E}o{n}-0> <{E}in> <{E}room> ." for n in range(20)))
        stream = engine.register_stream(E + "readings")
        query = engine.register_query(text)

        def known() -> tuple[int, dict[str, float]]:
            (site,) = query.explain().data["calls"]
            assert {cost["from"] for cost in site["costs"]} == {"measured"}
            return site["total"]["rows_passed"], {p["call"]: p["us"] for p in site["costs"]}

        for step in range(4):
            stream.push_elements(readings(step * 10, literals))
            engine.advance_to((step + 1) * 10_000)
        before = known()
        plans = query.plans
        engine.insert(f"<{E}o0-0> <{E}in> <{E}hall> .")
        after = known()
        assert query.plans is not plans
        stream.push_elements(readings(40, literals))
        engine.advance_to(50_000)
        assert query.last_answers is not None
        assert len(query.last_answers.rows()) == 3
        last, _ = known()
    assert before[0] == 4 * 2
    assert sum(before[1].values()) >= 99
    assert after == before
    assert last - after[0] in (2, 3), "what new plans pass is added to what those before them did"
