"""Random static tables, random streams, random joins of them: kept sides answer as stock Spark does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.sparkext.kept_sides.side_by_side import Scenario, side_by_side

NUMBERS = itertools.count()
# Few values, so that rows meet; the odd ones compare in their own ways.
DOUBLES = [None, 0.0, -0.0, 1.0, 2.5, float("nan")]
NAMES = [None, "", "a", "A", "b", "b "]
WHOLE = st.one_of(st.none(), st.integers(-2, 4), st.just(2**31 - 1))

STATIC_ROW = st.fixed_dictionaries(
    {"i": WHOLE, "j": WHOLE, "t": st.sampled_from(NAMES), "d": st.sampled_from(DOUBLES)}
)
READING = st.tuples(
    WHOLE,
    WHOLE,
    st.sampled_from(NAMES),
    # JSON has no NaN.
    st.sampled_from(DOUBLES[:-1]),
    st.just("2026-01-01T00:00:00Z"),
)
TERMS = ["id = {a}.i", "k = {a}.j", "name = {a}.t", "v = {a}.d", "id <=> {a}.i", "v <=> {a}.d"]
TERMS += [
    "cast(k as bigint) + 1 = {a}.i",
    "lower(name) = {a}.t",
    "if(k > 0, double('nan'), v) = {a}.d",
]
EXTRA = ["id > {a}.j", "name <> {a}.t", "{a}.d > 0", "coalesce(v, 0) < {a}.d", "k is null"]
HOWS = ["inner", "left", "left_semi", "left_anti"]


@dataclass(frozen=True)
class JoinOf:
    """One join with a static table."""

    table: int
    how: str
    terms: tuple[str, ...]
    distinct: bool

    def onto(self, rows: DataFrame, tables: list[Path], at: int) -> DataFrame:
        side = rows.sparkSession.read.parquet(str(tables[self.table % len(tables)]))
        side = (side.distinct() if self.distinct else side).toDF(*(f"{c}{at}" for c in "ijtd"))
        return rows.join(side, _on(self.terms, at), self.how)


def _on(terms: tuple[str, ...], at: int) -> Column:
    text = " and ".join(terms)
    for column in "ijtd":
        text = text.replace(f"{{a}}.{column}", f"{column}{at}")
    return F.expr(text)


JOIN = st.builds(
    JoinOf,
    st.integers(0, 1),
    st.sampled_from(HOWS),
    st.builds(
        lambda terms, extra: tuple(terms + extra),
        st.lists(st.sampled_from(TERMS), min_size=1, max_size=2, unique=True),
        st.lists(st.sampled_from(EXTRA), max_size=1),
    ),
    st.booleans(),
)
TABLES = st.lists(st.lists(STATIC_ROW, max_size=12), min_size=1, max_size=2)
STREAM = st.lists(st.lists(READING, min_size=1, max_size=10), min_size=2, max_size=2)
# Several jobs to an example: they run at the same time.
JOBS = st.lists(st.lists(JOIN, min_size=1, max_size=3), min_size=3, max_size=3)

SCHEMA = pa.schema([("i", pa.int64()), ("j", pa.int32()), ("t", pa.string()), ("d", pa.float64())])


def answers(stream: DataFrame, joins: list[JoinOf], tables: list[Path]) -> DataFrame:
    for at, join in enumerate(joins):
        stream = join.onto(stream, tables, at)
    return stream


def check(spark: SparkSession, root: Path, tables: Any, stream: Any, jobs: Any) -> None:
    folder = root / str(next(NUMBERS))
    places = []
    for at, rows in enumerate(tables):
        places.append(folder / f"table{at}" / "a.parquet")
        places[-1].parent.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), places[-1])
    scenarios = {
        str(at): Scenario(lambda s, joins=joins: answers(s, joins, places), ways="k" * len(stream))
        for at, joins in enumerate(jobs)
    }
    for at, (stock, kept) in side_by_side(spark, folder, scenarios, stream).items():
        assert kept.seen == stock.seen, jobs[int(at)]
        assert not stock.error, stock.error


@pytest.fixture
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("random_joins")


UNHURRIED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


# An example takes seconds.
@pytest.mark.slow
@settings(max_examples=40, suppress_health_check=UNHURRIED)
@given(TABLES, STREAM, JOBS)
def test_random_joins(
    spark: SparkSession, folders: Path, tables: Any, stream: Any, jobs: Any
) -> None:
    check(spark, folders, tables, stream, jobs)
