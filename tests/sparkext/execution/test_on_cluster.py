"""The same answers where executors are processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def run_on_cluster(folder: Path, *arguments: str) -> None:
    """Run the script on a cluster that keeps its files below `folder`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SPARK_WORKER_DIR": str(folder / "workers"),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.sparkext.execution.on_cluster", str(folder), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.endswith("all answers are right\n")


@pytest.mark.cluster
def test_one_query_on_a_cluster(tmp_path: Path) -> None:
    run_on_cluster(tmp_path, "Q2", "0")


@pytest.mark.cluster
@pytest.mark.slow
def test_all_queries_and_random_ones_on_a_cluster(tmp_path: Path) -> None:
    run_on_cluster(tmp_path, "all", "25")
