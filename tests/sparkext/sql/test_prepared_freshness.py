"""Prepared queries after tables, views and settings have changed: each run answers what stock Spark answers now."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import DataFrame

import sparkext
from sparkext.errors import RunError
from tests.sparkext.sql.tables import bag, jobs_of, rows_of, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine
    from sparkext.sql.prepared_sql import PreparedSql

KEYS = [(k,) for k in range(8)]


@pytest.fixture
def table(spark: SparkSession) -> Iterator[str]:
    """A table of the session's catalogue with some rows, n = k * 10."""
    spark.sql("DROP TABLE IF EXISTS fresh_table")
    spark.range(5).selectExpr("id AS k", "id * 10 AS n").write.saveAsTable("fresh_table")
    yield "fresh_table"
    spark.sql("DROP TABLE IF EXISTS fresh_table")


@pytest.fixture
def now(engine: Engine) -> str:
    """A live view with one column k, and its rows for stock Spark as fresh_stock."""
    engine.live_view("fresh_now", "k BIGINT").replace(KEYS)
    engine.spark.createDataFrame(KEYS, "k BIGINT").createOrReplaceTempView("fresh_stock")
    return "fresh_now"


class Held:
    """A prepared query held to stock Spark's answers to the same text."""

    def __init__(self, engine: Engine, text: str, **names: str) -> None:
        self.engine = engine
        self.stock = text.format(now="fresh_stock", **names)
        self.query: PreparedSql = engine.prepare(text.format(now="fresh_now", **names))

    def agrees(self) -> None:
        expected = self.engine.spark.sql(self.stock).toArrow()
        found = self.query.run()
        assert found.schema.names == expected.schema.names == self.query.schema.fieldNames()
        assert bag(rows_of(found)) == bag(rows_of(expected))

    @property
    def preparations(self) -> int:
        return int(self.query.explain().data["preparations"])


JOIN = "SELECT * FROM {now} o JOIN {t} t ON t.k = o.k"
SHAPES = {
    "join": JOIN,
    "outer": "SELECT o.k, t.n FROM {now} o LEFT JOIN {t} t ON t.k = o.k AND t.n > 10",
    "aggregate": "SELECT o.k, s.c FROM {now} o JOIN (SELECT k, count(*) AS c FROM {t} GROUP BY k) s ON s.k = o.k",
    "scalar": "SELECT k FROM {now} WHERE k * 10 < (SELECT avg(n) FROM {t})",
    "anti": "SELECT k FROM {now} WHERE k NOT IN (SELECT k FROM {t})",
    "union": "SELECT k FROM {now} UNION ALL SELECT n FROM {t}",
    "common": "WITH c AS (SELECT k, max(n) AS m FROM {t} GROUP BY k) SELECT * FROM {now} o JOIN c USING (k)",
    "static alone": "SELECT count(*) AS c, sum(n) AS s FROM {t}",
}
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in list(SHAPES)[3:]]


@pytest.mark.parametrize("shape", [*list(SHAPES)[:3], *SLOW])
def test_a_table_of_the_catalogue(
    engine: Engine, spark: SparkSession, table: str, now: str, shape: str
) -> None:
    held = Held(engine, SHAPES[shape], t=table)
    held.agrees()
    held.agrees()
    assert held.preparations == 1
    for change in (
        f"INSERT INTO {table} VALUES (2, 21), (6, 60)",
        f"INSERT OVERWRITE {table} VALUES (1, 7), (3, 8), (3, 9)",
        f"ALTER TABLE {table} ADD COLUMN more STRING",
        f"TRUNCATE TABLE {table}",
        f"INSERT INTO {table} VALUES (4, 1, 'x')",
    ):
        spark.sql(change)
        held.agrees()
        prepared = held.preparations
        held.agrees()
        assert held.preparations == prepared, "once for a change"
    held.query.close()


def test_nothing_changed_and_nothing_is_read(
    engine: Engine, spark: SparkSession, table: str, now: str
) -> None:
    spark.range(3).selectExpr("id AS k", "id + 100 AS m").createOrReplaceTempView("fresh_view")
    held = Held(engine, JOIN + " LEFT JOIN fresh_view v ON v.k = o.k", t=table)
    assert jobs_of(spark, held.query.run) == 0
    # Looked up again, it means the same.
    spark.range(3).selectExpr("id AS k", "id + 100 AS m").createOrReplaceTempView("fresh_view")
    spark.table(table).cache().count()
    spark.catalog.uncacheTable(table)
    assert jobs_of(spark, held.query.run) <= 1
    assert jobs_of(spark, lambda: [held.query.run() for _ in range(5)]) == 0
    held.agrees()
    held.query.close()


