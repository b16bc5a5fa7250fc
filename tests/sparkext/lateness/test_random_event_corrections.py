"""Random event patterns over streams that come out of order answer, in their last revisions, as over sorted ones."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.sparkext.lateness.out_of_order import (
    Heard,
    check_seeds,
    delivered,
    described,
    heard_out_of_order,
    random_delivery,
    sorted_answers,
)
from tests.sparkext.random_answers import Case, Worlds, what_differs
from tests.sparkext.random_continuous import DIALECTS
from tests.sparkext.random_events import STREAMS, Shape, random_event_query
from tests.sparkext.random_worlds import random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 5
CONSUMING = ("CHRONOLOGICAL", "RECENT")


def check_seed(worlds: Worlds, seed: int, beyond: bool) -> tuple[Counter[str], list[str]]:
    random = Random(seed)
    dialect = DIALECTS[seed % len(DIALECTS)]
    streams = {
        name: random_stream(random, name, size)
        for name, size in zip(STREAMS, (24, 20, 16), strict=True)
    }
    how = random_delivery(random, STREAMS, beyond)
    pushes, taken = delivered(random, streams, how)
    shapes = (Shape(dialect), Shape(dialect, plain=False), Shape(dialect, words=CONSUMING))
    made = []
    for _ in range(40):
        if len(made) == QUERIES:
            break
        text, query = random_event_query(random, random.choice(shapes))
        case = Case(seed, dialect, text, query, streams)
        expected = sorted_answers(case, taken, worlds)
        if expected is None:
            continue
        if len({answer.rows for answer in expected.values()}) > 1:
            made.append((case, expected))
    results = heard_out_of_order(worlds.engine(dialect), [case for case, _ in made], pushes, how)
    seen: Counter[str] = Counter()
    wrong = []
    for (case, expected), heard in zip(made, results, strict=True):
        if not isinstance(heard, Heard | str):
            continue  # refused for another reason
        words = heard
        if isinstance(heard, Heard):
            seen["queries"] += 1
            seen["consuming"] += any(word in case.text for word in CONSUMING)
            seen["revisions"] += sum(heard.revisions.values())
            words = "\n".join(heard.wrong) or what_differs(expected, heard.answers)
        if words:
            wrong.append(f"{described(case, pushes, how)}\n{words}")
    return seen, wrong


def check_all(
    spark: SparkSession, folder: Path, seeds: Sequence[int], beyond: bool
) -> Counter[str]:
    seen = check_seeds(spark, folder, seeds, partial(check_seed, beyond=beyond))
    assert seen["consuming"] > 0
    return seen


# One seed can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(spark: SparkSession, tmp_path: Path) -> None:
    assert ONE is not None
    check_all(spark, tmp_path, [int(seed) for seed in ONE.split(",")], False)


def test_10_random_event_patterns(spark: SparkSession, tmp_path: Path) -> None:
    check_all(spark, tmp_path, range(3), beyond=False)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_500_random_event_patterns(spark: SparkSession, tmp_path: Path, part: int) -> None:
    seeds = range(1_000 + part * 17, 1_017 + part * 17)
    check_all(spark, tmp_path, seeds, beyond=part % 2 == 1)
