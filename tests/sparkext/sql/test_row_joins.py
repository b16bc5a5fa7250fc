"""The join operator over rows: keys of every type, rows that come and go, what it keeps, and where it is not used."""

from __future__ import annotations

import gc
import random
import time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

import sparkext
from sparkext.errors import RunError
from tests.sparkext.sql.tables import NAN, QUICK, bag, rows_of, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext.engine import Engine
    from sparkext.sql import LiveView

COLUMNS = {
    "i": "INT",
    "b": "BIGINT",
    "t": "TINYINT",
    "o": "BOOLEAN",
    "f": "FLOAT",
    "d": "DOUBLE",
    "s": "STRING",
    "c": "STRING COLLATE UTF8_LCASE",
    "p": "DECIMAL(12, 2)",
    "w": "DECIMAL(30, 5)",
    "y": "BINARY",
    "q": "STRUCT<x: INT, y: DOUBLE>",
    "a": "ARRAY<STRING>",
    "day": "DATE",
}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
FLOATS = [0.0, -0.0, NAN, 1.5, float("inf")]


def a_row(rng: random.Random) -> dict[str, Any]:
    """Few values of each type, a seventh of them null."""
    import datetime

    text = rng.choice(["", "a", "A", "é", "longer than a word"])
    values = {
        "i": rng.randrange(-1, 3),
        "b": rng.choice([0, -1, 1, 2, 1 << 62, -(1 << 63)]),
        "t": rng.randrange(-1, 3),
        "o": rng.random() < 0.5,
        "f": rng.choice(FLOATS),
        "d": rng.choice(FLOATS),
        "s": text,
        "c": rng.choice(["x", "X", "y", "É", "é"]),
        "p": Decimal(rng.randrange(-2, 3)) / 100,
        "w": Decimal(rng.randrange(-2, 3)) * 10**20,
        "y": text.encode(),
        "q": {"x": rng.randrange(2), "y": rng.choice(FLOATS)},
        "a": [rng.choice("uv") for _ in range(rng.randrange(3))],
        "day": datetime.date(2026, 1, 1 + rng.randrange(3)),
    }
    return {name: None if rng.random() < 1 / 7 else value for name, value in values.items()}


@pytest.fixture(scope="module")
def kinds(engine: Engine) -> dict[str, LiveView]:
    """Two live views and a static table with columns of many types."""
    made = {name: engine.live_view(f"kinds_{name}", SCHEMA) for name in ("one", "two")}
    rows = [a_row(random.Random(n)) for n in range(25)]
    static = engine.spark.createDataFrame(rows, SCHEMA)
    for name in ("kinds_static", "stock_static"):
        static.createOrReplaceTempView(name)
    return made


def joins() -> dict[str, str]:
    """A join by each column, and some by several."""
    found = {
        name: f"SELECT l.i, l.s, r.d, z.b FROM {{one}} l JOIN {{two}} r ON l.{name} = r.{name}"
        f" JOIN {{static}} z ON z.{name} = r.{name} WHERE l.b IS NULL OR r.i < 2"
        for name in COLUMNS
    }
    found["wider"] = "SELECT l.c, r.q FROM {one} l JOIN {two} r ON l.t = r.b AND l.i = r.t"
    found["two of one"] = "SELECT l.f, r.a FROM {one} l JOIN {two} r ON l.d = r.d AND l.f = r.d"
    found["equal in itself"] = "SELECT r.s FROM {one} l JOIN {two} r ON l.i = r.i AND l.i = r.t"
    found["of both"] = (
        "SELECT l.s, r.s FROM {one} l JOIN {two} r ON l.s COLLATE UTF8_LCASE = r.c AND l.i + r.i > -1"
    )
    for name in "dcsqw":
        found[f"null-safe {name}"] = (
            f"SELECT l.i, r.{name} FROM {{one}} l JOIN {{two}} r ON l.{name} <=> r.{name} AND l.i = r.i"
        )
    found["triangle"] = (
        "SELECT l.p, z.w FROM {one} l JOIN {two} r ON l.s = r.s JOIN {static} z"
        " ON z.i = l.i AND z.d = r.d"
    )
    found["computed"] = (
        "SELECT l.s || r.s AS both, l.i + coalesce(z.k, 0) AS n FROM {one} l JOIN (SELECT *, upper(s) AS u"
        " FROM {two} WHERE i >= 0) r ON upper(l.s) = r.u LEFT JOIN (SELECT i AS k FROM {static}) z ON z.k = l.i"
    )
    return found