def test_what_stayed_is_not_read_again(
    engine: Engine, spark: SparkSession, table: str, now: str, tmp_path: Path
) -> None:
    spark.range(9).selectExpr("id AS k").write.parquet(str(tmp_path / "stays"))
    spark.read.parquet(str(tmp_path / "stays")).createOrReplaceTempView("fresh_stays")
    held = Held(engine, JOIN + " JOIN fresh_stays s ON s.k = t.n DIV 10", t=table)
    other = Held(engine, "SELECT o.k, t.n FROM {now} o JOIN {t} t ON t.k = o.k", t=table)
    spark.sql(f"INSERT INTO {table} VALUES (5, 50)")
    assert jobs_of(spark, held.query.run) == 1, "the rows of one table"
    held.agrees()
    other.agrees()
    spark.sql(f"INSERT INTO {table} VALUES (6, 60)")
    other.agrees()
    held.agrees()
    held.query.close()
    other.query.close()


def test_two_queries_share_a_part_that_changes(
    engine: Engine, spark: SparkSession, table: str, now: str
) -> None:
    text = "SELECT o.k, t.n FROM {now} o JOIN {t} t ON t.k = o.k"
    first = Held(engine, text, t=table)
    second = Held(engine, f"SELECT n, count(*) AS c FROM ({text}) GROUP BY n", t=table)
    spark.sql(f"INSERT INTO {table} VALUES (5, 50)")
    assert jobs_of(spark, first.query.run) == 1
    assert jobs_of(spark, second.query.run) == 0
    first.agrees()
    second.agrees()
    first.query.close()
    second.query.close()


def test_a_table_dropped_and_made_again(
    engine: Engine, spark: SparkSession, table: str, now: str
) -> None:
    held = Held(engine, JOIN, t=table)
    history = held.query.history()
    spark.sql(f"DROP TABLE {table}")
    for _ in range(2):
        with pytest.raises(RunError, match=table):
            held.query.run()
    held.query.explain()
    spark.sql(f"CREATE TABLE {table} (n STRING, k BIGINT) USING parquet")
    spark.sql(f"INSERT INTO {table} VALUES ('again', 3)")
    held.agrees()
    assert held.query.run().num_rows == 1
    assert held.query.history()[: len(history)] == history
    held.query.close()


def test_partitions_that_are_added(engine: Engine, spark: SparkSession, now: str) -> None:
    spark.sql("DROP TABLE IF EXISTS fresh_parts")
    spark.range(20).selectExpr("id", "id % 3 AS k").write.partitionBy("k").saveAsTable(
        "fresh_parts"
    )
    held = Held(engine, "SELECT p.* FROM {now} o JOIN fresh_parts p ON p.k = o.k WHERE p.k > 0")
    held.agrees()
    held.agrees()
    assert held.preparations == 1
    spark.sql("INSERT INTO fresh_parts VALUES (100, 5), (101, 5), (102, 1)")
    held.agrees()
    spark.sql("ALTER TABLE fresh_parts DROP PARTITION (k = 1)")
    held.agrees()
    assert held.query.run().num_rows > 0
    held.query.close()
    spark.sql("DROP TABLE fresh_parts")


def test_files_under_a_view(engine: Engine, spark: SparkSession, now: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "files")

    def write(rows: DataFrame, mode: str) -> None:
        rows.write.mode(mode).parquet(folder)

    write(spark.range(4).selectExpr("id AS k", "id AS n"), "overwrite")
    spark.read.parquet(folder).createOrReplaceTempView("fresh_files")
    held = Held(engine, JOIN, t="fresh_files")
    write(spark.range(4, 6).selectExpr("id AS k", "id AS n"), "append")
    held.agrees()  # as Spark, by the listing of then
    spark.sql("REFRESH TABLE fresh_files")
    held.agrees()
    assert held.query.run().num_rows == 6
    write(spark.range(3).selectExpr("id AS k", "id + 5 AS n"), "overwrite")
    with pytest.raises(RunError, match="files"):
        held.query.run()
    spark.catalog.refreshByPath(folder)
    spark.read.parquet(folder).createOrReplaceTempView("fresh_files")
    held.agrees()
    assert sorted(held.query.run()["n"].to_pylist()) == [5, 6, 7]
    shutil.rmtree(folder)
    with pytest.raises(RunError, match="files"):
        held.query.run()
    held.query.close()


