"""Spark Connect: the extension stands at the server, and the streaming jobs of clients keep their static sides."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from sparkext.session import EXTENSION
from tests.conftest import ROOT
from tests.sparkext.unchanged.setting_up import (
    ANSWERS,
    EXPLAINED,
    EXTENDED,
    SMALL,
    environment,
    free_port,
    program,
    serving,
    write_inputs,
)

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")
CALLS_THAT_NEED_A_CLASSIC_SESSION = 4


def is_there(module: str) -> bool:
    """Whether a module can be imported; its parent may be missing, too."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.slow
def test_a_clients_job_keeps_its_static_side(tmp_path: Path) -> None:
    missing = [module for module in NEEDED if not is_there(module)]
    if missing:
        pytest.skip(f"pyspark[connect] is not installed: {', '.join(missing)}")
    write_inputs(tmp_path)
    port = free_port()
    server = [
        *(program("spark-submit"), *SMALL, *EXTENDED, *EXPLAINED),
        *("--conf", f"spark.connect.grpc.binding.port={port}"),
        *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
    ]
    client = [sys.executable, "-m", "tests.sparkext.unchanged.connect_job", str(port)]
    with serving(server, tmp_path, "Spark Connect server started at"):
        done = subprocess.run(
            [*client, str(tmp_path)],
            cwd=ROOT,
            env={**environment(), "PYTHONPATH": ":".join(p for p in [str(ROOT), *sys.path] if p)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    said = next(x for x in done.stdout.splitlines() if x.startswith("FOUND "))
    found = json.loads(said.removeprefix("FOUND "))
    assert [tuple(row) for row in found["rows"]] == ANSWERS
    assert "KeptStaticSide parquet sensors" in found["plan"]
    assert "parquet sensors: kept, rows 5" in found["plan"]
    assert len(found["said"]) == CALLS_THAT_NEED_A_CLASSIC_SESSION
    for message in found["said"]:
        assert "needs a classic session" in message
        assert f"--conf spark.sql.extensions={EXTENSION}" in message
