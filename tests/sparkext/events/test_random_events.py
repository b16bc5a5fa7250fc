"""Random event patterns over random streams answer as the oracle does at every instant: Table 1 of the RSEP-QL paper
row by row, each operator by itself, and MATCH in queries of all sorts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from sparkext.errors import CheckError, UnsupportedFeatureError
from sparkext.oracle import Answer, StaticGraphs
from sparkext.recorded_streams import StreamElement
from tests.sparkext.random_answers import (
    Case,
    Recorded,
    Worlds,
    answered,
    right_answers,
    shrunk,
    what_differs,
)
from tests.sparkext.random_continuous import Dialect
from tests.sparkext.random_events import (
    LANDMARKS,
    OPERATORS,
    STREAMS,
    TIMES,
    Shape,
    random_event_query,
)
from tests.sparkext.random_worlds import random_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRETCH = 24  # longer than elements come for and the windows of plain queries show them, in ms
RSPQL = Dialect("rspql")
EPSPARQL = {
    name: Dialect(f"epsparql-{name}", operators=("ISTREAM",), hidden_start=True, policies=False)
    for name in ("unrestricted", "chronological", "recent")
}
CSPARQL = Dialect("csparql", merged=True, operators=("RSTREAM",), hidden_start=True, policies=False)
CQELS = Dialect("cqels", operators=("ISTREAM",), hidden_start=True, policies=False)
SEQUENCES = ("SEQ", "FIRST", "AT")

TABLE_1 = {
    "landmark, SEQ": Shape(
        EPSPARQL["unrestricted"], SEQUENCES, ("", "UNRESTRICTED"), LANDMARKS, operators=SEQUENCES
    ),
    "landmark, SEQ^c, P^c": Shape(
        EPSPARQL["chronological"], SEQUENCES, ("", "CHRONOLOGICAL"), LANDMARKS, operators=SEQUENCES
    ),
    "landmark, SEQ^r, P^r": Shape(
        EPSPARQL["recent"], SEQUENCES, ("", "RECENT"), LANDMARKS, operators=SEQUENCES
    ),
    "time window, SEQ^n": Shape(
        CSPARQL, SEQUENCES, ("", "NAIVE"), ("[RANGE 7]", "[RANGE 6 STEP 2]"), operators=SEQUENCES
    ),
    "time window": Shape(CQELS, windows=TIMES, matches=False),
}
BY_OPERATOR = {name: Shape(RSPQL, (name,)) for name in OPERATORS}
SHAPES = {**TABLE_1, **BY_OPERATOR}
EVERYWHERE = Shape(RSPQL, plain=False)
DIALECTS = (
    Dialect("rspql", unnamed=True),
    Dialect("rspql", settings={"windowBounds": "closed-open", "startingAt": "3"}),
    Dialect("rspql", settings={"duplicates": "bag"}),
    Dialect("rspqlstar"),
    CSPARQL,
    CQELS,
    *EPSPARQL.values(),
)


def cases_of(
    seed: int, shape: Shape, static: StaticGraphs, count: int
) -> Iterator[tuple[Case, dict[int, Answer]]]:
    """The queries of a seed with their right answers; what the oracle cannot judge is written anew."""
    random = Random(seed)
    streams = random_streams(random, shape)
    made = 0
    while made < count:
        text, query = random_event_query(random, shape)
        case = Case(seed, shape.dialect, text, query, streams)
        try:
            answers = right_answers(case, static)
        except CheckError as error:
            # Not windows that a profile merges, nor runs in a sequence that it selects from.
            if any(f"oracle {words}" in str(error) for words in ("does not know", "knows")):
                continue
            if "can be read under this profile" in str(error):
                continue
            raise AssertionError(f"{error}\n{case.describe()}") from error
        finds = any(answer.rows or answer.boolean for answer in answers.values())
        if not finds and made % 5 != 4:
            continue  # a query that never finds anything tells little
        made += 1
        yield case, answers


def random_streams(random: Random, shape: Shape) -> Recorded:
    """Stretches one after the other, each a case by itself where windows let go of what was before.

    Fewer and shorter ones where they do not: then all that was before makes more matches.
    """
    stretches, sizes = (5, (3, 2, 1)) if shape.windows == LANDMARKS else (10, (5, 4, 2))
    streams: Recorded = {name: [] for name in STREAMS}
    for number in range(stretches):
        for name, size in zip(STREAMS, sizes, strict=True):
            # An element's name is its own, and patterns may use those of the first stretch.
            stretch = random_stream(random, f"{name}{'-' * number}", size)
            streams[name] += [
                replace(e, time_ms=e.time_ms + number * STRETCH) for e in again(random, stretch)
            ]
    return streams


def again(random: Random, elements: list[StreamElement]) -> list[StreamElement]:
    """The same stream; some elements say what one before them said."""
    told: list[StreamElement] = []
    for element in elements:
        if told and random.random() < 0.25:
            element = replace(element, triples=random.choice(told).triples)
        told.append(element)
    return told


def check(worlds: Worlds, seed: int, shape: Shape, count: int, seen: Counter[str]) -> Iterator[str]:
    """The disagreements of one seed's queries; `seen` counts what was looked at."""
    made = list(cases_of(seed, shape, worlds.for_oracle, count))
    batch = Random(seed).choice((1, 3, 20))
    results = answered(worlds.engine(shape.dialect), [case for case, _ in made], batch)
    for (case, expected), found in zip(made, results, strict=True):
        seen["queries"] += 1
        if isinstance(found, UnsupportedFeatureError):
            seen["refused"] += 1
            continue
        seen["rows"] += sum(len(answer.rows) for answer in expected.values())
        if what_differs(expected, found):
            yield shrunk(worlds, case, batch)


