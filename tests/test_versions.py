"""Which tests run on older versions of Spark: they are there, and the versions are those that the project names."""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
import pytest

from sparkext import toolchain
from tests import versions


@pytest.mark.parametrize("name", sorted({*versions.QUICK, *versions.ALL}))
def test_the_tests_are_there(name: str) -> None:
    path, _, test = name.partition("::")
    assert (versions.ROOT / path).exists()
    if test:
        assert f"def {test}(" in (versions.ROOT / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_what_rests_on_spark_passes_on_an_older_one(version: str) -> None:
    outcome = versions.run(version, versions.QUICK, versions.QUICK_MARKS)
    if outcome.code is None:
        pytest.skip(outcome.said)
    assert outcome.code == 0, outcome.said


def test_what_is_quick_is_part_of_all() -> None:
    left_out = [n for n in versions.QUICK if not any(n.startswith(part) for part in versions.ALL)]
    assert left_out == []


def test_the_versions_are_all_that_are_known() -> None:
    here = ".".join(pyspark.__version__.split(".")[:2])
    known = toolchain.SPARKS.replace(" or ", ", ").split(", ")
    assert sorted({*versions.VERSIONS, here}) == known


def test_an_environment_that_cannot_be_made_is_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    outcome = versions.run("9.9", versions.QUICK, versions.QUICK_MARKS)
    assert outcome.code is None
    assert "could not be made: ERROR" in outcome.said
    assert "pyspark==9.9" in outcome.said
    assert not (tmp_path / "spark-9.9" / "made").exists()
