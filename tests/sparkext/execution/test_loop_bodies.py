"""What follows a join in generated code is a method of its own; answers are the same as in one loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPLIT = "spark.sql.codegen.splitConsumeFuncByOperator"

# Joins on equal keys, on another condition, of what is left over, and aggregates of what was joined.
QUERIES = {
    "equal": "SELECT x, c, d FROM left JOIN mid ON a = b JOIN small ON c = e",
    "filtered": "SELECT x, d FROM left JOIN mid ON a = b AND x <> c JOIN small ON c = e AND x <> e",
    "outer": "SELECT x, c, d FROM left LEFT JOIN mid ON a = b LEFT JOIN small ON c = e",
    "anti": "SELECT x FROM left LEFT JOIN mid ON a = b LEFT ANTI JOIN small ON c = e",
    "loop": "SELECT x, c, d FROM left JOIN mid ON a = b JOIN small ON c < e",
    "aggregate": "SELECT d, count(*), sum(x) FROM left JOIN mid ON a = b JOIN small ON c = e GROUP BY d",
}
TABLES = {
    "left": "SELECT id AS x, id % 7 AS a FROM range(40)",
    "mid": "SELECT id % 5 AS b, CASE WHEN id % 4 = 0 THEN NULL ELSE id END AS c FROM range(20)",
    "small": "SELECT id * 3 AS e, concat('t', id) AS d FROM range(5)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_joins_have_bodies_of_their_own(spark: SparkSession, name: str) -> None:
    assert spark._jvm is not None
    sql = spark._jvm.org.apache.spark.sql
    for table, text in TABLES.items():
        spark.sql(text).createOrReplaceTempView(table)
    hinted = QUERIES[name].replace("SELECT", "SELECT /*+ BROADCAST(mid, small) */", 1)
    frame = spark.sql(hinted)

    def run(split: bool) -> tuple[list[str], str]:
        spark.conf.set(SPLIT, str(split).lower())
        try:
            session = spark._jsparkSession
            prepared = sql.execution.QueryExecution.prepareExecutedPlan(
                session,
                sql.cqels.execution.LoopBodies.apply(frame._jdf.queryExecution().sparkPlan()),
            )
            code = sql.execution.debug.package.codegenString(prepared)
            return sorted(map(str, prepared.executeCollectPublic())), code
        finally:
            spark.conf.unset(SPLIT)

    try:
        answers, code = run(True)
        same, single = run(False)
        assert "loopbody_doConsume" in code
        assert "loopbody_doConsume" not in single
        assert answers == same
        assert answers == sorted(map(str, frame._jdf.collect())) != []
    finally:
        for table in TABLES:
            spark.catalog.dropTempView(table)
