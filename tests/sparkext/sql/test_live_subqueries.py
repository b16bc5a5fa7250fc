"""Scalar subqueries over live data: plans of their own, which run first; their values are those of the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import sparkext
from sparkext.errors import RunError
from tests.sparkext.sql.tables import settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine


def test_values_are_those_of_the_run(engine: Engine) -> None:
    view = engine.live_view("mean_now", "k BIGINT, d DOUBLE")
    query = engine.prepare("SELECT k FROM mean_now WHERE d > (SELECT avg(d) FROM mean_now)")
    for rows, above in (
        ([(1, 1.0), (2, 2.0), (3, 9.0)], [3]),
        ([(1, 5.0), (2, 4.0), (3, 0.0)], [1, 2]),
        ([], []),
        ([(7, 1.0)], []),
    ):
        view.replace(rows)
        assert sorted(query.run()["k"].to_pylist()) == above
        assert query.explain().data["execution"] == "driver"
    query.close()


@pytest.mark.parametrize("on_driver", ["true", "false"])
def test_what_is_static_is_asked_anew_with_each_value(spark: SparkSession, on_driver: str) -> None:
    """Build sides that hold the value in a filter or a key, and would be kept but for that."""
    with settings(spark, {"spark.cqels.driverExecution.enabled": on_driver}):
        engine = sparkext.Engine(spark)
    spark.range(40).selectExpr("id AS k", "id % 8 AS g").createOrReplaceTempView("anew_static")
    now = engine.live_view("anew_now", "k BIGINT")
    low = engine.live_view("anew_low", "v BIGINT")
    filtered = engine.prepare(
        "SELECT n.k FROM anew_now n LEFT JOIN anew_static s"
        " ON s.k = n.k AND s.k > (SELECT max(v) FROM anew_low) WHERE s.g IS NOT NULL"
    )
    grouped = engine.prepare(
        "SELECT n.k, c.c FROM anew_now n LEFT JOIN (SELECT g, count(*) AS c FROM anew_static"
        " WHERE k < (SELECT max(v) FROM anew_low) GROUP BY g) c ON c.g = n.k"
    )
    keyed = engine.prepare(
        "SELECT n.k, s.k AS other FROM anew_now n LEFT JOIN anew_static s"
        " ON s.k + (SELECT max(v) FROM anew_low) = n.k"
    )
    now.replace([(k,) for k in (3, 5, 30)])
    for value in (2, 4, 29, 3):
        low.replace([(0,), (value,)])
        assert sorted(filtered.run()["k"].to_pylist()) == [k for k in (3, 5, 30) if k > value]
        counts = {g: sum(k % 8 == g for k in range(value)) or None for g in (3, 5, 30)}
        found = grouped.run()
        assert dict(zip(*found.to_pydict().values(), strict=True)) == counts
        others = {k: k - value if k >= value else None for k in (3, 5, 30)}
        found = keyed.run()
        assert dict(zip(*found.to_pydict().values(), strict=True)) == others
    place = keyed.explain().data["execution"]
    assert place.startswith("driver" if on_driver == "true" else "Spark job")
    engine.close()


def test_equal_subqueries_run_once(engine: Engine) -> None:
    engine.live_view("twice_now", "k BIGINT").replace([(1,), (5,)])
    query = engine.prepare(
        "SELECT k - (SELECT max(k) FROM twice_now) AS a FROM twice_now"
        " WHERE k < (SELECT max(k) FROM twice_now) + (SELECT min(k) FROM twice_now)"
    )
    assert sorted(query.run()["a"].to_pylist()) == [-4, 0]
    plans = [operators["plan"] for operators in query.explain().data["operators"]]
    assert plans == ["the query", "subquery 1", "subquery 2"]
    query.close()


def test_joins_of_a_subquery_follow_the_data(engine: Engine) -> None:
    left = engine.live_view("inner_left", "k BIGINT")
    right = engine.live_view("inner_right", "k BIGINT")
    now = engine.live_view("inner_now", "n BIGINT")
    query = engine.prepare(
        "SELECT n FROM inner_now WHERE n <"
        " (SELECT count(*) FROM inner_left l JOIN inner_right r ON l.k = r.k)"
    )
    now.replace([(n,) for n in range(0, 200, 10)])
    few, many = [(k,) for k in range(4)], [(k % 50,) for k in range(2_000)]
    streamed = []
    for rows_left, rows_right in ((few, many), (many, few), (few, many)):
        left.replace(rows_left)
        right.replace(rows_right)
        for _ in range(2):
            assert query.run().num_rows == 16
        (choice,) = query.explain().data["choices"]
        streamed.append(choice["join_order"][0])
        assert choice["plan"]["actual_rows"] == 160
    assert streamed[0] == streamed[2] != streamed[1]
    query.close()


def test_clusters_of_the_query_come_before_those_of_subqueries(engine: Engine) -> None:
    for name in "abcd":
        engine.live_view(f"placed_{name}", "k BIGINT").replace([(k,) for k in range(5)])
    query = engine.prepare(
        "SELECT a.k FROM placed_a a JOIN placed_b b ON a.k = b.k WHERE a.k <"
        " (SELECT max(c.k) FROM placed_c c JOIN placed_d d ON c.k = d.k)"
    )
    names = [
        [one["name"] for one in graph["relations"]] for graph in json.loads(query._jvm.graphs())
    ]
    assert names == [["0:placed_a", "1:placed_b"], ["0:placed_c", "1:placed_d"]]
    for orders, first in ((["1,0", "0,1"], (1, 0)), (["0,1", "1,0"], (0, 1)), (["", ""], (0, 0))):
        query._jvm.prepare(orders)
        assert query.run().num_rows == 4
        began = [choice["join_order"][0] for choice in query.explain().data["choices"]]
        if "" not in orders:
            assert began == [one[place] for one, place in zip(names, first, strict=True)]
    shown = [sorted(choice["join_order"]) for choice in query.explain().data["choices"]]
    assert shown == names
    assert "subquery 1:" in query.explain().data["spark_plan"]
    query.close()


def test_the_value_is_asked_of_a_filter_s_rows(engine: Engine) -> None:
    """What a condition keeps is known once the subquery has run."""
    events = engine.live_view("asked_events", "k BIGINT")
    events.replace([(k % 1000,) for k in range(4_000)])
    limit = engine.live_view("asked_limit", "v BIGINT")
    limit.replace([(900,)])
    engine.spark.range(1000).createOrReplaceTempView("asked_static")
    query = engine.prepare(
        "SELECT e.k FROM asked_events e JOIN asked_static s ON e.k = s.id"
        " WHERE e.k < (SELECT max(v) FROM asked_limit)"
    )
    assert query.run().num_rows == 3_600
    (graph,) = json.loads(query._jvm.graphs())
    rows = {one["name"].partition(":")[2]: one["rows"] for one in graph["relations"]}
    assert rows["asked_events"] == pytest.approx(3_600, rel=0.1)
    query.close()


def test_more_than_one_row_is_an_error_of_the_run(engine: Engine) -> None:
    view = engine.live_view("many_now", "k BIGINT")
    query = engine.prepare("SELECT (SELECT k FROM many_now) AS k")
    view.replace([(1,), (2,)])
    with pytest.raises(RunError, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        query.run()
    view.replace([(2,)])
    assert query.run().to_pydict() == {"k": [2]}
    view.clear()
    assert query.run().to_pydict() == {"k": [None]}
    query.close()


def test_a_subquery_that_needs_a_job_leaves_the_query_on_the_driver(engine: Engine) -> None:
    now = engine.live_view("jobless_now", "k BIGINT")
    other = engine.live_view("jobless_other", "k BIGINT")
    query = engine.prepare(
        "SELECT k FROM jobless_now WHERE k <"
        " (SELECT count(*) FROM (SELECT DISTINCT k FROM jobless_other DISTRIBUTE BY k))"
    )
    now.replace([(k,) for k in (0, 1, 2, 7)])
    for others, wanted in ((2, 2), (7, 3)):
        other.replace([(k,) for k in range(others)] * 2)
        assert query.run().num_rows == wanted
    place = query.explain().data["execution"]
    assert place.startswith("driver; Spark job (") and place.endswith(" for subquery 1")
    query.close()
