"""Where calls are counted: each filter and BIND by itself, as long as there is a query that has it."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.sparkext.uncertainty.readings import PREFIXES, RSPU, E, engine_with
from tests.sparkext.uncertainty.test_call_costs import readings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

FEW, MOST = 4, 36  # of 40 readings
TEST = "FILTER(rspu:lessThan(?d, 0) > 0.5)"
BIND = "BIND(rspu:lessThan(?d, 0) AS ?p) FILTER(?p > 0.5)"


def branch(window: int, inside: str = "") -> str:
    return f"{{ WINDOW :w{window} {{ ?o :value ?d ; :level ?x {inside} }} }}"


def union(pattern: str) -> str:
    windows = " ".join(
        f"FROM NAMED WINDOW :w{n} ON <{E}s{n}> [RANGE PT10S STEP PT10S]" for n in (1, 2)
    )
    return f"{PREFIXES} SELECT * {windows} WHERE {{ {pattern} }}"


def started(engine: Engine, text: str) -> RegisteredQuery:
    for n in (1, 2):
        engine.register_stream(f"{E}s{n}")
    return engine.register_query(text)


def push(engine: Engine, step: int) -> None:
    for n, low in ((1, FEW), (2, MOST)):
        literals = ["N(-5, 1)"] * low + ["N(5, 1)"] * (40 - low)
        engine.stream(f"{E}s{n}").push_elements(readings(step * 10, literals))
    engine.advance_to((step + 1) * 10_000)


def counted(query: RegisteredQuery) -> list[tuple[str, int, int]]:
    sites: list[dict[str, Any]] = query.explain().data["calls"]
    return [
        (site["expression"], site["last"]["rows_in"], site["last"]["rows_passed"]) for site in sites
    ]


@pytest.mark.parametrize(
    "pattern",
    [
        f"{branch(1, TEST)} UNION {branch(2, TEST)}",
        f"{{ {branch(1)} UNION {branch(2)} }} {TEST}",
        f"{branch(1, BIND)} UNION {branch(2, BIND)}",
    ],
)
def test_equal_filters_are_counted_each_by_itself(spark: SparkSession, pattern: str) -> None:
    with engine_with(spark) as engine:
        query = started(engine, union(pattern))
        for step in range(6):
            push(engine, step)
        sites = counted(query)
        filters = [site for site in sites if " > " in site[0]]
        assert sorted(site[1:] for site in filters) == [(40, FEW), (40, MOST)]
        assert len({site[0] for site in filters}) == 1
        assert {site[1:] for site in sites if site not in filters} <= {(40, 40)}
        steps = [
            (step["rows_in"], step["rows_out"])
            for choice in query.explain().data["choices"]
            for step in choice["order"]["steps"]
            if " > " in step["step"]
        ]
        assert sorted(steps) == [(40, FEW), (40, MOST)]
        assert query.last_answers is not None
        assert len(query.last_answers.rows()) == FEW + MOST


def test_a_filter_that_stands_twice_is_asked_once(spark: SparkSession) -> None:
    with engine_with(spark) as engine:
        query = started(engine, union(f"{branch(1, f'{TEST} {TEST}')} UNION {branch(2)}"))
        push(engine, 0)
        assert [site[1:] for site in counted(query)] == [(40, FEW)]


def test_keys_and_aggregates_are_counted_as_they_are_written(spark: SparkSession) -> None:
    text = (
        f"{PREFIXES} SELECT ?k (AVG(rspu:lessThan(rspu:add(?d, ?x), 1)) AS ?p)"
        f" FROM NAMED WINDOW :w1 ON <{E}s1> [RANGE PT10S STEP PT10S]"
        f" WHERE {{ WINDOW :w1 {{ ?o :value ?d ; :level ?x }} }} GROUP BY (rspu:mean(?d) > 0 AS ?k)"
    )
    with engine_with(spark) as engine:
        query = started(engine, text)
        push(engine, 0)
        sites: list[dict[str, Any]] = query.explain().data["calls"]
        calls = {s["expression"]: s["last"]["calls"] + s["last"]["cache_hits"] for s in sites}
        assert query.last_answers is not None
        assert len(query.last_answers.rows()) == 2
    ((key, keys), (average, averages)) = sorted(calls.items(), key=lambda site: site[1])
    assert (key, keys) == (f"<{RSPU}mean>(?d) > 0", 40)
    assert average.startswith(f"AVG(<{RSPU}lessThan>(<{RSPU}add>(?d, ?x),") and averages == 80


def test_sites_go_with_their_queries(spark: SparkSession) -> None:
    """A query that is kept keeps its own, also when it is stopped; of the others nothing is left."""
    with engine_with(spark) as engine:

        def held() -> int:
            gc.collect()
            spark._jvm.java.lang.System.gc()
            return int(engine.room.jvm.uncertainCalls().siteCount())

        def held_at_last(wanted: int) -> int:
            # Python's proxies have to go first, which a thread sees to, then what is reachable from them alone.
            end = time.monotonic() + 60
            while (found := held()) > wanted and time.monotonic() < end:
                time.sleep(0.05)
            return found

        kept = started(engine, union(branch(1, TEST)))
        push(engine, 0)
        assert held() == 1
        literal = f'"N(0, 1)"^^<{RSPU}distribution>'
        for n in range(10):
            query = engine.select(
                f"{PREFIXES} SELECT ?p {{ VALUES ?d {{ {literal} }} BIND(rspu:lessThan(?d, {n}) AS ?p) }}"
            )
            assert len(query.answer().rows()) == 1
        del query
        for n in range(5):
            other = engine.register_query(union(branch(2, TEST.replace("0.5", f"0.{n}"))))
            push(engine, n + 1)
            other.stop()
        del other
        assert held_at_last(1) == 1
        kept.stop()
        (site,) = kept.calls.describe()
        assert site["total"]["rows_passed"] == FEW * 6
        assert [cost["from"] for cost in site["costs"]] == ["measured"]
