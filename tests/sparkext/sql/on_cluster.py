"""A script: prepared Spark SQL of many shapes on a cluster of three JVMs, held to stock Spark.

python -m tests.sparkext.sql.on_cluster WORK_DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import sparkext
from tests.sparkext.execution.on_cluster import start
from tests.sparkext.sql.query_shapes import SHAPES
from tests.sparkext.sql.tables import CONTENTS, Tables, bag, rows_of

# Shapes whose jobs differ in what they send to executors.
SENT = (
    "scan",
    "inner string key",
    "chain of five",
    "left outer static",
    "anti",
    "not in",
    "group of a join",
    "scalar subquery live",
    "scalar subquery of a join",
    "scalar subquery over a static table",
    "scalar subquery as a key",
    "scalar subquery of nested types",
    "window function",
    "union of joins",
    "triangle",
    "condition over two",
    "outer over inner",
    "join of a group",
)
# Of these, those that join live inputs: one operator does so, on the driver, for tasks elsewhere, too.
JOINED = (
    "inner string key",
    "chain of five",
    "group of a join",
    "scalar subquery of a join",
    "union of joins",
    "triangle",
    "condition over two",
    "outer over inner",
    "join of a group",
)


def main() -> None:
    """Do it, on the driver and as jobs; a failure is an uncaught error."""
    spark = start(Path(sys.argv[1]))
    for on_driver in ("true", "false"):
        spark.conf.set("spark.cqels.driverExecution.enabled", on_driver)
        engine = sparkext.Engine(spark)
        tables = Tables(engine, f"cluster_{on_driver}_")
        queries = {name: engine.prepare(tables.live(SHAPES[name])) for name in SENT}
        for rows in (CONTENTS[0], CONTENTS[3]):
            tables.put(rows)
            for name, query in queries.items():
                wanted = tables.expected(SHAPES[name])
                assert bag(rows_of(query.run())) == bag(rows_of(wanted)), name
                told = query.explain().data
                assert on_driver == "true" or told["execution"].startswith("Spark job"), name
                if name in JOINED:
                    assert "RowJoin" in told["spark_plan"], name
                    assert all(one["plan"]["operator"] != "joins" for one in told["choices"]), name
                ordinary = spark.sql(tables.live(SHAPES[name])).toArrow()
                assert bag(rows_of(ordinary)) == bag(rows_of(wanted)), name
        assert on_driver == "true" or not any(query.history() for query in queries.values())
        engine.close()
    spark.stop()
    sys.stdout.write("all answers are right\n")


if __name__ == "__main__":
    main()
