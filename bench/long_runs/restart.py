"""From the start of Spark to the first answer, in a process that goes on where one was killed with full windows.

A process fills a window of half an hour with elements (a million; quick 20,000), each a sighting with an IRI of its own
in one of 100 rooms, commits, and is killed. The next one is measured, as the median of --runs: `session_s` until there
is a Spark session, then, from there, `engine_s` until the engine has read its checkpoint, `registered_s` until static
data are loaded, streams and queries registered, and `answer_s` until the first element has been pushed and both queries
have answered, as they do every ten seconds: a join with static data with ISTREAM, and a count by room. Their answers
are compared with what the elements say.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

import sparkext
from bench.report import BenchError, Report, progress
from bench.ways import SETTINGS
from static_data.terms import Iri

NAME = "restart"
COLUMNS = ("elements", "session_s", "engine_s", "registered_s", "answer_s", "checkpoint_mib")
E = "http://example.org/"
STREAM = f"{E}sightings"
PEOPLE, ROOMS = 20_000, 100
_WIDTH = 1_800_000
_BEGIN = 10 * _WIDTH
STATIC = "".join(f"<{E}room/{n}> <{E}floor> <{E}floor/{n % 7}> .\n" for n in range(ROOMS))
NEW = f"""PREFIX : <{E}> REGISTER ISTREAM :new AS SELECT ?sighting ?floor
    FROM NAMED WINDOW :w ON :sightings [RANGE PT30M STEP PT10S]
    WHERE {{ WINDOW :w {{ ?sighting :in ?room }} ?room :floor ?floor }}"""
COUNT = f"""PREFIX : <{E}> REGISTER RSTREAM :count AS SELECT ?room (COUNT(*) AS ?n)
    FROM NAMED WINDOW :w ON :sightings [RANGE PT30M STEP PT10S]
    WHERE {{ WINDOW :w {{ ?sighting :in ?room }} }} GROUP BY ?room"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this bench beside --quick and --json."""
    parser.add_argument("--elements", type=int, help="in the window (default 1000000; quick 20000)")
    parser.add_argument("--runs", type=int, help="restarts (default 3; quick 1)")


def run(args: argparse.Namespace) -> Report:
    """Runs the bench."""
    elements = args.elements or (20_000 if args.quick else 1_000_000)
    with tempfile.TemporaryDirectory(prefix="bench-restart-") as name:
        folder = Path(name)
        (folder / "static.nt").write_text(STATIC, encoding="utf-8")
        progress(f"a window of {elements:,} elements")
        _child("fill", folder, elements)
        size = sum(file.stat().st_size for file in (folder / "checkpoint").iterdir())
        told = []
        for number in range(args.runs or (1 if args.quick else 3)):
            progress(f"restart {number + 1}")
            again = folder / f"again-{number}"  # a process that goes on makes commits of its own
            again.mkdir()
            shutil.copy(folder / "static.nt", again)
            shutil.copytree(folder / "checkpoint", again / "checkpoint")
            told.append(_child("go-on", again, elements))
    row: dict[str, Any] = {"elements": elements}
    for key in told[0]:
        row[key] = round(statistics.median(one[key] for one in told), 2)
    return Report(NAME, [{**row, "checkpoint_mib": round(size / (1 << 20), 1)}])


def _child(what: str, folder: Path, elements: int) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.long_runs.restart", what, str(folder), str(elements)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    last = (done.stdout.strip().splitlines() or [""])[-1]
    if not last.startswith("{"):
        raise BenchError(f"{what} ended with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, float] = json.loads(last)
    return found


def _rows(elements: int) -> pa.Table:
    numbers = np.arange(elements)
    subjects = [f"{E}sighting/{n}" for n in numbers]
    rooms = [f"<{E}room/{n}>" for n in numbers * 7919 % ROOMS]
    return pa.table(
        {"subject": subjects, "object": rooms, "time": _BEGIN + 1 + numbers * _WIDTH // elements}
    )


def _main(what: str, folder: Path, elements: int) -> None:
    """A process: it fills the window, and is killed; or goes on, and tells how long what took."""
    builder = sparkext.configure(SparkSession.builder)
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    began = time.perf_counter()
    spark = builder.getOrCreate()
    marks = [time.perf_counter()]
    engine = sparkext.Engine(spark, checkpoint=folder / "checkpoint")
    marks.append(time.perf_counter())
    engine.load_static(folder / "static.nt", progress=False)
    stream = engine.register_stream(STREAM)
    told: dict[str, Any] = {}
    for text in (NEW, COUNT):
        engine.register_query(text).subscribe(lambda answers: told.update({answers.query: answers}))
    marks.append(time.perf_counter())
    if what == "fill":
        table = _rows(elements)
        step = max(1, elements // 50)
        for first in range(0, elements, step):
            stream.push_table(table.slice(first, step), predicate=Iri(f"{E}in"), position=first)
            stream.advance_to(table["time"][min(first + step, elements) - 1].as_py())
        engine.commit()
        sys.stdout.write("{}\n")
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    # All that was there is there still.
    one = (f"<{E}sighting/new>", f"<{E}in>", f"<{E}room/0>")
    stream.push(one, _BEGIN + _WIDTH)
    stream.advance_to(_BEGIN + _WIDTH)
    marks.append(time.perf_counter())
    counted = sum(int(row[1].split('"')[1]) for row in told[f"{E}count"].rows())
    rows = _rows(elements)["time"].to_numpy()
    fresh = int((rows > _BEGIN + _WIDTH - 10_000).sum()) + 1
    if counted != elements + 1 or len(told[f"{E}new"]) != fresh:
        raise BenchError(f"{counted} elements, {len(told[f'{E}new'])} new ones")
    session = {"session_s": marks[0] - began}
    names = ("engine_s", "registered_s", "answer_s")
    later = {name: mark - marks[0] for name, mark in zip(names, marks[1:], strict=True)}
    sys.stdout.write(json.dumps({**session, **later}) + "\n")
    sys.stdout.flush()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
