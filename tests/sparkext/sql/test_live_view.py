"""Live views: what goes in, what leaves with time, and what is refused."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import Row

import sparkext
from sparkext.errors import LiveViewError
from tests.sparkext.sql.tables import settings

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from sparkext.engine import Engine
    from sparkext.sql import LiveView

UTC = datetime.UTC


def held(view: LiveView) -> list[tuple[Any, ...]]:
    """The rows of a view as an ordinary query finds them, sorted."""
    return sorted((tuple(row) for row in view.to_dataframe().collect()), key=repr)


@pytest.mark.parametrize(
    "form", ["tuples", "rows", "mappings", "arrow", "batch", "pandas", "frame"]
)
def test_every_form_of_data(engine: Engine, spark: SparkSession, form: str) -> None:
    view = engine.live_view("forms", "k BIGINT, s STRING, d DOUBLE")
    rows = [(1, "a", 0.5), (2, None, None), (2, "b", 3.0)]
    mappings = [dict(zip("ksd", row, strict=True)) for row in rows]
    data: Any = {
        "tuples": lambda: rows,
        "rows": lambda: [Row(d=d, s=s, k=k) for k, s, d in rows],
        "mappings": lambda: [
            {name: v for name, v in row.items() if v is not None} for row in mappings
        ],
        "arrow": lambda: pa.Table.from_pylist(mappings).select(["d", "s", "k"]),
        "batch": lambda: pa.RecordBatch.from_pylist(mappings),
        "pandas": lambda: pd.DataFrame(mappings),
        "frame": lambda: spark.createDataFrame(rows, "k INT, s STRING, d FLOAT").select(
            "s", "d", "k"
        ),
    }[form]()
    view.replace(data)
    assert held(view) == sorted(rows, key=repr)
    view.append(data)
    assert view.row_count == 6
    view.clear()
    assert held(view) == []


def test_values_of_many_types_come_back(engine: Engine) -> None:
    view = engine.live_view(
        "types",
        "a TINYINT, b DECIMAL(12, 3), c DATE, d TIMESTAMP, e TIMESTAMP_NTZ, f BOOLEAN, g BINARY,"
        " h ARRAY<INT>, i STRUCT<x: INT, y: STRING>, j MAP<STRING, DOUBLE>",
    )
    row = (
        -3,
        Decimal("12.500"),
        datetime.date(2026, 2, 3),
        datetime.datetime(2026, 2, 3, 4, 5, 6, 789, UTC),
        datetime.datetime(2026, 2, 3, 4, 5, 6),
        True,
        b"\x00\xff",
        [1, None],
        {"x": 1, "y": "z"},
        {"k": 1.5},
    )
    view.replace([row, (None,) * 10])
    query = engine.prepare("SELECT * FROM types WHERE a IS NOT NULL")
    found = query.run()
    assert found.schema == view.to_dataframe().toArrow().schema
    [answer] = found.to_pylist()
    assert answer.pop("j") == [("k", 1.5)]
    assert tuple(answer.values()) == row[:-1]
    query.close()


def test_times_without_a_zone_are_in_that_of_the_session(spark: SparkSession) -> None:
    naive = datetime.datetime(2026, 7, 1, 12)
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        engine = sparkext.Engine(spark)
        view = engine.live_view("zoned", "t TIMESTAMP")
        query = engine.prepare("SELECT t, hour(t) AS h FROM zoned")
        for data in ([(naive,)], pd.DataFrame({"t": [naive]}), pa.table({"t": [naive]})):
            view.replace(data)
            found = query.run()
            assert found == spark.sql("SELECT t, hour(t) AS h FROM zoned").toArrow()
            assert found.to_pylist() == [
                {"t": datetime.datetime(2026, 7, 1, 16, tzinfo=UTC), "h": 12}
            ]
        engine.close()


@pytest.mark.parametrize(
    ("zone", "wanted"),
    [
        ("America/New_York", ("2026-03-08 07:30", "2026-07-01 16:00", "2026-11-01 05:30")),
        ("GMT+02:00", ("2026-03-08 00:30", "2026-07-01 10:00", "2026-10-31 23:30")),
    ],
)
def test_times_that_clocks_skip_or_have_twice(
    engine: Engine, spark: SparkSession, zone: str, wanted: tuple[str, ...]
) -> None:
    local = [
        datetime.datetime(2026, 3, 8, 2, 30),
        datetime.datetime(2026, 7, 1, 12),
        datetime.datetime(2026, 11, 1, 1, 30),
    ]
    view = engine.live_view("skipped", "t TIMESTAMP")
    query = engine.prepare("SELECT t FROM skipped ORDER BY t")
    rows = [(time,) for time in local]
    with settings(spark, {"spark.sql.session.timeZone": zone}):  # that of now, not of the view's
        for data in (
            rows,
            pd.DataFrame({"t": local}),
            pa.table({"t": local}),
            spark.createDataFrame(rows, "t TIMESTAMP_NTZ"),
        ):
            view.replace(data)
            found = query.run()["t"].to_pylist()
            assert found == [datetime.datetime.fromisoformat(f"{time}+00:00") for time in wanted]
    query.close()


def test_rows_expire_by_time_and_indexes_follow(engine: Engine) -> None:
    window = engine.live_view("moving", "k BIGINT, t BIGINT", time_column="t", width="2s")
    probe = engine.live_view("probe", "k BIGINT")
    query = engine.prepare("SELECT p.k, m.t FROM probe p LEFT JOIN moving m ON p.k = m.k")
    rng = random.Random(3)
    content: list[tuple[int, int]] = []  # what the view should hold
    passed = -(10**9)
    for step in range(60):
        batch = [
            (rng.randrange(9), rng.randrange(step * 400 - 2_500, step * 400 + 1))
            for _ in range(150)
        ]
        window.append(batch)
        content += [row for row in batch if row[1] > passed]
        if rng.random() < 0.7:
            window.advance_to(step * 400)
            passed = max(passed, step * 400 - 2_000)
            content = [row for row in content if row[1] > passed]
        keys = [rng.randrange(12) for _ in range(2)]
        probe.replace([(k,) for k in keys])
        found = query.run()
        wanted = [(k, t) for k in keys for other, t in content if other == k]
        wanted += [(k, None) for k in keys if k not in {other for other, _ in content}]
        assert sorted(map(repr, zip(*found.to_pydict().values(), strict=True))) == sorted(
            map(repr, wanted)
        )
        assert window.row_count == len(content)
    # The window was looked up through an index that was kept.
    assert "IndexedRows moving" in query.explain().data["spark_plan"]
    assert window._jvm.content().indexCount() == 1
    query.close()
    for _ in range(100):  # nothing probes it any more
        window.append([(1, 10**9)])
    assert window._jvm.content().indexCount() == 0


def test_the_edge_of_a_window_of_timestamps(engine: Engine) -> None:
    start = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    for kind, zone in (("TIMESTAMP", UTC), ("TIMESTAMP_NTZ", None)):
        view = engine.live_view("edge", f"n INT, t {kind}", time_column="t", width=1_000)
        times = [
            start.replace(tzinfo=zone) + datetime.timedelta(milliseconds=m) for m in (0, 1, 999)
        ]
        view.append(list(enumerate(times)))
        view.advance_to((start + datetime.timedelta(seconds=1)).replace(tzinfo=zone))
        assert [row[0] for row in held(view)] == [1, 2]
        view.append([(9, times[0]), (8, times[2])])  # the first has left already
        assert [row[0] for row in held(view)] == [1, 2, 8]
        view.advance_to(int((start.timestamp() + 1) * 1_000) - 500)  # time does not go back
        assert view.row_count == 3
        view.clear()
        view.append([(7, times[0])])
        assert view.row_count == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([(1,)], "row 0 for refusing has 1 values, not 2 (k, s)"),
        ([{"k": 1, "sss": "a"}], "row 0 for refusing has no place for sss; columns: k, s"),
        ([("one", "a")], "column k of refusing: "),
        ([7], "row 0 for refusing is a int, no row"),
        ("rows", "refusing takes a DataFrame, Arrow or pandas data, or a list of rows, not str"),
        (pa.table({"k": [1]}), "data for refusing lacks s; its columns are k, s"),
        (pd.DataFrame({"k": [1], "s": ["a"], "x": [1]}), "data for refusing has unknown x"),
        (pa.table({"k": [1.5], "s": ["a"]}), "column k of refusing holds bigint, not double"),
        (pa.table({"k": [1], "s": [2]}), "column s of refusing holds string, not int64"),
        (pa.table({"k": pa.array([2**63], pa.uint64()), "s": ["a"]}), "column k of refusing: "),
    ],
)
def test_data_that_do_not_fit(engine: Engine, data: Any, message: str) -> None:
    view = engine.live_view("refusing", "k BIGINT, s STRING")
    view.replace([(1, "kept")])
    with pytest.raises(LiveViewError) as raised:
        view.replace(data)
    assert str(raised.value).startswith(message)
    assert held(view) == [(1, "kept")]


def test_frames_that_do_not_fit(engine: Engine, spark: SparkSession) -> None:
    view = engine.live_view("refusing", "k BIGINT, s STRING")
    view.replace([(1, "kept")])
    with pytest.raises(LiveViewError, match="column s of refusing holds string, not int64"):
        view.replace(spark.sql("SELECT 1L AS k, 2L AS s"))
    with pytest.raises(LiveViewError, match="lacks s and has unknown x"):
        view.append(spark.sql("SELECT 1L AS k, 2L AS x"))
    with pytest.raises(LiveViewError, match=r"(?i)divi"):
        view.append(spark.sql("SELECT 1L DIV (id - id) AS k, 'a' AS s FROM range(1)"))
    stream = spark.readStream.format("rate").load().selectExpr("value AS k", "'a' AS s")
    with pytest.raises(LiveViewError, match="foreachBatch"):
        view.replace(stream)
    assert held(view) == [(1, "kept")]


def test_nulls_where_none_may_be(engine: Engine) -> None:
    view = engine.live_view("strict", "k BIGINT NOT NULL, s STRING")
    view.replace([(1, None)])
    with pytest.raises(LiveViewError, match="column k of strict must not be null"):
        view.append([(2, "a"), (None, "b")])
    assert held(view) == [(1, None)]
    timed = engine.live_view("timed", "t TIMESTAMP", time_column="t", width="1s")
    with pytest.raises(LiveViewError, match="column t of timed must not be null"):
        timed.append([(None,)])
    with pytest.raises(LiveViewError, match="column t of timed must not be null"):
        timed.append(engine.spark.sql("SELECT CAST(NULL AS TIMESTAMP) AS t"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("v", "k BIGINTT"), "the columns of v, 'k BIGINTT'"),
        (("v", "k INT, K INT"), "v declares k twice"),
        (("v", "k INT", "t", "1s"), "v has no column t; its columns are k"),
        (
            ("v", "t INT", "t", "1s"),
            "column t of v must be a TIMESTAMP, or a BIGINT of milliseconds",
        ),
        (("v", "t BIGINT", "t", "soon"), "v: width 'soon' must be a duration"),
        (("v", "t BIGINT", "t", 0), "v: width 0 must be above 0"),
        (("v", "INT"), "the columns of v, 'INT', are not named columns"),
        (("v", "k VARCHAR(3)"), "the columns of v: use STRING for CHAR and VARCHAR"),
        (("v", "t BIGINT", "t"), "v: time_column and width are given together, or neither"),
    ],
)
def test_views_declared_wrongly(engine: Engine, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(LiveViewError) as raised:
        engine.live_view(*arguments)
    assert str(raised.value).startswith(message)


def test_time_told_wrongly(engine: Engine) -> None:
    plain = engine.live_view("plain", "k INT")
    with pytest.raises(LiveViewError, match="plain has no time column"):
        plain.advance_to(1)
    zoned = engine.live_view("zoned", "t TIMESTAMP", time_column="t", width="1s")
    with pytest.raises(LiveViewError, match="needs a time zone"):
        zoned.advance_to(datetime.datetime(2026, 1, 1))


def test_a_view_that_was_dropped(engine: Engine, spark: SparkSession) -> None:
    view = engine.live_view("dropped", "k INT")
    view.replace([(1,)])
    query = engine.prepare("SELECT * FROM dropped")
    view.drop()
    assert not spark.catalog.tableExists("dropped")
    assert query.run().num_rows == 0
    query.close()


def test_a_name_that_another_view_has_taken(engine: Engine, spark: SparkSession) -> None:
    first = engine.live_view("taken", "k INT")
    spark.range(3).createOrReplaceTempView("taken")
    first.drop()
    assert spark.table("taken").count() == 3
    spark.catalog.dropTempView("taken")


def test_one_key_for_all_rows(engine: Engine) -> None:
    window = engine.live_view("skewed", "k BIGINT, n BIGINT, t BIGINT", time_column="t", width=300)
    engine.live_view("asking", "k BIGINT").replace([(1,)])
    query = engine.prepare("SELECT s.n FROM asking a LEFT JOIN skewed s ON a.k = s.k")
    for time in range(0, 4_000, 100):
        # Two rows of a batch expire before the others.
        window.append([(1, n, time - 250 * (n % 2)) for n in range(20)])
        window.advance_to(time)
        wanted = [n for at in range(max(0, time - 200), time + 1, 100) for n in range(0, 20, 2)]
        wanted += [n for at in [time] for n in range(1, 20, 2)]
        assert sorted(query.run()["n"].to_pylist()) == sorted(wanted)
    query.close()


def test_from_a_stream_of_batches(engine: Engine, spark: SparkSession, tmp_path: Path) -> None:
    view = engine.live_view("arrived", "k BIGINT, s STRING")
    spark.createDataFrame([(1, "one"), (2, "two")], "k BIGINT, n STRING").createOrReplaceTempView(
        "numbers"
    )
    query = engine.prepare("SELECT a.s, n.n FROM arrived a JOIN numbers n ON a.k = n.k")
    source = tmp_path / "source"
    for number in range(3):
        frame = spark.createDataFrame([(number, f"s{number}"), (1, "again")], "k BIGINT, s STRING")
        frame.coalesce(1).write.mode("append").json(str(source))
    seen: list[list[tuple[str, str]]] = []

    def answer(batch: Any, _: int) -> None:
        view.replace(batch)
        seen.append(sorted(zip(*query.run().to_pydict().values(), strict=True)))

    stream = (
        spark.readStream.schema("k BIGINT, s STRING")
        .option("maxFilesPerTrigger", 1)
        .json(str(source))
        .writeStream.foreachBatch(answer)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    again = ("again", "one")
    assert sorted(seen) == [[again], [again, ("s1", "one")], [again, ("s2", "two")]]
    query.close()


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_value_that_does_not_fit_is_refused_whatever_spark_makes_of_it(
    engine: Engine, spark: SparkSession, ansi: str
) -> None:
    view = engine.live_view(f"narrow_{ansi}", "k INT, d DECIMAL(4, 1), f DOUBLE")
    with settings(spark, {"spark.sql.ansi.enabled": ansi}):
        view.append(spark.sql("SELECT 5L AS k, 12.50BD AS d, 9007199254740992L AS f"))
        for row in (
            "2147483648L AS k, 1.0BD AS d, 1L AS f",
            "1L AS k, 123456.0BD AS d, 1L AS f",
            "1L AS k, 1.25BD AS d, 1L AS f",
            "1L AS k, 1.0BD AS d, 9007199254740993L AS f",
            "1L AS k, 1.0BD AS d, 9223372036854775807L AS f",
        ):
            with pytest.raises(LiveViewError, match="does not fit into"):
                view.append(spark.sql(f"SELECT {row}"))
        missing = (
            "CAST(NULL AS BIGINT) AS k, CAST(NULL AS DECIMAL(5, 2)) AS d, CAST(NULL AS INT) AS f"
        )
        view.append(spark.sql(f"SELECT {missing}"))
    assert held(view) == [(5, Decimal("12.5"), 2.0**53), (None, None, None)]
