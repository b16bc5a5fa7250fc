"""The three implementations of Figure 5: their ratios, and that they answer the same."""

from __future__ import annotations

import argparse

import pytest

from bench import cqels as paper
from bench.__main__ import discover
from bench.arrivals.minutes import Measured
from bench.cqels import figure_5


def test_ratios_of_the_three_implementations() -> None:
    row = {"query": "q2", "rate": 1000, "p50_ms": 5.0}
    measured = {**row, "preprocessing_p50_ms": 10.0, "systemx_p50_ms": 100.0}
    missing = {**row, "query": "q3", "preprocessing_p50_ms": None, "systemx_p50_ms": 100.0}
    assert figure_5([measured, missing]) == {
        "q2@1000": {"preprocessing_gain": 10.0, "optimizer_gain": 2.0, "both_to_systemx": 0.05}
    }


def test_the_optimizers_share_is_over_the_rest_of_all_evaluations_together() -> None:
    measured = Measured()
    for evaluation, choosing in ((11.0, 1.0), (30.0, 0.0)):
        parts = {"evaluation_ms": evaluation, "upkeep_ms": 1.0, "decode_ms": 2.0}
        measured.note({"ms": 99.0, "answers": 1, "optimizer_ms": choosing, **parts})
    assert measured.optimizer_share() == 0.025
    assert Measured().optimizer_share() is None


@pytest.mark.slow
def test_the_three_agree() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    paper.add_arguments(parser)
    size = "--quick --scale 0.003 --rate 40 --seconds 2"
    report = paper.run(parser.parse_args(size.split()))
    assert [row["query"] for row in report.rows] == ["q1", "q2", "q3", "q4"]
    for row in report.rows:
        assert set(paper.COLUMNS) <= set(row)
        assert row["systemx_p50_ms"] > 0 and row["preprocessing_p50_ms"] > 0, report.summary
        assert 0 <= row["optimizer_share"] < 1
    assert len(report.summary["figure_5"]) == 4
    assert report.summary["figure_5_reported"]["q3"]["both_to_systemx"] == 0.06
    assert set(paper.SHOWN) <= set(report.summary)


def test_the_bench_is_discovered() -> None:
    assert discover()["cqels"] is paper
