"""The bench of memory by every way in: what comes in is counted, and memory is read while it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from bench.long_runs import intake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USUAL = ("push", "push_table, mapped", "streaming DataFrame", intake.REPLAY)


@pytest.mark.parametrize(
    "name",
    [
        name if name in USUAL else pytest.param(name, marks=pytest.mark.slow)
        for name in intake.NAMES
    ],
)
def test_memory_is_read_eight_times(spark: SparkSession, name: str) -> None:
    row = intake.measure(spark, name, elements=2_350, window=100)
    assert (row["way"], row["elements"]) == (name, 2_350)
    assert len(row["heap_mib"]) == len(row["java_mib"]) == len(row["terms"]) == 8
    assert all(size > 0 for size in row["heap_mib"] + row["python_mib"])
    # Terms leave with their windows; a replay reads ahead.
    assert max(row["terms"]) < (20_000 if name == intake.REPLAY else 1_000)


def test_a_lost_element_is_noticed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    take = intake.PushText.take
    monkeypatch.setattr(
        intake.PushText, "take", lambda self, given, until: take(self, given.slice(5_000), until)
    )
    with pytest.raises(intake.AnswersDifferError):
        intake.measure(spark, intake.PushText.name, elements=40_000, window=20_000)
