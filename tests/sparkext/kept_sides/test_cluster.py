"""Kept static sides where executors are processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sparkext.execution.cluster_scripts import run_on_cluster


@pytest.mark.cluster
def test_kept_sides_on_a_cluster(tmp_path: Path) -> None:
    run_on_cluster("tests.sparkext.kept_sides.on_cluster", tmp_path)
