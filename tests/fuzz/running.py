"""Cases run in a process of their own, which is watched: one that hangs or crashes is told, and the next goes on."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from tests.fuzz.outcomes import CRASH, HANG, Target, is_failure

SECONDS: Final = 60.0
"""How long a call, of a target's `batch` of cases, may take."""

_EVERY: Final = 200
_START_SECONDS: Final = 300.0


@dataclass
class Found:
    """What came of a target's cases: how many of each outcome, and the cases that showed a defect."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)


def case_of(target: Target, seed: int, number: int) -> bytes:
    """The case of a number: the same whoever asks."""
    return target.case(Random(f"{target.name} {seed} {number}"))


def run_here(
    target: Target, seed: int, first: int, until: int, skip: Sequence[int] = (), note: Any = None
) -> Found:
    """Run cases in this process; `note` is told the number of each call's first case before it is made."""
    found = Found()
    for begin in range(first, until, target.batch):
        numbers = [n for n in range(begin, min(begin + target.batch, until)) if n not in skip]
        if note is not None:
            note(begin, found)
        told = target.run([case_of(target, seed, n) for n in numbers])
        for number, one in zip(numbers, told, strict=True):
            found.counts[one.split(":")[0]] += 1
            if is_failure(one):
                found.failures.append((number, one))
    return found


def run_watched(name: str, seed: int, cases: int) -> Found:
    """Run cases of a target in another process, begun again behind each case that it did not survive."""
    found = Found()
    skip: list[int] = []
    with TemporaryDirectory(prefix="cqels-fuzz-") as folder:
        place, report = Path(folder) / "place", Path(folder) / "report"
        done = 0
        while done < cases:
            place.write_bytes(b"\0" * 8)
            report.write_text("", encoding="utf-8")
            asked = json.dumps([name, seed, done, cases, skip, str(place), str(report)])
            child = subprocess.Popen([sys.executable, "-m", "tests.fuzz.child", asked])
            hung = not _watched(child, place)
            lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
            for line in lines:
                found.counts.update(line["counts"])
                found.failures += [(number, told) for number, told in line["failures"]]
                done = line["done"]
            if done == cases or (child.returncode == 0 and not hung):
                break  # whatever its end was like, all cases have been told of
            number = int.from_bytes(place.read_bytes()[:8], "little") - 1
            if number < 0:
                raise RuntimeError(f"{name}: could not be started (status {child.returncode})")
            what = HANG if hung else CRASH
            found.counts[what] += 1
            found.failures.append(
                (number, f"{what}: status {child.returncode}, or in the calls after")
            )
            skip.append(number)
    return found


def _watched(child: subprocess.Popen[bytes], place: Path) -> bool:
    """Wait for the end of a process; False when it made no step for too long, and was ended."""
    last, since = b"", time.monotonic()
    while child.poll() is None:
        time.sleep(0.2)
        now = place.read_bytes()
        if now != last:
            last, since = now, time.monotonic()
        started = now != b"\0" * 8
        if time.monotonic() - since > (SECONDS if started else _START_SECONDS):
            child.kill()
            child.wait()
            return False
    return True


class Reporter:
    """Notes the case that is run next where a crash leaves it, and what came of those before."""

    def __init__(self, place: str, report: str) -> None:
        file = os.open(place, os.O_RDWR)
        self._place = mmap.mmap(file, 8)
        self._report = Path(report)
        self._told = 0
        self._failed = 0
        self._counts: Counter[str] = Counter()
        self._calls = 0

    def note(self, number: int, found: Found) -> None:
        """A call for cases from a number on begins."""
        self._calls += 1
        if self._calls % _EVERY == 0:
            self.tell(number, found)
        self._place[:] = (number + 1).to_bytes(8, "little")

    def tell(self, done: int, found: Found) -> None:
        """Write what came of the cases before a number."""
        new = found.counts - self._counts
        self._counts = Counter(found.counts)
        failures = found.failures[self._failed :]
        self._failed = len(found.failures)
        with self._report.open("a", encoding="utf-8") as out:
            out.write(json.dumps({"done": done, "counts": new, "failures": failures}) + "\n")
