"""The tests that run on older versions of Spark too, and their environments: ``python -m tests.versions [--all]``.

A version has an environment in a folder of this one, such as ``.venv/spark-4.1``, made on first use, in which PySpark is
another and all else that of this environment. The versions run side by side. Where an environment cannot be made, for
want of a package index, say, its tests are skipped, and the reason is told.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

VERSIONS = ("4.1", "4.2")
"""Those before the one of this environment."""

_SQL, _STREAMS = "tests/sparkext/sql/", "tests/sparkext/streams/"

QUICK = ()
"""One test or a few of each thing that rests on Spark: less than a minute for both versions, run by `make test`."""

ALL = ()
"""What `make test-all` runs: all that is of Spark SQL, streams and the JVM extension, and queries of every kind."""

QUICK_MARKS = "not slow and not cluster and not soak and not w3c"
ALL_MARKS = "not soak and not w3c"

ROOT = Path(__file__).resolve().parent.parent
_MADE = "made"


class CannotBeMadeError(Exception):
    """An environment could not be made."""


@dataclass(frozen=True)
class Outcome:
    """What became of the tests on one version: pytest's exit code, None where they were skipped, and what was said."""

    version: str
    code: int | None
    said: str


def environment(version: str) -> Path:
    """The Python of the environment with that PySpark, made unless it is there; raises CannotBeMadeError."""
    folder = Path(sys.prefix, f"spark-{version}")
    python = folder / "bin" / "python"
    if not (folder / _MADE).exists():
        _done(sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder))
        wanted = f"pyspark=={version}.*"
        pip = (sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet")
        _done(*pip, "--retries", "1", wanted)
        site = next(folder.glob("lib/python*/site-packages"))
        # Only now: pip would take what is installed here for installed there.
        paths = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
        (site / "beside.pth").write_text("".join(f"{path}\n" for path in sorted(paths)))
        (folder / _MADE).touch()
    return python


def _done(*command: str) -> None:
    ran = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        lines = (ran.stderr.strip() or ran.stdout.strip() or "no reason was given").splitlines()
        raise CannotBeMadeError(lines[-1])


def run(version: str, tests: Iterable[str], marks: str) -> Outcome:
    """The outcome of `tests`, files and names of pytest, with these marks on Spark `version`."""
    try:
        python = environment(version)
    except CannotBeMadeError as error:
        return Outcome(version, None, f"its environment could not be made: {error}")
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", marks, *tests],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": str(python)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(version, ran.returncode, ran.stdout)


def main(arguments: list[str] | None = None) -> int:
    """Run the tests on every version and say what became of them; 1 where one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.versions", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run more than one test of each thing")
    chosen = parser.parse_args(arguments)
    tests, marks = (ALL, ALL_MARKS) if chosen.all else (QUICK, QUICK_MARKS)
    with ThreadPoolExecutor(len(VERSIONS)) as threads:
        outcomes = list(threads.map(lambda version: run(version, tests, marks), VERSIONS))
    for outcome in outcomes:
        if outcome.code is None:
            sys.stdout.write(f"Spark {outcome.version}: skipped, {outcome.said}\n")
        else:
            sys.stdout.write(f"Spark {outcome.version}:\n{outcome.said.strip()}\n")
    return int(any(outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
