"""Windows that lead to many look-ups are read grouped by their key, in the plans of registered queries."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext import Engine

E = "http://example.org/"
TEXT = f"""PREFIX : <{E}> SELECT ?a ?b ?room
FROM NAMED WINDOW :now ON <{E}s> [NOW] FROM NAMED WINDOW :range ON <{E}s> [RANGE 20 STEP 1]
WHERE {{ WINDOW :now {{ ?a :enters ?room }} WINDOW :range {{ ?b :at ?room }} ?a :knows ?b }}"""


@contextmanager
def engine_with(spark: SparkSession, folder: Path, key: str, value: str) -> Iterator[Engine]:
    """An engine made under one set key; six people know fifty others each."""
    from sparkext import Engine

    path = folder / "known.nt"
    path.write_text(
        "".join(f"<{E}p{a}> <{E}knows> <{E}q{b}> .\n" for a in range(6) for b in range(50))
    )
    spark.conf.set(key, value)
    try:
        engine = Engine(spark)
    finally:
        spark.conf.unset(key)
    try:
        engine.load_static(path, progress=False)
        yield engine
    finally:
        engine.close()


def trees_and_answers(
    spark: SparkSession, folder: Path, grouped: bool
) -> tuple[str, list[list[str | None]]]:
    """The physical plan of `now`, then `knows`, then `range`, and its answers."""
    from adaptive import Join, Scan
    from adaptive.plan import walk

    key = "spark.cqels.scanGrouping.enabled"
    with engine_with(spark, folder, key, str(grouped).lower()) as engine:
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


def test_the_key_of_the_most_look_ups_groups_the_window(
    spark: SparkSession, tmp_path: Path
) -> None:
    grouped, answers = trees_and_answers(spark, tmp_path, True)
    plain, same = trees_and_answers(spark, tmp_path, False)
    assert "grouped by v_room" in grouped
    assert "grouped by" not in plain
    assert answers == same


def test_rows_are_grouped_as_they_were_counted(spark: SparkSession, tmp_path: Path) -> None:
    """The plan is made while windows are empty; later some who enter know many, and then nobody."""
    with engine_with(spark, tmp_path, "spark.cqels.planCache.trials", "0") as engine:
        stream = engine.register_stream(f"{E}s")
        query = engine.register_query(TEXT)

        def run(instant: int, known: int, strangers: int) -> tuple[int, bool]:
            """Fifty are at three rooms; some enter there, others elsewhere: answers, and whether rows are grouped."""
            for n in range(50):
                stream.push(f"<{E}q{n}> <{E}at> <{E}room{n % 3}> .", instant)
            for n in range(known):
                stream.push(f"<{E}p{n}> <{E}enters> <{E}room{n % 3}> .", instant)
            for n in range(strangers):
                stream.push(f"<{E}x{n}> <{E}enters> <{E}room7> .", instant)
            stream.advance_to(instant)
            answers = query.last_answers
            assert answers is not None and answers.time == instant
            return answers.table.num_rows, "grouped by" in query.plans.jvm.planTree()

        assert "grouped by" not in query.plans.jvm.planTree()
        crowd = [run(instant, 6, 0) for instant in range(1, 30)]
        assert {rows for rows, _ in crowd} == {100}
        assert crowd[-1][1]
        assert re.search(r"rows of now\{.+\} are read grouped by \?", str(query.explain()))
        few = [run(instant, 1, 60) for instant in range(30, 80)]
        assert {rows for rows, _ in few} == {17}
        assert not few[-1][1]
        assert query.explain().data["grouped"] == []
