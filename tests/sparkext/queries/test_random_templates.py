"""Random queries in versions that differ in constants answer as the oracle does, and are one template."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import CheckError, UnsupportedFeatureError
from sparkext.language import parse_query
from sparkext.oracle import Answer, StaticGraphs
from tests.sparkext.random_answers import Case, Worlds, answered, right_answers, what_differs
from tests.sparkext.random_continuous import DIALECTS, STREAMS, random_query
from tests.sparkext.random_worlds import random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from sparkext import Engine

INSTANCES = 4
# Nodes and numbers that stand where terms do; what they differ in makes no other template.
NODE = re.compile(r"(?<!GRAPH )(?<!WINDOW )(?<![\w:]):(a|b|c)\b")
# Inline data, and paths that end in a node.
DATA_OR_ENDS = re.compile(r"VALUES|:(a|b|c) (:p/:q|:q\+|\^:p|!:p)|(/:q|:q\+|\^:p|!:p) :(a|b|c)\b")
NUMBER = re.compile(r"(?<=[ (])[0-9](?=[ ),])")


def versions(random: Random, text: str) -> Iterator[str]:
    """The text and others with other constants in its pattern; none where it has no constants."""
    head, where, pattern = text.partition("WHERE")
    if not (NODE.search(pattern) or NUMBER.search(pattern)):
        return
    yield text
    for _ in range(INSTANCES - 1):
        other = NODE.sub(lambda _: f":{random.choice('abc')}", pattern)
        yield head + where + NUMBER.sub(lambda _: str(random.randint(1, 9)), other)


def cases_of(
    seed: int, static: StaticGraphs, wanted: re.Pattern[str] | None = None
) -> list[tuple[Case, dict[int, Answer]]]:
    """A query in several versions with their right answers; its text has what is `wanted`."""
    random = Random(seed)
    dialect = DIALECTS[seed % len(DIALECTS)]
    streams = {
        name: random_stream(random, name, size) for name, size in zip(STREAMS, (9, 6), strict=True)
    }
    for _ in range(300 if wanted is None else 3000):
        text, query = random_query(random, dialect)
        if query.form == "CONSTRUCT" and query.registration is not None:
            continue  # each makes a stream of its own
        if wanted is not None and not wanted.search(text):
            continue
        case = Case(seed, dialect, text, query, streams)
        texts = list(dict.fromkeys(versions(random, text)))
        if len(texts) < 2:
            continue
        cases = [replace(case, text=t, query=parse_query(t)) for t in texts]
        try:
            made = [(case, right_answers(case, static)) for case in cases]
        except CheckError as error:
            if "the oracle does not know" in str(error):
                continue
            raise
        if any(a.rows or a.boolean for _, answers in made for a in answers.values()):
            return made
    raise AssertionError("nothing that the writer writes finds anything")


def count_evaluated(counted: list[int], engine: Engine) -> None:
    counted.append(len(engine._registered.evaluated))


def check_seeds(
    spark: SparkSession,
    folder: Path,
    seeds: Sequence[int],
    wanted: re.Pattern[str] | None = None,
) -> None:
    worlds = Worlds(spark, folder, 7)
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    try:
        for seed in seeds:
            made = cases_of(seed, worlds.for_oracle, wanted)
            cases = [case for case, _ in made]
            engine = worlds.engine(cases[0].dialect)
            counted: list[int] = []
            results = answered(engine, cases, 3, partial(count_evaluated, counted))
            seen["queries"] += len(cases)
            seen["evaluated"] += counted[0]
            for (case, expected), found in zip(made, results, strict=True):
                if isinstance(found, UnsupportedFeatureError):
                    continue
                if words := what_differs(expected, found):
                    wrong.append(f"{case.describe()}\n{words}")
    finally:
        worlds.close()
    assert not wrong, f"{len(wrong)} of {seen['queries']} differ\n\n" + "\n\n".join(wrong)
    assert seen["evaluated"] < seen["queries"] * 0.9, "few are instances of a template"


def test_8_random_templates(spark: SparkSession, tmp_path: Path) -> None:
    check_seeds(spark, tmp_path, range(8))


def test_6_random_templates_with_inline_data_or_ends_of_paths(
    spark: SparkSession, tmp_path: Path
) -> None:
    check_seeds(spark, tmp_path, range(5, 11), DATA_OR_ENDS)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6))
def test_300_random_templates(spark: SparkSession, tmp_path: Path, part: int) -> None:
    check_seeds(spark, tmp_path, range(1_000 + part * 50, 1_050 + part * 50))
