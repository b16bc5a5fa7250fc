"""Runs a program to its end, killing it again and again, and reads what it told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent

Told = dict[tuple[str, int, int], tuple[int, tuple[str, ...]]]
"""Sequence number and rows by query, instant and revision."""


def start(module: str, folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a program, in a process group of its own so that its Java ends with it."""
    (folder / "ready").unlink(missing_ok=True)
    log = (folder / "log.txt").open("ab")
    return subprocess.Popen(
        [sys.executable, "-m", module, str(folder), *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """End a program and its Java at once."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def run_whole(module: str, folder: Path, *arguments: str) -> Told:
    """What a program tells that is left alone."""
    folder.mkdir(parents=True)
    process = start(module, folder, *arguments)
    assert process.wait(1500) == 0, (folder / "log.txt").read_text()[-3000:]
    assert (folder / "done").exists()
    return told(folder)


def run_killed(module: str, folder: Path, kills: int, seed: int, *arguments: str) -> int:
    """Run a program, killing it so many times after it has begun, then to its end; how many kills there were."""
    folder.mkdir(parents=True)
    random = Random(seed)
    done = 0
    while not (folder / "done").exists():
        process = start(module, folder, *arguments)
        try:
            while not (folder / "ready").exists():
                assert process.poll() is None, (folder / "log.txt").read_text()[-3000:]
                time.sleep(0.02)
            if done < kills:
                time.sleep(random.expovariate(1.5))
            else:
                assert process.wait(1500) == 0, (folder / "log.txt").read_text()[-3000:]
        finally:
            if process.poll() is None:
                kill(process)
                done += 1
    return done


def told(folder: Path) -> Told:
    """What was told, each query, instant and revision once; what is told again must be the same."""
    answers: Told = {}
    for line in (folder / "answers.jsonl").read_text().splitlines():
        try:
            one: dict[str, Any] = json.loads(line)
        except ValueError:
            continue  # killed while it was written
        if "query" not in one:  # as `cqels run` writes them
            continue
        key = (one["query"], one["time"], one.get("revision", 0))
        answer = (one["sequence"], tuple(one["rows"]))
        assert answers.setdefault(key, answer) == answer, f"{key} is told again, and otherwise"
    return answers
