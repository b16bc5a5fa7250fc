"""Prepared queries answer as stock Spark does, whatever their shape, while views change under one plan."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.sparkext.sql.query_shapes import ON_DRIVER, ORDERED, SHAPES
from tests.sparkext.sql.tables import CONTENTS, QUICK, Tables, bag, rows_of, settings

if TYPE_CHECKING:
    from sparkext.engine import Engine
    from sparkext.sql import PreparedSql


@pytest.fixture(scope="module")
def tables(engine: Engine) -> Tables:
    """The tables of this module."""
    return Tables(engine, "shape_")


@pytest.fixture(scope="module")
def prepared(tables: Tables) -> Iterator[dict[str, PreparedSql]]:
    """Every shape, prepared once over empty views."""
    made = {name: tables.engine.prepare(tables.live(text)) for name, text in SHAPES.items()}
    yield made
    for query in made.values():
        query.close()


@pytest.mark.parametrize(
    "number",
    [n if n == 3 else pytest.param(n, marks=pytest.mark.slow) for n in range(len(CONTENTS))],
)
def test_answers_are_those_of_stock_spark(
    tables: Tables,
    prepared: dict[str, PreparedSql],
    number: int,
) -> None:
    tables.put(CONTENTS[number])
    with settings(tables.spark, QUICK):
        expected = {name: tables.expected(text) for name, text in SHAPES.items()}
    wrong = {}
    for name, query in prepared.items():
        for _ in range(2):  # the second run knows what the first one counted
            found, wanted = query.run(), expected[name]
            same = (
                rows_of(found) == rows_of(wanted)
                if name in ORDERED
                else bag(rows_of(found)) == bag(rows_of(wanted))
            )
            if not same or found.schema != wanted.schema:
                wrong[name] = (found, wanted)
    assert wrong == {}


def run_in(query: PreparedSql, orders: list[str]) -> pa.Table:
    """The answers of a prepared query, the inputs of its clusters joined one after the other as told."""
    query._jvm.prepare(orders)
    try:
        return query.run()
    finally:
        query._jvm.prepare([""] * len(orders))


def test_every_order_of_joins_gives_the_same_answers(
    tables: Tables, prepared: dict[str, PreparedSql]
) -> None:
    """Whatever operators may come to choose."""
    tables.put(CONTENTS[0])
    chance, tried, wrong = random.Random(5), 0, []
    for name, query in prepared.items():
        graphs = json.loads(query._jvm.graphs())
        if not any(len(graph["relations"]) > 1 for graph in graphs):
            continue
        with settings(tables.spark, QUICK):
            wanted = tables.expected(SHAPES[name])
        for _ in range(2):
            sizes = [len(graph["relations"]) for graph in graphs]
            orders = [",".join(map(str, chance.sample(range(n), n))) for n in sizes]
            found, tried = run_in(query, orders), tried + 1
            same = (
                rows_of(found) == rows_of(wanted)
                if name in ORDERED
                else bag(rows_of(found)) == bag(rows_of(wanted))
            )
            if not same:
                wrong.append((name, orders))
    assert wrong == []
    assert tried > 40


def test_small_answers_need_no_job(tables: Tables, prepared: dict[str, PreparedSql]) -> None:
    tables.put(CONTENTS[0])
    places = {}
    for name in ON_DRIVER:
        prepared[name].run()
        places[name] = prepared[name].explain().data["execution"]
    assert places == dict.fromkeys(ON_DRIVER, "driver")


def test_as_a_dataframe(tables: Tables, prepared: dict[str, PreparedSql]) -> None:
    tables.put(CONTENTS[3])
    query = prepared["nested types"]
    frame = query.to_dataframe()
    tables.put(CONTENTS[0])
    assert frame.schema == query.schema
    tables.put(CONTENTS[3])
    assert bag(rows_of(frame.toArrow())) == bag(rows_of(tables.expected(SHAPES["nested types"])))
