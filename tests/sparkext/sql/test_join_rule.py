"""The optimizer rule: live views' joins are ordered by Python where it answers, nothing else is touched."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

import sparkext
from sparkext.sql.join_orders import JoinOrderAdvisor
from tests.sparkext.sql.query_shapes import SHAPES
from tests.sparkext.sql.tables import CONTENTS, Tables, bag, rows_of, settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from sparkext.engine import Engine

# As written, the first join has far more rows than the one with `few`.
TEXT = (
    """SELECT a.k, b.v, c.w FROM rule_a a JOIN rule_b b ON a.k = b.k JOIN rule_few c ON c.v = b.v"""
)

# Shapes with a cluster of joins that the rule rebuilds, and some around one.
ORDINARY = (
    "inner double key",
    "int against long key",
    "live with live filtered",
    "chain of five",
    "triangle",
    "same column twice",
    "self join",
    "condition over two",
    "null-safe equality",
    "outer over inner",
    "join of a group",
    "union of joins",
    "explode",
    "common table",
)


@pytest.fixture(scope="module")
def views(engine: Engine) -> None:
    """Three live views, the last of which should be joined first."""
    engine.live_view("rule_a", "k BIGINT, x INT").replace([(i % 5, i) for i in range(300)])
    engine.live_view("rule_b", "k BIGINT, v BIGINT").replace([(i % 5, i) for i in range(300)])
    engine.live_view("rule_few", "v BIGINT, w STRING").replace([(7, "seven")])


@pytest.fixture
def advisor(engine: Engine) -> Iterator[Any]:
    """Sets another advisor for the time of a test."""
    room = engine._sql_room().jvm
    yield room.setAdvisor
    room.setAdvisor(JoinOrderAdvisor())


class Scripted:
    """An advisor that does what a test says."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def advise(self, graph: str) -> str:
        self.asked.append(json.loads(graph))
        return self.answer() if callable(self.answer) else self.answer

    def times_asked(self) -> int:
        """How often it was asked, by a plan that did not wait."""
        end = time.monotonic() + 60
        while not self.asked and time.monotonic() < end:
            time.sleep(0.01)
        return len(self.asked)

    class Java:
        implements = ("org.apache.spark.sql.cqels.sql.JoinOrderAdvisor",)


def order(frame: DataFrame) -> list[str]:
    """The live views in the order in which the optimised plan joins them."""
    text = frame._jdf.queryExecution().optimizedPlan().toString()
    return re.findall(r"RowRelation (\w+)", text)


def first_join(frame: DataFrame) -> set[str]:
    """The live views of the innermost join."""
    lines = frame._jdf.queryExecution().optimizedPlan().toString().splitlines()
    deepest = max(
        (n for n, line in enumerate(lines) if "Join Inner" in line),
        key=lambda n: lines[n].index("Join Inner"),
    )
    return set(re.findall(r"RowRelation (\w+)", "\n".join(lines[deepest:]))[:2])


def stock_order(spark: SparkSession) -> list[str]:
    """The order without the rule."""
    with settings(spark, {"spark.cqels.enabled": "false"}):
        return order(spark.sql(TEXT))


def test_joins_are_reordered(views: None, spark: SparkSession) -> None:
    with settings(spark, {"spark.cqels.enabled": "false"}):
        assert first_join(spark.sql(TEXT)) == {"rule_a", "rule_b"}
    frame = spark.sql(TEXT)
    assert first_join(frame) == {"rule_b", "rule_few"}
    assert sorted(map(tuple, frame.collect())) == [(2, 7, "seven")] * 60


def test_python_is_asked_once(views: None, spark: SparkSession, advisor: Any) -> None:
    scripted = Scripted("[0, [2, 1]]")
    advisor(scripted)
    assert order(spark.sql(TEXT)) == ["rule_a", "rule_few", "rule_b"]
    [graph] = scripted.asked
    rows = {relation["name"]: relation["rows"] for relation in graph["relations"]}
    assert rows == {"0:rule_a": 300, "1:rule_b": 300, "2:rule_few": 1}
    key, value = graph["relations"][1]["variables"]
    assert graph["relations"][0]["variables"] == [key]
    assert graph["relations"][2]["variables"] == [value]
    assert abs(graph["relations"][1]["distinct"][key] - 5) < 0.5