def test_views_that_are_replaced(engine: Engine, spark: SparkSession, table: str, now: str) -> None:
    spark.range(3).selectExpr("id AS k", "'a' AS s").createOrReplaceTempView("fresh_view")
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW fresh_over AS SELECT v.k, v.s, t.n FROM fresh_view v JOIN {table} t USING (k)"
    )
    held = Held(engine, JOIN, t="fresh_over")
    held.agrees()
    spark.range(2, 7).selectExpr("id AS k", "'b' AS s").createOrReplaceTempView("fresh_view")
    held.agrees()
    spark.sql(f"INSERT INTO {table} VALUES (6, 1)")
    held.agrees()
    assert "b" in held.query.run()["s"].to_pylist()
    spark.sql(f"CREATE OR REPLACE TEMP VIEW fresh_over AS SELECT k, n AS other FROM {table}")
    held.agrees()
    spark.sql(f"CREATE OR REPLACE VIEW fresh_permanent AS SELECT k FROM {table} WHERE n > 5")
    held = Held(engine, JOIN, t="fresh_permanent")
    held.agrees()
    spark.sql(f"CREATE OR REPLACE VIEW fresh_permanent AS SELECT k, n FROM {table} WHERE n > 15")
    held.agrees()
    assert held.preparations == 2
    spark.sql("DROP VIEW fresh_permanent")
    # A temporary view takes a table's name.
    held = Held(engine, JOIN, t=table)
    held.agrees()
    spark.range(1).selectExpr("id AS k", "'shadow' AS s").createOrReplaceTempView(table)
    held.agrees()
    assert held.query.run()["s"].to_pylist() == ["shadow"]
    spark.catalog.dropTempView(table)
    held.agrees()


def test_a_live_view_made_anew(engine: Engine, spark: SparkSession, table: str, now: str) -> None:
    held = Held(engine, JOIN, t=table)
    held.agrees()
    engine.live_view("fresh_now", "k BIGINT, x INT").replace([(1, 2)])
    assert held.query.run().to_pylist()[0]["x"] == 2
    engine.live_view("fresh_gone", "k BIGINT").replace([(1,)])
    query = engine.prepare(f"SELECT t.n FROM fresh_gone g JOIN {table} t USING (k)")
    assert query.run().num_rows == 1
    spark.catalog.dropTempView("fresh_gone")
    spark.sql(f"INSERT INTO {table} VALUES (1, 5)")
    assert query.run().num_rows == 2, "it goes on over a view that was dropped"
    query.close()
    held.query.close()


@pytest.mark.parametrize("how", ["text", "frame"])
def test_what_is_cached(
    engine: Engine, spark: SparkSession, table: str, now: str, how: str
) -> None:
    frame = spark.table(table).selectExpr("k", "n", "n + 1 AS more")
    frame.cache().createOrReplaceTempView("fresh_cached")
    frame.count()
    text = "SELECT o.k, c.more FROM fresh_now o JOIN fresh_cached c USING (k)"
    query = engine.prepare(text if how == "text" else spark.sql(text))
    for act in (
        lambda: spark.sql(f"INSERT INTO {table} VALUES (6, 60)"),
        lambda: frame.unpersist(blocking=True),
        lambda: spark.sql(f"INSERT INTO {table} VALUES (7, 70)"),
        lambda: spark.catalog.clearCache(),
    ):
        act()
        wanted = spark.sql(text.replace("fresh_now", "fresh_stock")).toArrow()
        assert bag(rows_of(query.run())) == bag(rows_of(wanted))
    query.close()


def test_a_frame_is_what_it_was_analysed_to(engine: Engine, spark: SparkSession, now: str) -> None:
    spark.range(3).selectExpr("id AS k", "'a' AS s").createOrReplaceTempView("fresh_view")
    text = "SELECT o.k, v.s FROM fresh_now o JOIN fresh_view v USING (k)"
    frame, written = engine.prepare(spark.sql(text)), engine.prepare(text)
    spark.range(3).selectExpr("id AS k", "'b' AS s").createOrReplaceTempView("fresh_view")
    assert set(frame.run()["s"].to_pylist()) == {"a"}
    assert set(written.run()["s"].to_pylist()) == {"b"}
    frame.close()
    written.close()


