"""CityBench Q1 to Q11 and SRBench Q1 to Q17 in RSP-QL, over data in their shapes: `cqels check` finds all right.

The questions are the benchmarks'; their query texts are in syntaxes of other engines, and are written anew here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.benchmark_queries.city import city
from tests.sparkext.benchmark_queries.recorded_world import rows_checked, texts_of
from tests.sparkext.benchmark_queries.weather import weather

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CITYBENCH, SRBENCH = texts_of("citybench"), texts_of("srbench")
SOME = ("q3", "q7", "q11")


def test_all_queries_are_there() -> None:
    assert list(CITYBENCH) == [f"q{n}" for n in range(1, 12)]
    assert list(SRBENCH) == [f"q{n}" for n in range(1, 18)]


def test_some_queries(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder, world, texts in (("city", city(9), CITYBENCH), ("weather", weather(7), SRBENCH)):
        (tmp_path / folder).mkdir()
        chosen = {name: texts[name] for name in SOME}
        answered = rows_checked(spark, world, chosen, tmp_path / folder, capsys)
        assert min(answered.values()) > 0, (folder, answered)


@pytest.mark.slow
def test_citybench(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered = rows_checked(spark, city(24), CITYBENCH, tmp_path, capsys)
    assert min(answered.values()) > 0, answered


@pytest.mark.slow
def test_srbench(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answered = rows_checked(spark, weather(27), SRBENCH, tmp_path, capsys)
    assert min(answered.values()) > 0, answered
