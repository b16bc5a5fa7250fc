"""The events bench: what its batches hold, and that the engine and DuckDB find the same in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from bench import events
from bench.event_chains.event_batches import Chains
from bench.event_chains.event_engine import Answered
from bench.event_chains.event_peers import DuckDbChains

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

BATCH = 1000  # at least one event at each millisecond, so that the last one is at the instant


@pytest.mark.parametrize("steps", [2, 3])
@pytest.mark.parametrize("together", [1, 10])
def test_batches_are_in_order_of_time_and_as_many_chains_end_in_each(
    steps: int, together: int
) -> None:
    chains = Chains(steps, 2000, BATCH, 100, together)
    filled = list(chains.filling(300))
    assert sum(map(len, filled)) == 2000
    times = np.concatenate([some.time for some in filled])
    assert (np.diff(times) >= 0).all() and times[0] > 0 and times[-1] == 1000
    duckdb = DuckDbChains(steps, filled, None)
    for number in range(3):
        batch = chains.arriving(number)
        assert len(batch) == BATCH and (np.diff(batch.time) >= 0).all()
        assert batch.time[0] > (number + 1) * 1000 and batch.time[-1] == (number + 2) * 1000
        assert (batch.time[:: chains.together] == batch.time[together - 1 :: together]).all()
        assert len(np.unique(duckdb.take(batch).matches, axis=0)) == 100
    duckdb.close()


@pytest.mark.parametrize(
    "workload", [events.Workload(2, 1000, True), events.Workload(3, 1000, False, 10)]
)
def test_a_row_of_a_tiny_run(
    spark: SparkSession, tmp_path: Path, workload: events.Workload
) -> None:
    static = events.load_static(spark, 2000, tmp_path)
    row, notes = events.measure(spark, workload, BATCH, 2, static, ("duckdb",))
    assert set(row) == set(events.COLUMNS) and not notes
    assert row["answers"] == 2 * BATCH // 10
    assert row["events_per_s"] > 0 and row["state_bytes"] > 1000 * 8
    assert row["esper_p50_ms"] is None and row["duckdb_p50_ms"] > 0


def test_other_answers_end_the_bench() -> None:
    workload = events.Workload(2, 10, False)
    one, other = (Answered(1.0, 1.0, 1.0, np.array([[1, 2, last]])) for last in (3, 4))
    events._agree(workload, 0, {"": one, "esper": one})
    with pytest.raises(events.AnswersDifferError, match="esper 1"):
        events._agree(workload, 0, {"": one, "esper": other})


def test_queries_have_the_names_by_which_they_are_chosen() -> None:
    assert {workload.name for workload in events.workloads((10,))} == set(events.QUERIES)


def test_the_summary_tells_what_the_goals_ask() -> None:
    def row(query: str, count: int, ms: float) -> dict[str, object]:
        cells = {"events_per_s": 300, "duckdb_events_per_s": 100, "esper_events_per_s": None}
        return {"query": query, "open": count, "together": 1, "p50_ms": ms, **cells}

    rows = [
        row("two steps", 10, 2.0),
        row("two steps", 1000, 3.0),
        row("two steps, static", 10, 2.5),
    ]
    rows.append(row("two steps, static", 1000, 3.0))
    found = events.summarise(rows)
    assert found["open_ratio"] == {"two steps": 1.5, "two steps, static": 1.2}
    assert found["static_ratio"] == {"two steps@10": 1.25, "two steps@1000": 1.0}
    assert found["to_peers"] == {"duckdb@10": 3.0, "duckdb@1000": 3.0}