@pytest.mark.parametrize("on_driver", [pytest.param("true", marks=pytest.mark.slow), "false"])
def test_keys_of_every_type(
    kinds: dict[str, LiveView], spark: SparkSession, on_driver: str
) -> None:
    """Equality is that of Spark's joins, while rows come."""
    with settings(spark, {"spark.cqels.driverExecution.enabled": on_driver}):
        engine = sparkext.Engine(spark)
    live = {"one": "kinds_one", "two": "kinds_two", "static": "kinds_static"}
    stock = {name: f"stock_{name}" for name in live}
    prepared = {name: engine.prepare(text.format_map(live)) for name, text in joins().items()}
    rng = random.Random(7)
    held: dict[str, list[dict[str, Any]]] = {"one": [], "two": []}
    rounds = ("append", "replace") if on_driver == "true" else ("append",)
    for view in kinds.values():
        view.clear()
    wrong = []
    for how in rounds:
        for name, view in kinds.items():
            rows = [a_row(rng) for _ in range(20)]
            held[name] = rows if how == "replace" else held[name] + rows
            getattr(view, how)(rows)
            spark.createDataFrame(held[name], SCHEMA).createOrReplaceTempView(f"stock_{name}")
        for name, query in prepared.items():
            with settings(spark, QUICK):
                wanted = spark.sql(joins()[name].format_map(stock)).toArrow()
            found = query.run()
            if bag(rows_of(found)) != bag(rows_of(wanted)) or not wanted.num_rows:
                wrong.append((how, name, found.num_rows, wanted.num_rows))
    assert wrong == []
    assert "RowJoin" in prepared["s"].explain().data["spark_plan"]
    engine.close()


def test_rows_that_leave_are_joined_no_more(engine: Engine, spark: SparkSession) -> None:
    """Through expiries, the view's own tidying up, and texts that nobody has any more."""
    dictionary = spark.sparkContext._jvm.org.apache.spark.sql.cqels.rows.KeyDictionary.shared()  # type: ignore[union-attr]
    # What queries of other tests have is given back when Python lets go of them.
    gc.collect()
    before = dictionary.size()
    window = engine.live_view(
        "leaving", "k BIGINT, s STRING, t BIGINT", time_column="t", width="1s"
    )
    now = engine.live_view("staying", "k BIGINT, s STRING")
    by_number = engine.prepare("SELECT w.t FROM leaving w JOIN staying n ON w.k = n.k")
    by_text = engine.prepare("SELECT w.t FROM leaving w JOIN staying n ON w.s = n.s AND w.k > 1")
    rng = random.Random(3)
    held: list[tuple[int, str, int]] = []
    for second in range(12):
        time = second * 500
        rows = [
            (rng.randrange(40), f"text {rng.randrange(90)}", time - rng.randrange(400))
            for _ in range(900)
        ]
        window.append(rows)
        window.advance_to(time)
        held = [row for row in held + rows if row[2] > time - 1_000]
        asked = [(rng.randrange(50), f"text {rng.randrange(99)}") for _ in range(5)]
        now.replace(asked)
        if second % 3 != 1:  # what came is taken in when somebody asks
            wanted = sorted(t for k, _, t in held for key, _ in asked if k == key)
            assert sorted(by_number.run()["t"].to_pylist()) == wanted
            wanted = sorted(t for k, s, t in held for _, text in asked if s == text and k > 1)
            assert sorted(by_text.run()["t"].to_pylist()) == wanted
    assert 0 < dictionary.size() <= before + 95
    window.clear()
    now.clear()
    assert by_text.run().num_rows == 0
    assert dictionary.size() <= before  # what others had may have been given back meanwhile
    by_number.close()
    by_text.close()


