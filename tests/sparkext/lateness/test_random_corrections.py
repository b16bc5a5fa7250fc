"""Random queries over streams that come out of order answer, in their last revisions, as over the sorted streams."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import UnsupportedFeatureError
from sparkext.language import parse_query
from sparkext.recorded_streams import StreamElement
from tests.sparkext.lateness.out_of_order import (
    Heard,
    check_seeds,
    delivered,
    described,
    heard_out_of_order,
    random_delivery,
    sorted_answers,
)
from tests.sparkext.queries.test_random_templates import versions
from tests.sparkext.random_answers import Case, Worlds, what_differs
from tests.sparkext.random_continuous import DIALECTS, STREAMS, random_query
from tests.sparkext.random_worlds import LATEST, random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = 5


def long_stream(random: Random, name: str, size: int, parts: int) -> list[StreamElement]:
    """So many random streams one after the other, so that windows leave much behind."""
    elements = random_stream(random, name, size)
    for part in range(1, parts):
        later = random_stream(random, f"{name}part{part}-", size)
        elements += [replace(e, time_ms=e.time_ms + part * (LATEST + 3)) for e in later]
    return elements


def check_seed(
    worlds: Worlds, seed: int, beyond: bool, shares: bool, parts: int
) -> tuple[Counter[str], list[str]]:
    random = Random(seed)
    dialect = DIALECTS[seed % len(DIALECTS)]
    if not shares:
        dialect = replace(dialect, settings={**dialect.settings, "sharing.enabled": "false"})
    streams = {
        name: random_stream(random, name, size)
        for name, size in zip(STREAMS, (20, 14), strict=True)
    }
    how = random_delivery(random, STREAMS, beyond)
    pushes, taken = delivered(random, streams, how)
    made = []
    while len(made) < QUERIES:
        text, _ = random_query(random, dialect)
        texts = [text]
        if random.random() < 0.3 and "CONSTRUCT" not in text:
            texts = list(versions(random, text))[:3] or texts
        for text in dict.fromkeys(texts):
            case = Case(seed, dialect, text, parse_query(text), streams)
            expected = sorted_answers(case, taken, worlds)
            if expected is None:
                continue
            finds = len({answer.rows for answer in expected.values()})
            if finds > 2 or random.random() < 0.1:
                made.append((case, expected))
    results = heard_out_of_order(worlds.engine(dialect), [case for case, _ in made], pushes, how)
    seen: Counter[str] = Counter()
    wrong = []
    for (case, expected), heard in zip(made, results, strict=True):
        seen["queries"] += 1
        if isinstance(heard, UnsupportedFeatureError):
            seen["refused"] += 1
            continue
        words = ""
        if isinstance(heard, Heard):
            seen["instants"] += len(expected)
            seen["again"] += heard.evaluations - len(heard.revisions)
            seen["revisions"] += sum(heard.revisions.values())
            seen["retracted"] += heard.retracted
            words = "\n".join(heard.wrong) or what_differs(expected, heard.answers)
        else:
            words = heard
        if words:
            wrong.append(f"{described(case, pushes, how)}\n{words}")
    return seen, wrong


def check_all(
    spark: SparkSession,
    folder: Path,
    seeds: Sequence[int],
    beyond: bool,
    shares: bool = True,
    parts: int = 1,
) -> Counter[str]:
    check = partial(check_seed, beyond=beyond, shares=shares, parts=parts)
    seen = check_seeds(spark, folder, seeds, check)
    assert seen["refused"] <= seen["queries"] / 10
    assert seen["again"] > seen["queries"], "nothing was evaluated again"
    return seen


# One seed can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(spark: SparkSession, tmp_path: Path) -> None:
    assert ONE is not None
    check_all(spark, tmp_path, [int(seed) for seed in ONE.split(",")], False)


def test_15_random_queries_within_the_lateness(spark: SparkSession, tmp_path: Path) -> None:
    check_all(spark, tmp_path, range(2, 5), beyond=False)


@pytest.mark.slow
def test_35_random_queries_beyond_the_lateness(spark: SparkSession, tmp_path: Path) -> None:
    check_all(spark, tmp_path, range(100, 107), beyond=True)


@pytest.mark.slow
def test_20_random_queries_that_share_nothing(spark: SparkSession, tmp_path: Path) -> None:
    check_all(spark, tmp_path, range(200, 204), beyond=True, shares=False)


@pytest.mark.slow
def test_10_random_queries_over_longer_streams(spark: SparkSession, tmp_path: Path) -> None:
    """What windows have left behind goes, but for what may be corrected."""
    check_all(spark, tmp_path, (300, 305), beyond=True, parts=4)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
def test_2000_random_queries(spark: SparkSession, tmp_path: Path, part: int) -> None:
    seeds = range(1_000 + part * 33, 1_033 + part * 33)
    check_all(
        spark, tmp_path, seeds, beyond=part % 2 == 1, shares=part % 3 != 2, parts=1 + part % 4
    )