@pytest.mark.parametrize(
    "answer",
    ["", "nonsense", "[0, 1]", "[[0, 1], 1]", "[0, [1, 3]]", '{"left": 0}', "[0, 1, 2]", None],
)
def test_nonsense_leaves_the_plan(
    views: None, spark: SparkSession, advisor: Any, answer: str | None
) -> None:
    scripted = Scripted(answer)
    advisor(scripted)
    frame = spark.sql(TEXT)
    assert order(frame) == stock_order(spark)
    assert len(scripted.asked) == 1
    assert frame.count() == 60


def test_a_failure_in_python_leaves_the_plan(
    views: None, spark: SparkSession, advisor: Any
) -> None:
    def fail() -> str:
        raise RuntimeError("no idea")

    scripted = Scripted(fail)
    advisor(scripted)
    assert order(spark.sql(TEXT)) == stock_order(spark)
    assert len(scripted.asked) == 1


def test_no_python_leaves_the_plan(views: None, spark: SparkSession, advisor: Any) -> None:
    advisor(None)
    assert order(spark.sql(TEXT)) == stock_order(spark)


def test_a_slow_answer_is_not_waited_for(spark: SparkSession) -> None:
    with settings(spark, {"spark.cqels.sql.planTimeout": "50ms"}):
        engine = sparkext.Engine(spark)
    for name, columns in (("a", "k BIGINT"), ("b", "k BIGINT, v BIGINT"), ("few", "v BIGINT")):
        engine.live_view(f"slow_{name}", columns)
    release = time.monotonic() + 120

    def sleep() -> str:
        while time.monotonic() < release:
            time.sleep(0.01)
        return "[[2, 1], 0]"

    scripted = Scripted(sleep)
    engine._sql_room().jvm.setAdvisor(scripted)
    text = "SELECT a.k FROM slow_a a JOIN slow_b b ON a.k = b.k JOIN slow_few c ON c.v = b.v"
    assert order(spark.sql(text)) == ["slow_a", "slow_b", "slow_few"]
    assert scripted.times_asked() == 1
    assert time.monotonic() < release
    release = 0
    engine.close()


@pytest.mark.parametrize("off", [None, "adaptive.enabled", "statistics.enabled"])
def test_python_is_not_asked_where_orders_do_not_follow(
    spark: SparkSession, off: str | None
) -> None:
    with settings(spark, {} if off is None else {f"spark.cqels.{off}": "false"}):
        engine = sparkext.Engine(spark)
    engine.live_view("off_a", "k BIGINT").replace([(i % 5,) for i in range(300)])
    engine.live_view("off_b", "k BIGINT, v BIGINT").replace([(i % 5, i) for i in range(300)])
    engine.live_view("off_few", "v BIGINT").replace([(7,)])
    text = "SELECT a.k FROM off_a a JOIN off_b b ON a.k = b.k JOIN off_few c ON c.v = b.v"
    first = {"off_b", "off_few"} if off is None else {"off_a", "off_b"}
    assert first_join(spark.sql(text)) == first
    engine.close()


def test_nothing_is_asked_while_an_answer_is_overdue(spark: SparkSession) -> None:
    with settings(spark, {"spark.cqels.sql.planTimeout": "500ms"}):
        engine = sparkext.Engine(spark)
    for name, columns in (("a", "k BIGINT"), ("b", "k BIGINT, v BIGINT"), ("few", "v BIGINT")):
        engine.live_view(f"hung_{name}", columns)
    answered = threading.Event()

    def hang() -> str:
        answered.wait(60)
        return "[[2, 1], 0]"

    scripted = Scripted(hang)
    engine._sql_room().jvm.setAdvisor(scripted)
    text = "SELECT a.k FROM hung_a a JOIN hung_b b ON a.k = b.k JOIN hung_few c ON c.v = b.v"
    for _ in range(4):
        assert order(spark.sql(text)) == ["hung_a", "hung_b", "hung_few"]
    assert scripted.times_asked() == 1
    answered.set()
    until = time.monotonic() + 60
    while order(spark.sql(text)) != ["hung_few", "hung_b", "hung_a"]:
        assert time.monotonic() < until, "it is asked again after the answer"
    engine.close()


