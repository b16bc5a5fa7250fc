"""Benches run one after the other, each in a process of its own: what came of it, also where one fails or is ended."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report.results import progress

ROOT = Path(__file__).resolve().parents[2]
_TOLD_EVERY_S = 30.0
_TO_END_S = 10.0
_LAST_LINES = 12


@dataclass(frozen=True)
class Step:
    """One run of a bench; `options` are given in whole runs only, `always` in all; `name` where a bench runs twice.

    One that is not `quick` is left out of quick runs.
    """

    bench: str
    options: tuple[str, ...] = ()
    name: str = ""
    quick: bool = True
    always: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What it is called, also as a file."""
        return self.name or self.bench

    def arguments(self, quick: bool) -> list[str]:
        """What follows `python -m bench`."""
        return [self.bench, *(["--quick"] if quick else self.options), *self.always]

    def command(self, quick: bool) -> str:
        """The command, to be repeated."""
        return f"python -m bench {shlex.join(self.arguments(quick))} --json FILE"


@dataclass
class Outcome:
    """What came of a step: `state` is 'done', 'failed', 'ended', 'interrupted' or 'not run', `said` its last lines."""

    step: Step
    state: str = "not run"
    seconds: float = 0.0
    result: dict[str, Any] | None = None
    said: list[str] = field(default_factory=list)
    drawn: dict[int, str] = field(default_factory=dict)
    """What has been drawn of its rows, by the identity of the figure."""

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of its result."""
        return list(self.result["rows"]) if self.result else []

    @property
    def summary(self) -> dict[str, Any]:
        """The summary of its result."""
        return dict(self.result["summary"]) if self.result else {}


def run_step(step: Step, quick: bool, folder: Path, limit_s: float) -> Outcome:
    """Runs a step, and ends it after `limit_s`; its result and all it says are files of the folder.

    A KeyboardInterrupt ends it, too, and is the outcome 'interrupted'.
    """
    result, log = files_of(step, folder)
    forget(step, folder)
    outcome = Outcome(step)
    command = [sys.executable, "-m", "bench", *step.arguments(quick), "--json", str(result)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    began = time.monotonic()
    process = None
    try:
        with log.open("w", encoding="utf-8") as said:
            # A group of its own: what the bench has started ends with it.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,
            )
        outcome.state = _wait(process, step.title, log, began, limit_s)
    except KeyboardInterrupt:
        outcome.state = "interrupted"
    finally:
        outcome.said = _last_lines(log, _LAST_LINES)  # not what it says of its being ended
        if process is not None:
            _end(process)
    outcome.seconds = round(time.monotonic() - began, 1)
    left = {
        "arguments": step.arguments(quick),
        "state": outcome.state,
        "seconds": outcome.seconds,
        "said": outcome.said,
    }
    _left(step, folder).write_text(json.dumps(left, indent=2) + "\n", encoding="utf-8")
    return _read(outcome, folder)


def forget(step: Step, folder: Path) -> None:
    """Takes away what an earlier run of a step has left: whatever ends this one, it is not taken for its own."""
    for left in (files_of(step, folder)[0], _left(step, folder)):
        left.unlink(missing_ok=True)


def earlier(step: Step, quick: bool, folder: Path) -> Outcome:
    """What an earlier run of a step, with the same options, has left in the folder."""
    try:
        left = json.loads(_left(step, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return Outcome(step)
    if not isinstance(left, dict) or left.get("arguments") != step.arguments(quick):
        return Outcome(step)
    return _read(Outcome(step, left["state"], left["seconds"], said=left["said"]), folder)


def _left(step: Step, folder: Path) -> Path:
    return folder / f"{step.title}.state"


def files_of(step: Step, folder: Path) -> tuple[Path, Path]:
    """Where the result of a step lies, and where all that it says."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{step.title}.json", folder / f"{step.title}.log"


def _wait(
    process: subprocess.Popen[bytes], name: str, log: Path, began: float, limit_s: float
) -> str:
    while True:
        try:
            return (
                "failed"
                if process.wait(max(0.01, min(_TOLD_EVERY_S, limit_s - (time.monotonic() - began))))
                else "done"
            )
        except subprocess.TimeoutExpired:
            spent = time.monotonic() - began
            if spent >= limit_s:
                return "ended"
            last = _last_lines(log, 1)
            progress(f"    {name}, {spent:.0f} s: {last[0] if last else 'no word yet'}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a bench and what it has started, politely first; Ctrl-C does not end this."""
    try:
        _end_all(process)
    except KeyboardInterrupt:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _end_all(process: subprocess.Popen[bytes]) -> None:
    for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TO_END_S)
    with contextlib.suppress(ProcessLookupError):  # what it has left behind
        os.killpg(process.pid, signal.SIGKILL)


def _read(outcome: Outcome, folder: Path) -> Outcome:
    result, _ = files_of(outcome.step, folder)
    with contextlib.suppress(OSError, ValueError):
        outcome.result = json.loads(result.read_text(encoding="utf-8"))
    return outcome


def _last_lines(log: Path, count: int) -> list[str]:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return [line.rstrip() for line in text.splitlines() if line.strip()][-count:]
