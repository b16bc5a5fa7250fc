"""Spark's own programs as people start them, with the two lines of configuration and nothing else."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sparkext import jar, toolchain
from sparkext.session import EXPLAIN_PROVIDER, EXTENSION

# Two of each sensor, one of which has no room.
READINGS = [[(s, s + n / 10) for s in range(n, n + 4)] for n in range(3)]
ROOMS = {s: f"r{s % 2}" for s in range(5)}
ANSWERS = sorted((s, v, ROOMS[s]) for batch in READINGS for s, v in batch if s in ROOMS)

EXTENDED = ["--jars", str(jar.locate()), "--conf", f"spark.sql.extensions={EXTENSION}"]
EXPLAINED = ["--conf", f"spark.sql.extendedExplainProviders={EXPLAIN_PROVIDER}"]
SMALL = [
    *("--master", "local[2]", "--conf", "spark.ui.enabled=false"),
    *("--conf", "spark.driver.bindAddress=127.0.0.1", "--conf", "spark.driver.host=127.0.0.1"),
]


def write_inputs(folder: Path) -> None:
    """The files of readings, and the sensors as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    (folder / "sensors").mkdir()
    sensors = pa.table({"sensor": pa.array(ROOMS.keys(), pa.int64()), "room": list(ROOMS.values())})
    pq.write_table(sensors, folder / "sensors" / "part.parquet")
    (folder / "readings").mkdir()
    for number, batch in enumerate(READINGS):
        lines = [json.dumps({"sensor": s, "value": v}) for s, v in batch]
        (folder / "readings" / f"{number}.json").write_text("\n".join(lines))


def program(name: str) -> str:
    """One of the programs in PySpark's folder `bin`."""
    return str(toolchain.pyspark_folder() / "bin" / name)


def environment(**more: str) -> dict[str, str]:
    """That of a process in which Python finds nothing of this project."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", **more}


def run(command: list[str], folder: Path, given: str | None = None) -> str:
    """What a command prints that is given a text as its input, in a folder of its own."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        input=given or "",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def free_port() -> int:
    """A port of this machine that nothing listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def serving(command: list[str], folder: Path, ready: str) -> Iterator[None]:
    """A server that runs until the end, from when its log has the line that it is ready."""
    log = folder / "server.log"
    with log.open("w") as out:
        server = subprocess.Popen(
            command, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + 240
        while ready not in log.read_text():
            assert server.poll() is None, log.read_text()[-4000:]
            assert time.monotonic() < deadline, log.read_text()[-4000:]
            time.sleep(0.2)
        yield
    finally:
        server.terminate()
        server.wait(60)
