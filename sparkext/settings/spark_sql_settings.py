"""The ``spark.cqels.*`` keys of Spark SQL without RDF: prepared queries, live views, unchanged streaming jobs.

The JVM extension reads those of kept sides itself, in sessions that no Python has a part in.
"""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.setting_keys import declare
from sparkext.setting_types import BOOLEAN, DURATION, MEMORY, whole_number


@dataclass(frozen=True)
class SparkSqlSettings:
    """The values of these keys, checked and typed; durations are milliseconds."""

    kept_sides_enabled: bool = declare(
        "keptSides.enabled",
        BOOLEAN,
        True,
        "Keep the static side of a join with a stream from one micro-batch of a Structured Streaming job to the next,"
        " as long as its data are the same (docs/spark_sql.md).",
    )
    kept_sides_join_order: bool = declare(
        "keptSides.joinOrder",
        BOOLEAN,
        True,
        "Join the rows of a micro-batch with several kept static sides in the order in which, as the batches before"
        " counted, they grow least. When false, in the order that Spark chose.",
    )
    kept_sides_max_memory: str = declare(
        "keptSides.maxMemory",
        MEMORY,
        "30%",
        "How much memory kept static sides may take together: a size such as 2g, or a part of the heap such as 30%."
        " What does not fit is read in each batch, as ever.",
    )
    kept_sides_ttl: int = declare(
        "keptSides.ttl",
        DURATION,
        0,
        "For how long a static side is kept whose version cannot be told (JDBC, RDDs, rand()), or such a part of a"
        " prepared query. 0: it is read in each batch, and at each run, as ever.",
    )
    sql_max_static_rows: int = declare(
        "sql.maxStaticRows",
        whole_number(0),
        20_000_000,
        "A static part of a prepared Spark SQL query with more rows is not kept in memory: Spark jobs"
        " read it at each run.",
    )
    sql_plan_timeout: int = declare(
        "sql.planTimeout",
        DURATION,
        2_000,
        "How long Spark's optimizer waits for a join order for an ordinary query over live views;"
        " after that the joins stay as Spark orders them.",
    )