def test_plans_that_read_a_stream_stay(
    views: None, spark: SparkSession, advisor: Any, tmp_path: Path
) -> None:
    scripted = Scripted("[[2, 1], 0]")
    advisor(scripted)
    streams = {}
    for name, columns in (("a", "k BIGINT, x BIGINT"), ("b", "k BIGINT, v BIGINT")):
        rows = spark.createDataFrame([(1, 7), (2, 8)], columns)
        rows.coalesce(1).write.json(str(tmp_path / name))
        streams[name] = spark.readStream.schema(columns).json(str(tmp_path / name))

    def run(writer: Any) -> Any:
        writer = writer.option(
            "checkpointLocation", str(tmp_path / str(len(list(tmp_path.iterdir()))))
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    joined = streams["a"].join(streams["b"], "k").join(spark.table("rule_few"), "v")
    query = run(joined.writeStream.format("memory").queryName("rule_streams"))
    plan = query._jsq.explainInternal(True)
    assert "RowRelation rule_few" in plan
    assert scripted.asked == [], "the state of a join of streams belongs to its place in the plan"
    assert [tuple(row) for row in spark.table("rule_streams").collect()] == [(7, 1, 7, "seven")]

    def batch(rows: DataFrame, _: int) -> None:
        rows.createOrReplaceTempView("rule_batch")
        text = TEXT.replace("rule_a", "rule_batch")
        orders.append(order(rows.sparkSession.sql(text)))

    orders: list[list[str]] = []
    run(streams["a"].writeStream.foreachBatch(batch))
    assert orders == [["rule_few", "rule_b"]], "a batch by itself is no stream"


def test_ordinary_plans_are_the_same_objects(
    views: None, spark: SparkSession, advisor: Any
) -> None:
    scripted = Scripted("[1, 0]")
    advisor(scripted)
    jvm: Any = spark._jvm
    rule = jvm.org.apache.spark.sql.cqels.sql.ReorderLiveJoins(spark._jsparkSession)
    frame = spark.sql(
        "SELECT * FROM range(5) a JOIN range(7) b ON a.id = b.id JOIN range(9) c ON c.id = b.id"
    )
    plan = frame._jdf.queryExecution().analyzed()
    same = jvm.java.lang.System.identityHashCode
    assert same(rule.apply(plan)) == same(plan)
    assert frame.count() == 5
    assert scripted.asked == []
    live = spark.sql("SELECT a.k FROM rule_a a JOIN rule_b b ON a.k = b.k")._jdf
    assert same(rule.apply(live.queryExecution().analyzed())) != same(
        live.queryExecution().analyzed()
    )


def test_a_hint_of_the_user_stays(views: None, spark: SparkSession, advisor: Any) -> None:
    scripted = Scripted("[1, 0]")
    advisor(scripted)
    frame = spark.sql("SELECT /*+ MERGE(b) */ a.k FROM rule_a a JOIN rule_b b ON a.k = b.k")
    assert order(frame) == ["rule_a", "rule_b"]
    assert "SortMergeJoin" in frame._jdf.queryExecution().sparkPlan().toString()
    assert scripted.asked == []


def test_python_functions_stay_where_spark_put_them(views: None, spark: SparkSession) -> None:
    same = F.udf(lambda x, y: x % 5 == y % 5, "boolean")
    frame = spark.table("rule_a").alias("a").join(spark.table("rule_b").alias("b"), "k")
    frame = frame.where(same("a.x", "b.v"))
    text = frame._jdf.queryExecution().executedPlan().toString()
    assert "EvalPython" in text
    assert "RowScan rule_a" in text and "RowScan rule_b" in text


def test_ordinary_queries_over_views_answer_right(engine: Engine) -> None:
    tables = Tables(engine, "ordinary_")
    tables.put(CONTENTS[0])
    wrong = [
        name
        for name in ORDINARY
        if bag(rows_of(engine.spark.sql(tables.live(SHAPES[name])).toArrow()))
        != bag(rows_of(tables.expected(SHAPES[name])))
    ]
    assert wrong == []
