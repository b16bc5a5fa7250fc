"""The tests that run on older versions of Spark too, and their environments: ``python -m tests.versions [--all]``.

A version has an environment in a folder of this one, such as ``.venv/spark-4.1``, made on first use, with another
PySpark and otherwise all that is in this environment. The versions run side by side. Where an environment cannot be
made, for want of a package index, say, its tests are skipped, and the reason is told.
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

QUICK = (
    "tests/sparkext/sql/test_join_rule.py::test_joins_are_reordered",
    "tests/sparkext/sql/test_live_subqueries.py::test_joins_of_a_subquery_follow_the_data",
    "tests/sparkext/sql/test_prepared_sql.py::test_static_parts_are_read_once_for_all_queries",
    "tests/sparkext/sql/test_prepared_sql.py::test_explanation",
    "tests/sparkext/sql/test_prepared_sql.py::test_the_clock_is_read_at_each_run",
    "tests/sparkext/sql/test_row_joins.py::test_rows_that_leave_are_joined_no_more",
    "tests/sparkext/streams/test_real_time.py",
    "tests/sparkext/kept_sides/test_join_order.py",
    "tests/sparkext/kept_sides/test_rows_of_programs.py",
    "tests/sparkext/queries/test_query_forms.py",
    "tests/sparkext/events/test_examples_of_the_conclusion.py",
    "tests/sparkext/mapped/test_mapped_streams.py",
    "tests/sparkext/graph_changes/test_example_10.py",
    "tests/sparkext/uncertainty/test_functions.py::test_a_distribution_and_a_number",
    "tests/sparkext/runtime/test_user_functions.py::test_calls_in_filters_and_binds",
    "tests/sparkext/execution/test_executed_operators.py",
    "tests/sparkext/engine_room/test_driver_execution.py::test_the_time_zone_is_the_session_s",
    "tests/static_data/test_load.py::test_every_format_and_packing_gives_the_same_quads",
)
"""One test or a few of each thing that rests on Spark: about a minute for a version, run by `make test`."""

ALL = (
    "tests/sparkext/sql",
    "tests/sparkext/kept_sides",
    "tests/sparkext/streams",
    "tests/sparkext/sources/test_frames.py",
    "tests/sparkext/sources/test_feeds.py",
    "tests/sparkext/sinks/test_file_sinks.py",
    "tests/sparkext/engine_room",
    "tests/sparkext/execution",
    "tests/sparkext/session",
    "tests/sparkext/queries",
    "tests/sparkext/answers",
    "tests/sparkext/mapped",
    "tests/sparkext/graph_changes",
    "tests/sparkext/rdflib_view",
    "tests/sparkext/uncertainty/test_functions.py",
    "tests/sparkext/uncertainty/test_cache_and_lazy_variables.py",
    "tests/sparkext/uncertainty/test_placement.py",
    "tests/sparkext/events/test_event_operators.py",
    "tests/sparkext/events/test_running_matches.py",
    "tests/sparkext/events/test_examples_of_the_conclusion.py",
    "tests/sparkext/paper_examples/test_rspql_star_examples.py",
    "tests/sparkext/paper_examples/test_dialect_queries.py",
    "tests/sparkext/r2r/test_operators.py",
    "tests/sparkext/r2r/test_functions_in_queries.py",
    "tests/sparkext/runtime",
    "tests/sparkext/command_line/test_cli.py",
    "tests/static_data/test_load.py",
    "tests/static_data/test_cluster.py",
    "tests/static_data/test_rdf_formats.py",
    "tests/static_data/test_table_files.py",
    "tests/static_data/test_store.py",
)
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
        pip = (
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(python),
            "install",
            "--quiet",
            "--no-compile",
        )
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
        env=_variables(python),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(version, ran.returncode, ran.stdout)


def _variables(python: Path) -> dict[str, str]:
    given = os.environ.get("PYTHONPATH")
    # This project is installed in this environment only.
    path = os.pathsep.join([str(ROOT), *([given] if given else [])])
    # What is said of the pytest that runs this one is not for it.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "PYSPARK_PYTHON": str(python), "PYTHONPATH": path}


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
