"""Rows of static tables by the keys that live rows have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine


def test_static_rows_of_a_key_are_found_whether_they_are_one_or_many(
    engine: Engine, spark: SparkSession
) -> None:
    ends = [-(1 << 63), (1 << 63) - 1, -1, -2, 0]
    counts = {key: n for n, key in enumerate([*ends, *range(100, 5_000, 7)])}
    # The first key once, the second twice, and so on to five.
    rows = [(key, f"{key}/{i}") for key, n in counts.items() for i in range(1 + n % 5)]
    rows += [(None, "none"), (None, "nor this")]
    spark.createDataFrame(rows, "k BIGINT, n STRING").cache().createOrReplaceTempView("many_names")
    single = [(key, str(key)) for key in counts]
    spark.createDataFrame(single, "k BIGINT, n STRING").cache().createOrReplaceTempView("one_name")
    view = engine.live_view("many_now", "k BIGINT")
    asked = [*ends, *range(90, 400), 100, None]
    view.replace([(key,) for key in asked])
    for table, known in (("many_names", rows), ("one_name", single)):
        prepared = engine.prepare(f"SELECT o.k, t.n FROM many_now o JOIN {table} t ON o.k = t.k")
        expected = [(k, n) for key in asked for k, n in known if k == key and key is not None]
        for _ in range(2):
            found = prepared.run()
            assert sorted(
                zip(*(column.to_pylist() for column in found.columns), strict=True)
            ) == sorted(expected)
        assert prepared.explain().data["execution"] == "driver"
        prepared.close()
