"""Whatever switch of the optimizer is thrown, the answers stay."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.config import keys
from sparkext.errors import CheckError, UnsupportedFeatureError
from sparkext.setting_keys import PREFIX
from sparkext.setting_types import BOOLEAN
from tests.metamorphic.relations import History, rows_of
from tests.sparkext.random_answers import Case, Worlds, answered, right_answers
from tests.sparkext.random_continuous import STREAMS, Dialect, random_query
from tests.sparkext.random_monotone import monotone_query
from tests.sparkext.random_worlds import random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USUAL = Dialect("rspql", unnamed=True)
ELSEWHERE = {"classArchive", "keptSides.enabled", "keptSides.joinOrder"}
"""Of the start of Java, and of Spark SQL without RDF."""

SWITCHES = {
    key.name.removeprefix(PREFIX): not key.default
    for key in keys()
    if key.type is BOOLEAN and key.name.removeprefix(PREFIX) not in ELSEWHERE
}


def thrown(switch: str) -> Dialect:
    """The usual dialect with a switch thrown."""
    return Dialect("rspql", unnamed=True, settings={switch: str(SWITCHES[switch]).lower()})


def differences(
    spark: SparkSession, folder: Path, seeds: Sequence[int], switches: Sequence[str], queries: int
) -> list[str]:
    wrong = []
    rows = 0
    with closing(Worlds(spark, folder, 7)) as worlds:
        for seed in seeds:
            random = Random(seed)
            cases = finding(random, seed, worlds, queries)
            batch = random.choice((1, 3, 20))
            usual = answered(worlds.engine(USUAL), cases, batch)
            rows += sum(
                len(a.rows) for told in usual if isinstance(told, dict) for a in told.values()
            )
            for switch in switches:
                others = answered(worlds.engine(thrown(switch)), cases, batch)
                for case, one, other in zip(cases, usual, others, strict=True):
                    if said := _differ(one, other):
                        wrong.append(f"{switch}: {said}\n{case.describe()}")
    assert rows, "the queries find nothing"
    return wrong


def finding(random: Random, seed: int, worlds: Worlds, count: int) -> list[Case]:
    """So many queries over the same streams that find something."""
    streams = {n: random_stream(random, n, size) for n, size in zip(STREAMS, (9, 6), strict=True)}
    cases: list[Case] = []
    while len(cases) < count:
        writer = random_query if random.random() < 0.6 else monotone_query
        case = Case(seed, USUAL, *writer(random, USUAL), streams)
        try:
            answers = right_answers(case, worlds.for_oracle).values()
        except CheckError:  # the oracle does not know what it finds
            continue
        if any(answer.rows or answer.boolean for answer in answers):
            cases.append(case)
    return cases


def _differ(
    one: History | str | UnsupportedFeatureError, other: History | str | UnsupportedFeatureError
) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return (
            ""
            if str(one) == str(other) and not isinstance(one, str)
            else f"{one} in place of {other}"
        )
    if set(one) != set(other):
        return f"instants {sorted(other)} in place of {sorted(one)}"
    for time, answer in sorted(one.items()):
        found = other[time]
        if rows_of(answer) != rows_of(found) or answer.boolean != found.boolean:
            return (
                f"at {time} {found.rows, found.boolean} in place of {answer.rows, answer.boolean}"
            )
    return ""


def test_each_switch(spark: SparkSession, tmp_path: Path) -> None:
    wrong = differences(spark, tmp_path, [2], list(SWITCHES), 2)
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.slow
@pytest.mark.parametrize("switch", SWITCHES)
def test_a_switch_for_long(spark: SparkSession, tmp_path: Path, switch: str) -> None:
    wrong = differences(spark, tmp_path, range(100, 130), [switch], 5)
    assert not wrong, "\n\n".join(wrong[:3])
