"""Runs ordinary Spark SQL in a session of its own and prints plans and answers as JSON.

Usage: python -m tests.sparkext.engine_room.plain_queries (stock | extended) ADAPTIVE...
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from pyspark.sql import SparkSession

QUERIES = {
    "scan": "select * from orders where amount > 90",
    "join": "select o.id, name from orders o join people p on o.person = p.id where p.id < 9",
    "broadcast": "select /*+ BROADCAST(p) */ name, amount from orders o join people p"
    " on o.person = p.id",
    "merge": "select /*+ MERGE(p) */ name, amount from orders o join people p on o.person = p.id",
    "left outer": "select name, amount from people p left join orders o on o.person = p.id",
    "full outer": "select name, amount from people p full join orders o on o.person = p.id + 40",
    "semi": "select name from people where id in (select person from orders where amount > 95)",
    "anti": "select name from people where id not in (select person from orders)",
    "exists": "select name from people p where exists (select * from orders o where o.id = p.id)",
    "aggregate": "select person, sum(amount), count(distinct day) from orders group by person",
    "rollup": "select person % 3 as k, day, avg(amount) from orders group by rollup(k, day)",
    "window": "select id, rank() over (partition by person order by amount desc, id) from orders",
    "scalar subquery": "select id from orders where amount = (select max(amount) from orders)",
    "correlated": "select name, (select max(amount) from orders o where o.person = p.id)"
    " from people p",
    "top": "select id, amount from orders order by amount desc, id limit 5",
    "set operations": "select id from people except (select person from orders union select 3)",
    "self join": "select count(*) from orders a join orders b on a.day = b.day and a.id < b.id",
    "generate": "select id, item from people lateral view explode(sequence(1, id % 3)) as item",
    "nested": "with big as (select person, sum(amount) as total from orders group by person)"
    " select * from big where total > (select avg(total) from big)",
}


def normalised(plan: str) -> str:
    """A plan without the numbers that differ from run to run."""
    return re.sub(r"#\d+L?|plan_id=\d+|@[0-9a-f]+|\(\d+\)", "#", plan)


def run(spark: SparkSession, adaptive_values: list[str]) -> dict[str, Any]:
    """Plans and answers of all queries, for each of these values of `spark.sql.adaptive.enabled`."""
    spark.range(40).selectExpr("id", "concat('name ', id) as name").createOrReplaceTempView(
        "people"
    )
    spark.range(300).selectExpr(
        "id", "id * 7 % 50 as person", "id * 31 % 101 as amount", "id % 11 as day"
    ).createOrReplaceTempView("orders")
    found: dict[str, Any] = {}
    for adaptive in adaptive_values:
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for name, text in QUERIES.items():
            frame = spark.sql(text)
            execution = frame._jdf.queryExecution()
            plans = [str(execution.optimizedPlan()), str(execution.sparkPlan())]
            rows = sorted(str(tuple(row)) for row in frame.collect())
            plans.append(str(execution.executedPlan()))
            found[f"{name}, adaptive {adaptive}"] = [*map(normalised, plans), *rows]
    return found


def main() -> None:
    """Start a session, with the extension or without, and print what it finds."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", "2")
    )
    if sys.argv[1] == "extended":
        import sparkext

        builder = sparkext.configure(builder)
    spark = builder.getOrCreate()
    extensions = spark.sparkContext.getConf().get("spark.sql.extensions", "")
    sys.stdout.write(json.dumps({"extensions": extensions, "found": run(spark, sys.argv[2:])}))
    spark.stop()


if __name__ == "__main__":
    main()
