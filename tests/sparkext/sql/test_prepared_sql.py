"""Prepared queries beyond their answers: static parts, changes of order, settings, errors."""

from __future__ import annotations

import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

import sparkext
from sparkext.errors import ClosedEngineError, LiveViewError, PreparationError, RunError
from tests.sparkext.sql.query_shapes import SHAPES
from tests.sparkext.sql.tables import CONTENTS, Tables, bag, jobs_of, rows_of, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine

SOME = ("chain of five", "left outer static", "group of a join", "semi live", "union", "order")


def test_static_parts_are_read_once_for_all_queries(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "names"
    frame = spark.createDataFrame([(i, f"n{i % 3}") for i in range(20)], "k BIGINT, n STRING")
    frame.write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("once_names")
    view = engine.live_view("once_now", "k BIGINT")
    text = "SELECT o.k, n.n FROM once_now o JOIN once_names n ON o.k = n.k WHERE n.n <> 'n1'"
    first = engine.prepare(text)
    above = f"SELECT n, count(*) AS c FROM ({text}) GROUP BY n"
    assert jobs_of(spark, lambda: engine.prepare(above).close()) == 0
    second = engine.prepare(above)
    view.replace([(2,), (3,), (4,), (99,)])

    def answers() -> None:
        assert sorted(first.run().to_pylist(), key=str) == [
            {"k": 2, "n": "n2"},
            {"k": 3, "n": "n0"},
        ]
        assert sorted(second.run().to_pylist(), key=str) == [
            {"n": "n0", "c": 1},
            {"n": "n2", "c": 1},
        ]

    assert jobs_of(spark, answers) == 0
    first.close()
    assert second.run().num_rows == 2
    second.close()


def test_static_inputs_of_other_operators_are_read_once_too(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "numbers"
    spark.range(10).write.parquet(str(folder))
    spark.read.parquet(str(folder)).createOrReplaceTempView("beside_numbers")
    view = engine.live_view("beside_now", "k BIGINT")
    both = engine.prepare(
        "SELECT k FROM beside_now UNION ALL SELECT id FROM beside_numbers WHERE id > 7"
    )
    above = engine.prepare(
        "SELECT id FROM beside_numbers WHERE id >= (SELECT max(k) FROM beside_now)"
    )

    def answers() -> None:
        for key in (8, 9):
            view.replace([(key,)])
            assert sorted(both.run()["k"].to_pylist()) == sorted([8, 9, key])
            assert sorted(above.run()["id"].to_pylist()) == list(range(key, 10))
            for query in (both, above):
                assert query.explain().data["execution"] == "driver"

    assert jobs_of(spark, answers) == 0
    both.close()
    above.close()


def test_partitioned_tables_are_static_too(
    engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    folder = str(tmp_path / "parts")
    spark.range(100).selectExpr("id", "id % 5 AS part").write.partitionBy("part").parquet(folder)
    spark.read.parquet(folder).createOrReplaceTempView("parts")
    view = engine.live_view("part_now", "part INT, ok BOOLEAN")
    query = engine.prepare("SELECT p.id FROM part_now n JOIN parts p ON n.part = p.part WHERE n.ok")
    view.replace([(2, True), (3, False)])
    assert sorted(query.run()["id"].to_pylist()) == list(range(2, 100, 5))
    assert query.explain().data["execution"] == "driver"
    assert "FileScan" not in query.explain().data["spark_plan"]
    query.close()


def test_too_many_static_rows_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(20).write.parquet(str(tmp_path / "numbers"))
    spark.read.parquet(str(tmp_path / "numbers")).createOrReplaceTempView("many_numbers")
    with settings(spark, {"spark.cqels.sql.maxStaticRows": "19"}):
        engine = sparkext.Engine(spark)
    view = engine.live_view("many_now", "k BIGINT")
    query = engine.prepare("SELECT o.k FROM many_now o JOIN many_numbers n ON o.k = n.id")
    for keys in ([3, 7, 30], [8]):
        view.replace([(k,) for k in keys])
        assert sorted(query.run()["k"].to_pylist()) == [k for k in keys if k < 20]
    explained = query.explain()
    assert "FileScan" in explained.data["spark_plan"]
    assert explained.data["execution"].startswith("Spark job")
    engine.close()


@pytest.mark.parametrize(
    "values",
    [
        {"spark.cqels.enabled": "false"},
        pytest.param({"spark.cqels.adaptive.enabled": "false"}, marks=pytest.mark.slow),
        {"spark.cqels.statistics.enabled": "false"},
        pytest.param({"spark.cqels.driverExecution.enabled": "false"}, marks=pytest.mark.slow),
        {"spark.cqels.driverExecution.maxRows": "4"},
    ],
    ids=lambda values: next(iter(values)).removeprefix("spark.cqels."),
)
def test_the_same_answers_whatever_the_settings(
    spark: SparkSession, values: dict[str, str]
) -> None:
    with settings(spark, values):
        engine = sparkext.Engine(spark)
        tables = Tables(engine, "set_")
        queries = {name: engine.prepare(tables.live(SHAPES[name])) for name in SOME}
        for content in (CONTENTS[0], CONTENTS[3]):
            tables.put(content)
            for name, query in queries.items():
                assert bag(rows_of(query.run())) == bag(rows_of(tables.expected(SHAPES[name]))), (
                    name
                )
        place = queries["chain of five"].explain().data["execution"]
        expected = {
            "spark.cqels.enabled": "Spark job (spark.cqels.enabled=false)",
            "spark.cqels.adaptive.enabled": "driver",
            "spark.cqels.statistics.enabled": "driver",
        }
        assert place.startswith(expected.get(next(iter(values)), "Spark job"))
        engine.close()


def test_the_order_follows_the_data(engine: Engine, spark: SparkSession) -> None:
    began = time.time() * 1e3
    left = engine.live_view("flip_left", "k BIGINT, a INT")
    right = engine.live_view("flip_right", "k BIGINT, b INT")
    spark.range(50).selectExpr("id AS k", "id * 2 AS twice").createOrReplaceTempView("flip_names")
    query = engine.prepare(
        "SELECT l.a, r.b, n.twice FROM flip_left l JOIN flip_right r ON l.k = r.k"
        " JOIN flip_names n ON n.k = l.k"
    )
    few = [(i, i) for i in range(3)]
    many = [(i % 60, i) for i in range(3_000)]
    streamed = []
    for rows_left, rows_right in ((few, many), (many, few), (few, many)):
        left.replace(rows_left)
        right.replace(rows_right)
        wanted = sorted(
            (a, b, 2 * k) for k, a in rows_left for m, b in rows_right if k == m and k < 50
        )
        found = query.run()
        assert sorted(zip(*found.to_pydict().values(), strict=True)) == wanted
        streamed.append(query.explain().data["choices"][0]["join_order"][0])
    assert streamed[0] == streamed[2] != streamed[1]
    first, last = query.history()
    assert [switch.new[0] for switch in (first, last)] == streamed[1:]
    assert (first.old, first.new) == (last.new, last.old)
    assert last.cost_after < last.cost_before
    assert last.cause == "rows of 1:flip_right: 3.0 -> 3,000"
    assert began <= first.time <= last.time <= time.time() * 1e3
    left.replace(many)
    right.replace(few)
    query.to_dataframe()
    assert query.history()[2].new == first.new, "that is a run, too"
    query.close()


def test_switched_off_the_order_is_as_written(spark: SparkSession) -> None:
    with settings(spark, {"spark.cqels.adaptive.enabled": "false"}):
        engine = sparkext.Engine(spark)
    spark.range(50).selectExpr("id AS k").createOrReplaceTempView("written_names")
    many = engine.live_view("written_many", "k BIGINT")
    few = engine.live_view("written_few", "k BIGINT")
    query = engine.prepare(
        "SELECT f.k FROM written_names n JOIN written_many m ON n.k = m.k JOIN written_few f ON f.k = m.k"
    )
    for sizes in ((2_000, 3), (3, 2_000)):
        for view, size in zip((many, few), sizes, strict=True):
            view.replace([(k % 60,) for k in range(size)])
        assert query.run().num_rows == sum(k % 60 < 3 for k in range(2_000))
        order = query.explain().data["choices"][0]["join_order"]
        assert order[0] == "1:written_many" and order[-1] == "2:written_few"
    assert query.history() == ()
    engine.close()


def test_a_window_is_looked_up_rather_than_read(engine: Engine) -> None:
    window = engine.live_view("kept", "k BIGINT, t BIGINT", time_column="t", width="1h")
    now = engine.live_view("few", "k BIGINT")
    window.append([(i, i) for i in range(2_000)])
    now.replace([(7,), (8,)])
    query = engine.prepare("SELECT f.k, w.t FROM kept w JOIN few f ON f.k = w.k")
    assert sorted(query.run()["t"].to_pylist()) == [7, 8]
    assert query.explain().data["choices"][0]["join_order"] == ["1:few", "0:kept"]
    query.close()


def test_explanation(engine: Engine) -> None:
    tables = Tables(engine, "told_")
    tables.put(CONTENTS[0])
    query = engine.prepare(tables.live(SHAPES["chain of five"]))
    assert query.explain().data["execution"] == "nothing yet"
    answers = query.run().num_rows
    explained = query.explain()
    [choice] = explained.data["choices"]
    assert sorted(choice["join_order"])[:2] == ["0:told_now", "1:told_win"]
    assert choice["plan"]["actual_rows"] == answers
    assert "told_now" in str(explained) and "RowJoin" in str(explained)
    query.close()


def test_the_clock_is_read_at_each_run(engine: Engine) -> None:
    engine.live_view("clock", "k INT").replace([(1,), (2,)])
    query = engine.prepare(
        "SELECT current_timestamp() AS t, now() - current_timestamp() AS d, localtimestamp() AS l,"
        " current_date() AS day, (SELECT max(current_timestamp()) FROM clock) AS s FROM clock"
    )
    wanted = engine.spark.sql("SELECT current_timestamp() AS t, localtimestamp() AS l").toArrow()
    first, second = query.run(), query.run()
    assert second["t"][0].as_py() > first["t"][0].as_py() > wanted["t"][0].as_py()
    assert second["l"][0].as_py() > first["l"][0].as_py() > wanted["l"][0].as_py()
    for found in (first, second):
        assert found["t"][0] == found["t"][1] == found["s"][0], "one moment in all of a run"
        assert found["d"][0].as_py() == datetime.timedelta()
        assert found["day"][0].as_py() == found["l"][0].as_py().date()
    assert query.explain().data["execution"] == "driver"
    query.close()


@pytest.mark.parametrize(
    "moment",
    ["TIMESTAMP 'now'", "CAST(' Now' AS TIMESTAMP)", "(SELECT max(t) FROM worded_view)"],
)
def test_words_for_times_are_read_at_each_run(engine: Engine, moment: str) -> None:
    spark = engine.spark
    spark.sql("CREATE OR REPLACE TEMP VIEW worded_view AS SELECT TIMESTAMP 'now' AS t")
    engine.live_view("worded", "k INT").replace([(1,)])
    query = engine.prepare(f"SELECT {moment} AS t FROM worded")
    before = spark.sql("SELECT current_timestamp() AS t").toArrow()
    first, second = query.run(), query.run()
    assert second["t"][0].as_py() > first["t"][0].as_py() > before["t"][0].as_py()
    query.close()


@pytest.mark.parametrize("on_driver", ["true", "false"])
def test_conditions_on_the_clock(spark: SparkSession, on_driver: str) -> None:
    """Of live rows and of static ones, which are read once."""
    with settings(spark, {"spark.cqels.driverExecution.enabled": on_driver}):
        engine = sparkext.Engine(spark)
    spark.sql(
        "SELECT id AS k, timestamp_seconds(unix_timestamp() + IF(id % 2 = 0, 3600, 2)) AS until"
        " FROM range(6)"
    ).cache().createOrReplaceTempView("clock_static")
    spark.table("clock_static").count()
    view = engine.live_view("clock_live", "k BIGINT, at TIMESTAMP")
    query = engine.prepare(
        "SELECT l.k FROM clock_live l JOIN clock_static s ON s.k = l.k"
        " WHERE l.at > current_timestamp() - INTERVAL 1 HOUR AND s.until > now()"
    )
    present = datetime.datetime.now(datetime.UTC)
    ages = (0, 100, 7_200, 0, 7_200, 0)
    view.replace([(k, present - datetime.timedelta(seconds=age)) for k, age in enumerate(ages)])
    query.run()
    time.sleep(2.5)
    assert sorted(query.run()["k"].to_pylist()) == [0]
    view.replace([(k, present) for k in range(6)])
    assert sorted(query.run()["k"].to_pylist()) == [0, 2, 4]
    engine.close()


def test_a_failing_run_leaves_the_query_usable(engine: Engine) -> None:
    view = engine.live_view("failing", "k BIGINT")
    query = engine.prepare("SELECT 10 DIV k AS n FROM failing")
    view.replace([(5,), (0,)])
    with pytest.raises(RunError, match=r"(?i)divi"):
        query.run()
    view.replace([(5,)])
    assert query.run().to_pydict() == {"n": [2]}
    query.close()


def test_what_cannot_be_prepared(engine: Engine, spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(PreparationError, match="streaming DataFrame"):
        engine.prepare(stream)
    with pytest.raises(AnalysisException, match="no_such_view"):
        engine.prepare("SELECT * FROM no_such_view")
    query = engine.prepare("SELECT 1 AS one")
    query.close()
    query.close()
    with pytest.raises(PreparationError, match="closed"):
        query.run()


def test_a_closed_engine(spark: SparkSession) -> None:
    engine = sparkext.Engine(spark)
    view = engine.live_view("left_over", "k INT")
    query = engine.prepare("SELECT * FROM left_over")
    engine.close()
    with pytest.raises(PreparationError, match="closed"):
        query.run()
    for act in (lambda: view.replace([]), view.clear):
        with pytest.raises(LiveViewError, match="closed"):
            act()
    with pytest.raises(ClosedEngineError):
        engine.live_view("x", "k INT")


def test_runs_leave_no_files_behind(engine: Engine) -> None:
    view = engine.live_view("flat", "k BIGINT")
    query = engine.prepare("SELECT k FROM flat WHERE k > 1")
    before = set(Path(engine.room.scratch).iterdir())
    tables: list[Any] = []
    for size in range(5):
        view.replace([(i,) for i in range(size)])
        tables.append(query.run())
    assert set(Path(engine.room.scratch).iterdir()) == before
    assert [table.num_rows for table in tables] == [0, 0, 0, 1, 2]
    query.close()


def test_rows_are_shown_beside_the_order_that_counted_them(engine: Engine) -> None:
    for name, count in (("mine_few", 3), ("mine_many", 60), ("mine_other", 40)):
        engine.live_view(name, "k BIGINT").replace([(n % 20,) for n in range(count)])
    query = engine.prepare(
        "SELECT f.k, o.k AS other FROM mine_few f JOIN mine_many m ON f.k = m.k"
        " LEFT JOIN mine_other o ON o.k = f.k"
    )
    assert query.run().num_rows == 18
    [choice] = query.explain().data["choices"]
    assert sorted(choice["join_order"]) == ["0:mine_few", "1:mine_many"]
    assert choice["plan"]["actual_rows"] == 9
    query.close()
