"""The engine room on a cluster of three processes, with each of Spark's serialisers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

from tests.conftest import ROOT
from tests.sparkext.engine_room.join.cluster_checks import CHECKS

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module", params=["Java", "Kryo"])
def told(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """What went wrong in each check, "" where nothing did."""
    folder = tmp_path_factory.mktemp("cluster")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.sparkext.engine_room.join.cluster_checks",
            request.param,
            folder,
        ],
        cwd=ROOT,
        # Executors are started from there; elsewhere another Spark may be named.
        env=os.environ | {"SPARK_HOME": str(Path(pyspark.__file__).parent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("check", CHECKS)
def test_on_a_cluster(told: dict[str, str], check: str) -> None:
    assert told[check] == "", told[check]
