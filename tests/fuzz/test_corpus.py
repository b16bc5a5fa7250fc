"""What once failed does not fail any more; and some new cases of each target, the same in each run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.outcomes import ANSWER, is_failure
from tests.fuzz.running import case_of, run_here, run_watched
from tests.fuzz.targets import JVM, PYTHON, SHARES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CORPUS = Path(__file__).parent / "corpus"
FILES = sorted(path for path in CORPUS.rglob("*") if path.is_file())
"""A folder for each target; a file's name says what it showed."""

FEW = {"documents-trig": 60, "mappings": 100, "queries": 150, "damaged-queries": 150}


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parent.name in PYTHON], ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_what_once_failed(file: Path) -> None:
    (told,) = PYTHON[file.parent.name]().run([file.read_bytes()])
    assert not is_failure(told), told


@pytest.mark.parametrize(
    "file", [f for f in FILES if f.parent.name in JVM], ids=lambda f: f"{f.parent.name}/{f.name}"
)
def test_what_once_failed_in_the_jvm(spark: SparkSession, file: Path) -> None:
    (told,) = JVM[file.parent.name](spark).run([file.read_bytes()])
    assert not is_failure(told), told


@pytest.mark.parametrize("name", PYTHON)
def test_new_cases(name: str) -> None:
    found = run_here(PYTHON[name](), 1, 0, FEW.get(name, 400))
    assert not found.failures
    assert len(found.counts) > 1 or name == "documents-nq" or name == "documents-trig", (
        "all cases come to the same"
    )


@pytest.mark.parametrize("name", ["lines", "elements", "columns"])
def test_new_cases_in_the_jvm(spark: SparkSession, name: str) -> None:
    target = JVM[name](spark)
    found = run_here(target, 1, 0, 200)
    assert not found.failures
    assert found.counts[ANSWER]


def test_cases_are_the_same_for_whoever_asks() -> None:
    one, other = (PYTHON["files-ttl"]() for _ in range(2))
    assert [case_of(one, 3, n) for n in range(20)] == [case_of(other, 3, n) for n in range(20)]


def test_a_watched_process_tells_the_same() -> None:
    found = run_watched("settings", 1, 300)
    assert found.counts == run_here(PYTHON["settings"](), 1, 0, 300).counts


def test_every_target_gets_its_part() -> None:
    assert set(SHARES) == {*PYTHON, *JVM}
    assert sum(SHARES.values()) == pytest.approx(1, abs=0.01)
