"""DuckDB and Esper at the events bench. Both take node numbers where the engine takes RDF terms as text."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa

from bench.event_chains.event_batches import Happened, Numbers
from bench.event_chains.event_engine import Answered, in_order
from bench.report import BenchError, progress
from sparkext.jar import cache_folder
from sparkext.toolchain import ToolchainError, require_java

ESPER = "8.9.0"
_SOURCE = Path(__file__).parent.parent / "peers" / "esper" / "EsperChains.java"
_PARTS = ("esper-common", "esper-compiler", "esper-runtime")
_POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>bench</groupId><artifactId>esper</artifactId><version>1</version><dependencies>{}</dependencies></project>
"""
_DEPENDENCY = (
    "<dependency><groupId>com.espertech</groupId>"
    f"<artifactId>{{}}</artifactId><version>{ESPER}</version></dependency>"
)


class PeerMissingError(BenchError):
    """A peer cannot be had here; its message says why."""


class DuckDbChains:
    """A table for each step, and for each batch a join of what arrived with the tables of the steps before.

    Its events are an Arrow table already when the clock starts.
    """

    name = "duckdb"

    def __init__(self, steps: int, filling: Iterable[Happened], static: pa.Table | None) -> None:
        try:
            import duckdb
        except ImportError:
            raise PeerMissingError(
                "duckdb is not installed: pip install 'spark-cqels[bench]'"
            ) from None
        self._steps = steps
        self._connection = duckdb.connect()
        self._connection.execute("SET threads = 2")
        for step in range(steps):
            self._connection.execute(f"CREATE TABLE e{step} (s BIGINT, o BIGINT, t BIGINT)")
        if static is not None:
            self._connection.execute("CREATE TABLE groups AS FROM static")
        self._sql = _join(steps, static is not None)
        for some in filling:
            self._insert(_arrow(some), steps - 1)

    def take(self, batch: Happened) -> Answered:
        """Insert a batch, and find the chains that it completes."""
        arriving = _arrow(batch)
        used, began = time.process_time(), time.perf_counter()
        self._insert(arriving, self._steps - 1)
        answers = self._connection.sql(self._sql).to_arrow_table()
        ms, cpu = time.perf_counter() - began, time.process_time() - used
        self._insert(arriving, self._steps, self._steps - 1)
        rows = np.column_stack([np.asarray(column) for column in answers.columns])
        return Answered(ms * 1e3, None, cpu * 1e3, in_order(rows))

    def _insert(self, arriving: pa.Table, until: int, first: int = 0) -> None:
        self._connection.register("arriving", arriving)
        for step in range(first, until):
            self._connection.execute(
                f"INSERT INTO e{step} SELECT s, o, t FROM arriving WHERE step = {step}"
            )

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def _join(steps: int, static: bool) -> str:
    last = steps - 1
    shown = ", ".join([*(f"e{step}.s" for step in range(steps)), f"e{last}.o"])
    tables = [f"e{step}" for step in range(last)]
    arrived = f"(SELECT s, o, t FROM arriving WHERE step = {last}) e{last}"
    conditions = [
        f"e{step}.o = e{step + 1}.s AND e{step}.t < e{step + 1}.t" for step in range(last)
    ]
    if static:
        shown += ", groups.o"
        tables.append("groups")
        conditions.append("groups.s = e0.s")
    return f"SELECT {shown} FROM {', '.join([*tables, arrived])} WHERE {' AND '.join(conditions)}"


def _arrow(some: Happened) -> pa.Table:
    return pa.table({"step": some.step, "s": some.source, "o": some.target, "t": some.time})


class EsperChains:
    """Esper's pattern `every a -> every b (-> every c)` in a process of its own; raises PeerMissingError without Esper.

    Its events are objects of its JVM already when the clock starts, and its matches stay there when it stops.
    """

    name = "esper"

    def __init__(self, steps: int, filling: Iterable[Happened], memory: str = "6g") -> None:
        jars = esper_jars()
        self._steps = steps
        self._folder = tempfile.TemporaryDirectory(prefix="bench-esper-")
        self._log = (Path(self._folder.name) / "log").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [
                str(require_java()),
                f"-Xmx{memory}",
                "-cp",
                f"{jars}/*",
                str(_SOURCE),
                str(steps),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        try:
            for some in filling:
                self.take(some)
        except BaseException:
            self.close()
            raise

    def take(self, batch: Happened) -> Answered:
        """Send a batch to Esper, event by event."""
        given, found = (Path(self._folder.name) / name for name in ("given", "found"))
        batch.rows().astype(">i8").tofile(given)
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(f"{given} {found}\n")
            self._process.stdin.flush()
            told = self._process.stdout.readline().split()
        except OSError:
            told = []
        if len(told) != 2:
            self._log.seek(0)
            raise BenchError(f"Esper ended: {self._log.read()[-2000:].strip()}")
        nanos, cpu = map(int, told)
        rows: Numbers = np.fromfile(found, ">i8").astype(np.int64).reshape(-1, self._steps + 1)
        return Answered(nanos / 1e6, None, cpu / 1e6, in_order(rows))

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self._log.close()
        self._folder.cleanup()


def esper_jars() -> Path:
    """The folder with Esper's jars and those that it needs, fetched by Maven into the user's cache the first time."""
    folder = cache_folder() / "bench" / f"esper-{ESPER}"
    if folder.exists():
        return folder
    try:
        java = require_java()
    except ToolchainError as error:
        raise PeerMissingError(str(error)) from error
    if shutil.which("javac", path=str(java.resolve().parent)) is None:
        raise PeerMissingError("compiling its program takes a JDK")
    maven = shutil.which("mvn")
    if maven is None:
        raise PeerMissingError("there is no mvn on PATH to fetch it with")
    progress("fetching Esper")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        pom = Path(scratch) / "pom.xml"
        pom.write_text(_POM.format("".join(map(_DEPENDENCY.format, _PARTS))), encoding="utf-8")
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        command += [f"-DoutputDirectory={scratch}/jars"]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise PeerMissingError(f"Maven cannot fetch it: {done.stdout.strip()[-300:]}")
        (Path(scratch) / "jars").rename(folder)
    return folder
