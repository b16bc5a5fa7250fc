"""The same answers where executors are processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sparkext.execution.cluster_scripts import run_on_cluster

SCRIPT = "tests.sparkext.execution.on_cluster"


@pytest.mark.cluster
def test_one_query_on_a_cluster(tmp_path: Path) -> None:
    run_on_cluster(SCRIPT, tmp_path, "Q2", "0")


@pytest.mark.cluster
@pytest.mark.slow
def test_all_queries_and_random_ones_on_a_cluster(tmp_path: Path) -> None:
    run_on_cluster(SCRIPT, tmp_path, "all", "25")


MAPPED = "tests.sparkext.execution.mapped_on_cluster"
SERIALIZERS = "org.apache.spark.serializer"


@pytest.mark.cluster
@pytest.mark.parametrize("serializer", ["JavaSerializer", "KryoSerializer"])
def test_tables_in_index_files_while_executors_are_killed(tmp_path: Path, serializer: str) -> None:
    run_on_cluster(MAPPED, tmp_path, "0", f"{SERIALIZERS}.{serializer}")


@pytest.mark.cluster
@pytest.mark.slow
def test_executors_hold_large_tables_once(tmp_path: Path) -> None:
    run_on_cluster(MAPPED, tmp_path, "700000", f"{SERIALIZERS}.JavaSerializer")
