"""The bench of Spark SQL: its batches, that both sides answer alike, and that it is noticed where they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc
import pytest

from bench import sql
from bench.peers.alone import alone
from bench.sql import QUERIES, VIEWS, Stream, Taken, batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_windows_hold_what_arrived_in_their_width() -> None:
    made = list(batches(rate=50, count=4, sensors=1_000, people=100, seed=1))
    assert [batch.time for batch in made] == [60_000, 61_000, 62_000, 63_000]
    for batch in made:
        assert set(batch.now) == set(batch.held) == set(VIEWS)
        assert batch.held["readings"] is batch.now["readings"]
        assert batch.now["readings"].num_rows == 50
        for name, width in (("presence", 30_000), ("alarms", 60_000)):
            held, now = batch.held[name], batch.now[name]
            assert held.num_rows == now.num_rows * width // 1_000
            assert pc.min(held["at"]).as_py() == batch.time - width + 1_000
            assert pc.max(held["at"]).as_py() == batch.time


def test_the_same_seed_gives_the_same_batches() -> None:
    first, second = (next(batches(20, 1, 1_000, 100, 5)).held for _ in range(2))
    assert first == second
    assert next(batches(20, 1, 1_000, 100, 6)).held != first


@pytest.mark.parametrize("query", QUERIES)
def test_both_sides_answer_every_batch_alike(spark: SparkSession, query: str) -> None:
    stream = Stream(query, rate=200, seconds=3, sensors=2_000, people=500, seed=1)
    sql.static_tables(spark, stream.sensors, stream.people)
    ours, stock = (sql.SIDES[side](spark, stream) for side in ("prepared", "stock"))
    row = sql.row(stream, ours, stock, None)
    assert tuple(row) == tuple(c for c in sql.COLUMNS if c != "real_time_p50_ms")
    assert len(ours.ms) == len(stock.ms) == 3
    assert min(ours.answers) > 0 and ours.answers == stock.answers
    assert 0 < row["fill_ms"] < row["p95_ms"] and row["prepare_ms"] > 0
    for name in ("sensors", "people", *(f"stock_{view}" for view in VIEWS)):
        spark.catalog.dropTempView(name)


def test_all_batches_count_and_must_be_answered_alike() -> None:
    stream = Stream("who", 1, 3, 1, 1, 1)
    ours = Taken([90.0, 2.0, 4.0], [1.0, 1.0, 1.0], ["1-a", "1-b", "1-c"], [1, 1, 1])
    stock = Taken([50.0, 20.0, 40.0], [], ["1-a", "1-b", "1-c"], [1, 1, 1])
    row = sql.row(stream, ours, stock, None)
    assert (row["p50_ms"], row["first_ms"], row["ratio"]) == (4.0, 90.0, 10.0)
    assert (row["spark_p50_ms"], row["spark_first_ms"]) == (40.0, 50.0)
    stock.fingerprints[2] = "1-d"
    with pytest.raises(sql.AnswersDifferError, match="batch 2: 1-c prepared, 1-d"):
        sql.row(stream, ours, stock, None)


@pytest.mark.slow
def test_real_time_mode_answers_alike() -> None:
    stream = Stream("kinds", rate=50, seconds=4, sensors=2_000, people=500, seed=1)
    ours, real_time = (alone(sql.ask_anew, side, stream) for side in ("prepared", "real-time"))
    assert sql.row(stream, ours, ours, real_time)["real_time_p50_ms"] > 0
