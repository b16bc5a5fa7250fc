"""Delta and Iceberg in one session with us: the answers are those of a session without us."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import versions
from tests.sparkext.kept_sides.beside_format import FORMATS

Answers = dict[str, list[str]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Answers]:
    """The answers of a session of that format, with these extensions in this order, each computed once."""
    known: dict[tuple[str, str], Answers] = {}

    def of(name: str, order: str) -> Answers:
        if (name, order) not in known:
            known[name, order] = _run(name, order, tmp_path_factory.mktemp(f"{name}_{order}"))
        return known[name, order]

    return of


def _run(name: str, order: str, folder: Path) -> Answers:
    try:
        python = versions.environment(FORMATS[name].spark)
    except versions.CannotBeMadeError as error:
        pytest.skip(f"the environment with Spark {FORMATS[name].spark} could not be made: {error}")
    # Fetched once, beside the PySpark that they belong to.
    packages = python.parent.parent / "packages"
    script = "tests.sparkext.kept_sides.beside_format"
    done = subprocess.run(
        [str(python), "-m", script, name, order, str(folder), str(packages)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(versions.ROOT), "PYSPARK_PYTHON": str(python)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0 and "MavenUtils$.resolveMavenCoordinates" in done.stderr:
        pytest.skip(f"{FORMATS[name].package} cannot be had")
    assert done.returncode == 0, done.stderr[-6000:]
    found: Answers = json.loads(done.stdout)
    assert all(any(rows) for rows in found.values()), found
    return found


@pytest.mark.slow
@pytest.mark.parametrize("order", ["theirs", "ours"])
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_answers_beside_a_table_format(
    name: str, order: str, answers: Callable[[str, str], Answers]
) -> None:
    assert answers(name, order) == answers(name, "alone")
