"""Scripts of tests that start a cluster of several JVMs, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run_on_cluster(script: str, folder: Path, *arguments: str) -> None:
    """Runs a module that checks answers on a cluster, which keeps its files below `folder`."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "SPARK_WORKER_DIR": str(folder / "workers"),
        "PYSPARK_PYTHON": sys.executable,
    }
    done = subprocess.run(
        [sys.executable, "-m", script, str(folder), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.endswith("all answers are right\n")