def test_keys_of_a_view_whose_name_another_took_go_with_it(
    engine: Engine, spark: SparkSession
) -> None:
    jvm: Any = spark.sparkContext._jvm
    dictionary = jvm.org.apache.spark.sql.cqels.rows.KeyDictionary.shared()
    engine.live_view("taken_now", "s STRING").replace([("key 7",)])
    former = engine.live_view("taken", "s STRING")
    former.replace([(f"key {n}",) for n in range(5_000)])
    query = engine.prepare("SELECT t.s FROM taken t JOIN taken_now n ON t.s = n.s")
    assert query.run().num_rows == 1
    with_keys = dictionary.size()
    assert with_keys >= 5_000
    query.close()
    del query, former
    engine.live_view("taken", "s STRING")
    end = time.monotonic() + 60
    while dictionary.size() > with_keys - 4_000:
        assert time.monotonic() < end, "its keys stay"
        gc.collect()
        jvm.java.lang.System.gc()
        time.sleep(0.05)


def test_a_key_that_fails_fails_the_run(engine: Engine) -> None:
    """Not the batch that brings the row; and only while it is there."""
    left = engine.live_view("unsound_left", "s STRING")
    right = engine.live_view("unsound_right", "k INT")
    query = engine.prepare(
        "SELECT r.k FROM unsound_left l JOIN unsound_right r ON CAST(l.s AS INT) = r.k"
    )
    right.replace([(1,), (2,)])
    left.replace([("1",)])
    assert query.run()["k"].to_pylist() == [1]
    left.append([("one",), ("2",)])
    for _ in range(2):
        with pytest.raises(RunError, match="CAST_INVALID_INPUT"):
            query.run()
    left.replace([("2",), ("1",)])
    assert sorted(query.run()["k"].to_pylist()) == [1, 2]
    query.close()


def test_threads_share_a_large_join(spark: SparkSession) -> None:
    with settings(spark, {"spark.cqels.driverExecution.threads": "3"}):
        engine = sparkext.Engine(spark)
    left = engine.live_view("large_left", "k BIGINT, a BIGINT")
    right = engine.live_view("large_right", "k BIGINT, b BIGINT")
    left.replace([(k % 500, k) for k in range(20_000)])
    right.replace([(k % 500, k) for k in range(5_000)])
    query = engine.prepare(
        "SELECT count(*) AS n, sum(l.a * r.b) AS total FROM large_left l JOIN large_right r"
        " ON l.k = r.k WHERE (l.a + r.b) % 3 = 0"
    )
    pairs = [(a, b) for a in range(20_000) for b in range(a % 500, 5_000, 500) if (a + b) % 3 == 0]
    wanted = [{"n": len(pairs), "total": sum(a * b for a, b in pairs)}]
    for _ in range(3):
        assert query.run().to_pylist() == wanted
    engine.close()


def test_more_inputs_than_one_operator_joins(engine: Engine) -> None:
    """They stay a chain of Spark's joins."""
    view = engine.live_view("wide", "k BIGINT")
    view.replace([(1,), (2,)])
    others = "".join(f" JOIN wide w{n} ON w{n}.k = w{n - 1}.k" for n in range(1, 62))
    query = engine.prepare(f"SELECT w0.k FROM wide w0{others}")
    assert sorted(query.run()["k"].to_pylist()) == [1, 2]
    assert "RowJoin" not in query.explain().data["spark_plan"]
    query.close()


def test_answers_without_columns(engine: Engine) -> None:
    left = engine.live_view("bare_left", "k BIGINT")
    right = engine.live_view("bare_right", "k BIGINT")
    query = engine.prepare("SELECT count(*) AS n FROM bare_left l, bare_right r WHERE l.k < r.k")
    cross = engine.prepare("SELECT count(*) AS n FROM bare_left, bare_right")
    left.replace([(k,) for k in range(30)])
    right.replace([(k,) for k in range(20)])
    assert query.run().to_pylist() == [{"n": 190}]
    assert cross.run().to_pylist() == [{"n": 600}]
    query.close()
    cross.close()


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
