"""Random continuous queries over random streams, under every profile, answer as the oracle does at every instant."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import CheckError, UnsupportedFeatureError
from sparkext.oracle import Answer, StaticGraphs
from tests.sparkext.random_answers import (
    Case,
    Worlds,
    answered,
    right_answers,
    shrunk,
    what_differs,
)
from tests.sparkext.random_continuous import DIALECTS, STREAMS, random_query
from tests.sparkext.random_worlds import random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES_A_STREAM = 6


def cases_of(seed: int, static: StaticGraphs) -> Iterator[tuple[Case, dict[int, Answer]]]:
    """The queries of a seed with their right answers; what the oracle cannot judge is written anew."""
    random = Random(seed)
    dialect = DIALECTS[seed % len(DIALECTS)]
    streams = {
        name: random_stream(random, name, size) for name, size in zip(STREAMS, (9, 6), strict=True)
    }
    made = 0
    while made < QUERIES_A_STREAM:
        text, query = random_query(random, dialect)
        case = Case(seed, dialect, text, query, streams)
        try:
            answers = right_answers(case, static)
        except CheckError as error:
            if "the oracle does not know" in str(error):
                continue
            raise AssertionError(f"{error}\n{case.describe()}") from error
        finds = any(answer.rows or answer.boolean for answer in answers.values())
        if not finds and random.random() < 0.85:
            continue  # a query that never finds anything tells little
        made += 1
        yield case, answers


def check_seed(worlds: Worlds, seed: int) -> tuple[Counter[str], list[str]]:
    """What was checked, and the disagreements, of one seed's queries."""
    made = list(cases_of(seed, worlds.for_oracle))
    cases = [case for case, _ in made]
    batch = Random(seed).choice((1, 3, 20))
    results = answered(worlds.engine(cases[0].dialect), cases, batch)
    seen: Counter[str] = Counter()
    wrong = []
    for (case, expected), found in zip(made, results, strict=True):
        seen["queries"] += 1
        if isinstance(found, UnsupportedFeatureError):
            seen["refused"] += 1
            continue
        seen["instants"] += len(expected)
        seen["rows"] += sum(len(answer.rows) for answer in expected.values())
        if what_differs(expected, found):
            wrong.append(shrunk(worlds, case, batch))
    return seen, wrong


def check_seeds(spark: SparkSession, folder: Path, seeds: Sequence[int], static_seed: int) -> None:
    both = [Worlds(spark, folder, static_seed, in_files) for in_files in (False, True)]
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    try:
        for seed in seeds:
            more, found = check_seed(both[seed % 2], seed)
            seen += more
            wrong += found
    finally:
        for worlds in both:
            worlds.close()
    assert not wrong, f"{len(wrong)} of {seen['queries']} queries differ\n\n" + "\n\n".join(wrong)
    assert seen["refused"] <= seen["queries"] / 10, (
        "too many are refused only when they are compiled"
    )
    assert seen["rows"] > seen["queries"], "the queries find too little to tell anything"


# One seed can be looked at alone: CQELS_RANDOM_SEED=17 pytest -k one_seed
ONE = os.environ.get("CQELS_RANDOM_SEED")


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_SEED is not set")
def test_one_seed(spark: SparkSession, tmp_path: Path) -> None:
    assert ONE is not None
    check_seeds(spark, tmp_path, [int(seed) for seed in ONE.split(",")], 7)


def test_25_random_queries(spark: SparkSession, tmp_path: Path) -> None:
    check_seeds(spark, tmp_path, range(4), 7)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(12))
def test_2000_random_queries(spark: SparkSession, tmp_path: Path, part: int) -> None:
    check_seeds(spark, tmp_path, range(1_000 + part * 28, 1_028 + part * 28), 7)