def check_shapes(worlds: Worlds, shapes: Sequence[tuple[int, Shape]], count: int) -> None:
    """Check so many queries of each seed and shape."""
    seen: Counter[str] = Counter()
    wrong = [text for seed, shape in shapes for text in check(worlds, seed, shape, count, seen)]
    assert not wrong, f"{len(wrong)} of {seen['queries']} queries differ\n\n" + "\n\n".join(wrong)
    assert seen["refused"] <= seen["queries"] / 10, "too many are refused when they are compiled"
    assert seen["rows"] >= seen["queries"] / 2, "the queries find too little to tell anything"


@pytest.fixture(scope="module")
def worlds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worlds]:
    """Engines that the tests share."""
    with closing(Worlds(spark, tmp_path_factory.mktemp("static"), 7)) as made:
        yield made


# One seed can be looked at alone: CQELS_RANDOM_EVENTS="NOT:17" pytest -k one_seed; ":17" is of any sort.
ONE = os.environ.get("CQELS_RANDOM_EVENTS")


@pytest.mark.skipif(ONE is None, reason="CQELS_RANDOM_EVENTS is not set")
def test_one_seed(worlds: Worlds) -> None:
    assert ONE is not None
    name, _, seeds = ONE.rpartition(":")
    first, _, last = seeds.partition("-")
    asked = [
        (seed, SHAPES[name] if name else everywhere(seed))
        for seed in range(int(first), int(last or first) + 1)
    ]
    check_shapes(worlds, asked, 10)


def everywhere(seed: int) -> Shape:
    """Queries of any sort under one of the profiles."""
    return replace(EVERYWHERE, dialect=DIALECTS[seed % len(DIALECTS)])


def queries_of(shape: Shape, cases: int) -> int:
    """How many queries have so many cases."""
    return cases // (5 if shape.windows == LANDMARKS else 10)


@pytest.mark.parametrize("row", TABLE_1)
def test_table_1(worlds: Worlds, row: str) -> None:
    check_shapes(worlds, [(0, TABLE_1[row])], queries_of(TABLE_1[row], 30))


@pytest.mark.parametrize("operator", BY_OPERATOR)
def test_operator(worlds: Worlds, operator: str) -> None:
    check_shapes(worlds, [(0, BY_OPERATOR[operator])], 3)


def test_queries_of_any_sort(worlds: Worlds) -> None:
    # rspql with sets and with bags, csparql, and a profile that consumes.
    check_shapes(worlds, [(seed, everywhere(seed)) for seed in (0, 2, 4, 7)], 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_1000_cases(worlds: Worlds, name: str) -> None:
    queries = queries_of(SHAPES[name], 1000)
    check_shapes(worlds, [(seed, SHAPES[name]) for seed in range(100, 100 + queries // 10)], 10)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_500_queries_of_any_sort(worlds: Worlds, dialect: Dialect) -> None:
    shape = replace(EVERYWHERE, dialect=dialect)
    check_shapes(worlds, [(seed, shape) for seed in range(1_000, 1_006)], 10)