def test_functions_variables_and_settings(engine: Engine, spark: SparkSession, now: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE fresh_least BIGINT DEFAULT 3")
    spark.udf.register("fresh_named", lambda k: f"a{k}")
    held = Held(engine, "SELECT fresh_named(k) AS s FROM {now} WHERE k > fresh_least")
    held.agrees()
    spark.sql("SET VARIABLE fresh_least = 5")
    held.agrees()
    assert sorted(held.query.run()["s"].to_pylist()) == ["a6", "a7"]
    spark.udf.register("fresh_named", lambda k: f"b{k}")
    held.agrees()
    spark.sql("DROP TEMPORARY VARIABLE fresh_least")
    held.query.close()
    held = Held(engine, "SELECT CAST('x' || k AS INT) AS n FROM {now}")
    with pytest.raises(RunError, match="CAST_INVALID_INPUT"):
        held.query.run()
    with settings(spark, {"spark.sql.ansi.enabled": "false"}):
        held.agrees()
    with pytest.raises(RunError, match="CAST_INVALID_INPUT"):
        held.query.run()
    held.query.close()


def test_what_has_no_version_is_read_at_each_run(
    engine: Engine, spark: SparkSession, now: str, tmp_path: Path
) -> None:
    path = tmp_path / "numbers"
    path.write_text("1")

    def read(_: int) -> list[tuple[int, int]]:
        return [(k, int(path.read_text())) for k in range(3)]

    rows = spark.sparkContext.parallelize([0], 1).flatMap(read)
    spark.createDataFrame(rows, "k BIGINT, n BIGINT").createOrReplaceTempView("fresh_rows")
    texts = (
        "SELECT t.n FROM fresh_now o JOIN fresh_rows t USING (k)",
        "SELECT k, (SELECT max(n) FROM fresh_rows) AS n FROM fresh_now",
    )
    queries = [engine.prepare(text) for text in texts]
    for number in ("2", "3"):
        path.write_text(number)
        for query in queries:
            assert set(query.run()["n"].to_pylist()) == {int(number)}
    with settings(spark, {"spark.cqels.keptSides.ttl": "1h"}):
        for query in queries:
            query.run()
        path.write_text("4")
        for query in queries:
            assert set(query.run()["n"].to_pylist()) == {3}, "kept for a while"
    for query in queries:
        query.close()


def test_too_large_parts_follow_too(spark: SparkSession, table: str) -> None:
    with settings(spark, {"spark.cqels.sql.maxStaticRows": "2"}):
        engine = sparkext.Engine(spark)
    engine.live_view("fresh_now", "k BIGINT").replace(KEYS)
    spark.createDataFrame(KEYS, "k BIGINT").createOrReplaceTempView("fresh_stock")
    held = Held(engine, JOIN, t=table)
    held.agrees()
    spark.sql(f"INSERT INTO {table} VALUES (6, 60)")
    held.agrees()
    spark.sql(f"INSERT OVERWRITE {table} VALUES (6, 61)")
    held.agrees()
    assert held.query.explain().data["execution"] == "driver"
    engine.close()


@pytest.mark.parametrize(
    "values", [{"spark.cqels.enabled": "false"}, {"spark.cqels.adaptive.enabled": "false"}]
)
def test_whatever_the_settings(spark: SparkSession, table: str, values: dict[str, str]) -> None:
    with settings(spark, values):
        engine = sparkext.Engine(spark)
    engine.live_view("fresh_now", "k BIGINT").replace(KEYS)
    spark.createDataFrame(KEYS, "k BIGINT").createOrReplaceTempView("fresh_stock")
    held = Held(engine, JOIN, t=table)
    held.agrees()
    spark.sql(f"ALTER TABLE {table} ADD COLUMN more STRING")
    spark.sql(f"INSERT INTO {table} VALUES (6, 60, 'm')")
    held.agrees()
    assert "m" in held.query.run()["more"].to_pylist()
    assert held.query.to_dataframe().count() == 6
    engine.close()


def test_preparing_while_another_runs(
    engine: Engine, spark: SparkSession, table: str, now: str
) -> None:
    held = Held(engine, JOIN, t=table)
    failures: list[BaseException] = []

    def prepare() -> None:
        try:
            for _ in range(5):
                query = engine.prepare(JOIN.format(now="fresh_now", t=table))
                assert query.run().num_rows >= 5
                query.close()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=prepare)
    thread.start()
    for number in range(4):
        spark.sql(f"INSERT INTO {table} VALUES (6, {number})")
        assert held.query.run().num_rows == 6 + number
    thread.join()
    assert failures == []
    held.agrees()
    held.query.close()
