"""Prepared queries ask nothing of a row that stock Spark does not ask of it; nor do they keep what is of one run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import RunError
from tests.sparkext.sql.tables import bag, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine


def test_a_filter_guards_the_key_of_a_side(engine: Engine, spark: SparkSession) -> None:
    """What is no number is no order's: the filter leaves it out before its value is read as one."""
    engine.live_view("guard_orders", "id BIGINT").replace([(1,), (2,)])
    attributes = engine.live_view("guard_attributes", "kind STRING, value STRING")
    attributes.replace([("order", "1"), ("note", "abc")])
    condition = "CAST(a.value AS BIGINT) = o.id AND a.kind = 'order'"
    queries = [
        f"SELECT o.id, a.value FROM guard_orders o {kind} JOIN guard_attributes a ON {condition}"
        for kind in ("LEFT", "INNER")
    ]
    exists = f"EXISTS (SELECT 1 FROM guard_attributes a WHERE {condition})"
    queries += [f"SELECT o.id FROM guard_orders o WHERE {no} {exists}" for no in ("", "NOT")]
    for text in queries:
        wanted = bag(rows_of(engine.spark.sql(text).toArrow()))
        prepared = engine.prepare(text)
        assert bag(rows_of(prepared.run())) == wanted
        attributes.append([("note", "xyz")])
        assert bag(rows_of(prepared.run())) == wanted
        prepared.close()


def test_conditions_of_one_input_are_asked_in_turn(engine: Engine) -> None:
    engine.live_view("turn_now", "k BIGINT, vip BOOLEAN, score INT, s STRING").replace(
        [(1, None, 1, "x"), (2, True, 1, "7"), (3, False, 9, "2")]
    )
    engine.live_view("turn_low", "v BIGINT").replace([(2,)])
    engine.live_view("turn_names", "k BIGINT, n STRING").replace([(0, "a"), (2, "b"), (3, "c")])
    engine.live_view("turn_zero", "k BIGINT").replace([(0,), (2,), (3,)])
    for text in (
        "SELECT l.k, n.n FROM turn_now l JOIN turn_names n ON n.k = l.k"
        " WHERE (l.vip OR l.score > 5) AND CAST(l.s AS INT) > 3",
        "SELECT z.k, n.n FROM turn_zero z JOIN turn_names n ON n.k = z.k"
        " WHERE z.k > (SELECT min(v) FROM turn_low) AND 10 DIV z.k > 1",
    ):
        prepared = engine.prepare(text)
        found = bag(rows_of(prepared.run()))
        assert len(found) == 1
        assert found == bag(rows_of(engine.spark.sql(text).toArrow()))
        prepared.close()


def test_what_fails_for_stock_fails_here(engine: Engine) -> None:
    engine.live_view("fail_o", "k BIGINT").replace([(1,)])
    view = engine.live_view("fail_v", "s STRING")
    view.replace([("1",)])
    prepared = engine.prepare(
        "SELECT o.k FROM fail_o o LEFT JOIN fail_v v ON CAST(v.s AS INT) = o.k"
    )
    assert prepared.run().num_rows == 1
    view.append([("2",), ("x",), ("4",)])
    with pytest.raises(RunError, match="CAST_INVALID_INPUT"):
        prepared.run()
    view.replace([("1",), ("2",)])
    assert prepared.run().num_rows == 1
    prepared.close()


def test_what_is_drawn_at_random_is_drawn_at_each_run(engine: Engine) -> None:
    engine.live_view("drawn", "k BIGINT").replace([(n,) for n in range(20)])
    prepared = engine.prepare("SELECT uuid() AS id, k FROM drawn")
    seen = [set(prepared.run()["id"].to_pylist()) for _ in range(2)]
    assert len(seen[0] | seen[1]) == 40
    prepared.close()


def test_the_clock_is_not_that_of_planning(engine: Engine) -> None:
    """Rows that are part of a plan are filtered while Spark plans; the clock of that time is not that of a run."""
    engine.live_view("offered", "k BIGINT").replace([(1,)])
    offers = "VALUES (1L, current_timestamp() + INTERVAL 3 SECONDS) AS v(k, until)"
    until = engine.spark.sql(f"SELECT until FROM {offers}").head()[0]
    frame = engine.spark.sql(f"SELECT * FROM VALUES (1L, TIMESTAMP'{until}') AS v(k, until)")
    frame.createOrReplaceTempView("offers")
    prepared = engine.prepare(
        "SELECT l.k FROM offered l JOIN offers f ON f.k = l.k WHERE f.until > now()"
    )
    assert prepared.run().num_rows == 1 or time.time() > until.timestamp()
    time.sleep(max(0.0, until.timestamp() - time.time()) + 0.1)
    assert prepared.run().num_rows == 0
    prepared.close()


def test_the_clock_among_the_rows_of_a_plan(engine: Engine) -> None:
    engine.live_view("timed", "k BIGINT").replace([(1,)])
    prepared = engine.prepare(
        "SELECT v.t, current_timestamp() AS now FROM timed l"
        " JOIN (VALUES (1L, current_timestamp())) AS v(k, t) ON v.k = l.k"
    )
    first, second = prepared.run(), prepared.run()
    assert second["t"][0].as_py() > first["t"][0].as_py()
    for found in (first, second):
        assert found["t"][0] == found["now"][0], "one moment in all of a run"
    prepared.close()
