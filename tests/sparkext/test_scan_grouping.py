"""Windows that lead to many look-ups are read grouped by their key, in the plans of registered queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

E = "http://example.org/"
TEXT = f"""PREFIX : <{E}> SELECT ?a ?b ?room
FROM NAMED WINDOW :now ON <{E}s> [NOW] FROM NAMED WINDOW :range ON <{E}s> [RANGE 20 STEP 1]
WHERE {{ WINDOW :now {{ ?a :enters ?room }} WINDOW :range {{ ?b :at ?room }} ?a :knows ?b }}"""


def trees_and_answers(
    spark: SparkSession, folder: Path, grouped: bool
) -> tuple[str, list[list[str | None]]]:
    """The physical plan of `now`, then `knows`, then `range`, and its answers."""
    from adaptive import Join, Scan
    from adaptive.plan import walk
    from sparkext import Engine

    path = folder / "known.nt"
    path.write_text(
        "".join(f"<{E}p{a}> <{E}knows> <{E}q{b}> .\n" for a in range(6) for b in range(50))
    )
    spark.conf.set("spark.cqels.scanGrouping.enabled", str(grouped).lower())
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset("spark.cqels.scanGrouping.enabled")
    try:
        engine.load_static(path, progress=False)
        stream = engine.register_stream(f"{E}s")
        query = engine.register_query(TEXT)
        names = {
            n.relation.split("{")[0]: n for n in walk(query.plans.orders[0]) if isinstance(n, Scan)
        }
        now, known, seen = names["now"], names["?a knows ?b"], names["range"]
        led = Join(
            Scan(now.relation, estimated_rows=12.0),
            Scan(known.relation),
            ("a",),
            "index",
            estimated_rows=600.0,
        )
        order = Join(led, Scan(seen.relation), ("b", "room"), "index", estimated_rows=30.0)
        plans = query.compile((order,))
        for n in range(40):
            stream.push(f"<{E}q{n}> <{E}at> <{E}room{n % 3}> .", 1)
        for n in range(12):
            stream.push(f"<{E}p{n % 6}> <{E}enters> <{E}room{n % 4}> .", 2)
        stream.advance_to(2)
        expected = query.last_answers
        assert expected is not None
        table, _ = query.run_with(plans)
        assert table.num_rows == expected.table.num_rows > 0
        found = sorted(map(str, table.to_pylist()))
        assert found == sorted(map(str, expected.table.to_pylist()))
        return plans.jvm.planTree(), found
    finally:
        engine.close()


def test_the_key_of_the_most_look_ups_groups_the_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    grouped, answers = trees_and_answers(spark, tmp_path, True)
    plain, same = trees_and_answers(spark, tmp_path, False)
    assert "grouped by v_room" in grouped
    assert "grouped by" not in plain
    assert answers == same
