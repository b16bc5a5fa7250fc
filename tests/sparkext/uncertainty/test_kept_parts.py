"""Filters inside static parts that are joined once and kept: who counts their rows, then and afterwards."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sparkext.recorded_streams import StreamElement
from tests.sparkext.uncertainty.readings import PREFIXES, RSPU, E, engine_with

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine
    from sparkext.runtime.registered_query import RegisteredQuery

PLACES, LOW = 400, 40
QUERY = f"""{PREFIXES} SELECT ?o ?room
    FROM NAMED WINDOW :w ON <{E}s> [RANGE PT10S STEP PT10S]
    WHERE {{ WINDOW :w {{ ?o :at ?place }}
      ?place :level ?d ; :in ?room FILTER(rspu:lessThan(?d, 0) > 0.5) }}"""


def place(number: int, literal: str, room: int) -> str:
    there = f"<{E}p{number}>"
    return (
        f'{there} <{E}level> "{literal}"^^<{RSPU}distribution> .\n{there} <{E}in> <{E}r{room}> .\n'
    )


def started(engine: Engine) -> RegisteredQuery:
    levels = [f"N({-1 if n < LOW else 1}, 0.{n + 1})" for n in range(PLACES)]
    engine.insert("".join(place(n, level, n) for n, level in enumerate(levels)))
    engine.register_stream(f"{E}s")
    return engine.register_query(QUERY)


def push(engine: Engine, step: int, number: int) -> None:
    lines = tuple(f"<{E}o{n}> <{E}at> <{E}p{n}> ." for n in range(number))
    engine.stream(f"{E}s").push_elements(
        [StreamElement(step * 10_000 + 1, f"<{E}g{step}>", lines, None, ())]
    )
    engine.advance_to((step + 1) * 10_000)


def operators(query: RegisteredQuery) -> set[str]:
    def walk(node: dict[str, Any]) -> set[str]:
        return {node["operator"]}.union(*(walk(side) for side in node.get("children", ())))

    (choice,) = query.explain().data["choices"]
    return walk(choice["plan"])


def test_rows_of_a_kept_part_are_not_those_of_an_evaluation(spark: SparkSession) -> None:
    """It may be made in the background, while an evaluation counts: its calls have sites of their own."""
    with engine_with(spark) as engine:
        query = started(engine)
        assert "Prejoined" in operators(query)
        calls = engine.room.jvm.uncertainCalls()
        counted = [list(calls.site(number).collect()) for _, number in query.calls.sites.all]
        assert [counts[0] + counts[3] for counts in counted] == [0] * len(counted)
        push(engine, 0, 100)
        assert query.last_answers is not None
        assert len(query.last_answers.rows()) == LOW


def test_a_filter_that_leaves_a_kept_part_is_counted(spark: SparkSession) -> None:
    """Plans that are made anew when static data change may have it outside."""
    with engine_with(spark) as engine:
        query = started(engine)
        push(engine, 0, 100)
        engine.parts.prejoin_policy = replace(engine.parts.prejoin_policy, enabled=False)
        engine.insert(place(PLACES, "N(-1, 1)", 0))
        push(engine, 1, 100)
        assert "Prejoined" not in operators(query)
        (site,) = query.explain().data["calls"]
        assert site["last"]["rows_in"] > 0
