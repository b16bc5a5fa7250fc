"""The bench of unchanged jobs: what its columns count, and that answers are compared."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from bench import unchanged
from bench.report import BenchError
from bench.unchanged_jobs.jobs import JOBS
from bench.unchanged_jobs.readings import sensor_of
from bench.unchanged_jobs.tables import ROWS, TABLES


def ran(triggers: list[int], answers: list[str]) -> dict[str, Any]:
    """What a job writes of a run."""
    batches = [{"triggerExecution": t, "addBatch": t / 2} for t in triggers]
    return {"version": "4.3.0", "batches": batches, "answers": answers}


def test_all_triggers_count() -> None:
    row = unchanged.row("star", ran([100, 1, 3], ["a"]), ran([50, 2, 4, 6], ["a"]))
    assert set(unchanged.COLUMNS) <= set(row)
    assert (row["trigger_p50_ms"], row["first_ms"], row["add_batch_p50_ms"]) == (5, 50, 2.5)
    assert (row["stock_trigger_p50_ms"], row["stock_first_ms"], row["stock_triggers"]) == (
        3,
        100,
        3,
    )


def test_answers_must_be_the_same() -> None:
    unchanged.compare("star", ran([1], ["a", "b"]), ran([2], ["a", "b"]))
    for wrong in (["a"], ["a", "c"], []):
        with pytest.raises(BenchError, match="star"):
            unchanged.compare("star", ran([1], ["a", "b"]), ran([2], wrong))


def test_real_time_answers_are_compared_as_far_as_both_came() -> None:
    texts = [f"{sensor_of(n, unchanged.REAL_TIME_ROWS)} s{n}" for n in range(12)]
    stock = {"given": 12, "answers": texts}
    unchanged.compare("real_time", stock, {"given": 9, "answers": texts[:8][::-1]})
    with pytest.raises(BenchError, match="real_time"):
        unchanged.compare("real_time", stock, {"given": 9, "answers": texts[1:8]})


def test_each_job_has_its_tables() -> None:
    assert set(unchanged.TABLES_OF) == {*JOBS, "real_time"}
    assert (
        {t for tables in unchanged.TABLES_OF.values() for t in tables} == set(TABLES) == set(ROWS)
    )


@pytest.mark.slow
def test_a_job_runs_both_ways() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    unchanged.add_arguments(parser)
    report = unchanged.run(parser.parse_args(["--quick", "--seconds", "4"]))
    assert report.rows[0]["triggers"] > 0 and report.rows[0]["stock_triggers"] > 0
