"""The three implementations of Figure 5: their ratios, and that they answer the same."""

from __future__ import annotations

import argparse

import pytest

from bench import cqels
from bench.cqels import figure_5
from bench.peers.rounds import Measured


def test_ratios_of_the_three_implementations() -> None:
    row = {"query": "q2", "rate": 1000, "p50_ms": 5.0}
    measured = {**row, "preprocessing_p50_ms": 10.0, "systemx_p50_ms": 100.0}
    missing = {**row, "query": "q3", "preprocessing_p50_ms": None, "systemx_p50_ms": 100.0}
    assert figure_5([measured, missing]) == {
        "q2@1000": {"preprocessing_gain": 10.0, "optimizer_gain": 2.0, "both_to_systemx": 0.05}
    }


def test_the_optimizers_share_is_over_the_rest_of_all_evaluations_together() -> None:
    assert Measured(ms=[11.0, 30.0], optimizer_ms=[1.0, 0.0]).optimizer_share() == 0.025
    assert Measured().optimizer_share() is None


@pytest.mark.slow
def test_the_three_agree() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    cqels.add_arguments(parser)
    size = "--scale 0.003 --rate 40 --evaluations 2 --warm-ups 1"
    peers = "cqels,preprocessing,systemx,duckdb"
    report = cqels.run(parser.parse_args([*size.split(), "--peers", peers]))
    for row in report.rows:
        assert row["systemx_p50_ms"] > 0 and row["preprocessing_p50_ms"] > 0, report.summary
        assert 0 <= row["optimizer_share"] < 1
    assert len(report.summary["figure_5"]) == 4
    assert report.summary["figure_5_reported"]["q3"]["both_to_systemx"] == 0.06
