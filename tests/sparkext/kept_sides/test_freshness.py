"""Kept static sides are as fresh as with stock Spark: whatever happens to the data while the job runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.sparkext.kept_sides.job_shapes import batches, write_sensors
from tests.sparkext.kept_sides.side_by_side import Outcome, Scenario, side_by_side

COUNT = 4


@dataclass
class Case:
    """A job with one static side, what happens before which batch, and what must be seen of it.

    `uses` are how often, after each batch, the side of the plan had been used: 0 where none is kept. None: it is not
    asked.
    """

    side: Callable[[], DataFrame]
    before: dict[int, Callable[[], object]] = field(default_factory=dict)
    uses: list[int] | None = None
    conf: dict[str, str] = field(default_factory=dict)
    ways: str = "kkkk"


class World:
    """What the cases share."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.cached: dict[str, DataFrame] = {}
        self.tables: list[str] = []

    def files(self, name: str, shift: int = 0, file: str = "a") -> Path:
        write_sensors(self.folder / name / f"{file}.parquet", shift)
        return self.folder / name

    def read(self, name: str) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / name))

    def table(self, name: str, partitioned: bool = False) -> str:
        called = f"fresh_{name}"
        if called not in self.tables:
            self.tables.append(called)
        source = f"parquet.`{self.files(f'for_{name}')}`"
        how = "partitioned by (room)" if partitioned else ""
        self.spark.sql(
            f"create table {called} using parquet {how} as select sensor, kind, label, limit, room"
            f" from {source} where room is not null"
        )
        return called

    def cache(self, name: str) -> None:
        self.cached[name] = self.read(name).cache()
        self.cached[name].count()

    def close(self) -> None:
        for name in self.tables:
            self.spark.sql(f"drop table if exists {name}")
        for frame in self.cached.values():
            frame.unpersist()


def cases(w: World) -> dict[str, Case]:
    sql, read = w.spark.sql, w.read
    made: dict[str, Case] = {}

    w.files("stays")
    made["files that stay"] = Case(lambda: read("stays"), uses=None)

    w.files("appended")
    made["files appended"] = Case(
        lambda: read("appended"), {2: lambda: w.files("appended", 1, "b")}, None
    )
    made["files appended, started again"] = Case(lambda: read("appended"), ways="kk kk")

    w.files("rewritten")
    made["a file written over"] = Case(
        lambda: read("rewritten"), {2: lambda: w.files("rewritten", 2)}, uses=[1, 2, 1, 2, 3]
    )

    w.files("replaced")

    def replace() -> None:
        (w.folder / "replaced" / "a.parquet").unlink()
        w.files("replaced", 1, "other")

    made["files replaced by others"] = Case(lambda: read("replaced"), {2: replace})

    w.files("vanished")
    w.files("vanished", 1, "b")
    made["a file that vanished"] = Case(
        lambda: read("vanished"), {3: lambda: (w.folder / "vanished" / "b.parquet").unlink()}
    )
    w.files("missing")
    w.files("missing", 1, "b")
    made["a file that may be missing"] = Case(
        lambda: read("missing"),
        {2: lambda: (w.folder / "missing" / "b.parquet").unlink()},
        uses=[1, 2, 1, 2, 3],
        conf={"spark.sql.files.ignoreMissingFiles": "true"},
    )

    inserted = w.table("inserted")
    made["a table inserted into"] = Case(
        lambda: w.spark.table(inserted),
        {2: lambda: sql(f"insert into {inserted} values (7, 1, 'n3', 1.0, 9)")},
    )
    overwritten = w.table("overwritten")
    made["a table overwritten"] = Case(
        lambda: w.spark.table(overwritten),
        {2: lambda: sql(f"insert overwrite {overwritten} values (7, 1, 'n3', 1.0, 9)")},
    )
    altered = w.table("altered")
    made["a table with another column"] = Case(
        lambda: w.spark.table(altered),
        {
            1: lambda: sql(f"alter table {altered} add columns (more int)"),
            3: lambda: sql(f"insert into {altered} values (7, 1, 'n3', 1.0, 9, 5)"),
        },
    )
    recreated = w.table("recreated")

    def recreate() -> None:
        sql(f"drop table {recreated}")
        sql(
            f"create table {recreated} using parquet as select id sensor, 'new' label from range(9)"
        )

    made["a table made anew"] = Case(lambda: w.spark.table(recreated), {2: recreate})
    made["a table made anew, started again"] = Case(lambda: w.spark.table(recreated), ways="kk kk")
    parts = w.table("parts", partitioned=True)
    made["partitions that come and go"] = Case(
        lambda: w.spark.table(parts),
        {
            2: lambda: sql(f"insert into {parts} values (7, 1, 'n3', 1.0, 9)"),
            3: lambda: sql(f"alter table {parts} drop partition (room = 2)"),
        },
    )
    swapped = w.table("swapped", partitioned=True)

    def swap() -> None:
        place = w.spark.table(swapped).inputFiles()[0].partition("/room=")[0]
        for one, other in ((1, 2), (2, 1)):
            to = f"{place}/room={other}"
            sql(f"alter table {swapped} partition (room = {one}) set location '{to}'")

    made["partitions that change places"] = Case(lambda: w.spark.table(swapped), {2: swap})
    refreshed = w.table("refreshed")

    def refresh() -> None:
        rows = w.spark.table(refreshed)
        place = rows.inputFiles()[0].removeprefix("file:")
        write_sensors(Path(place).parent / "more.parquet", 4)
        sql(f"refresh table {refreshed}")

    made["a table refreshed"] = Case(lambda: w.spark.table(refreshed), {2: refresh})

    w.files("cached")
    w.cache("cached")

    def recache() -> None:
        w.cached["cached"].unpersist(blocking=True)
        w.files("cached", 5)
        w.cache("cached")

    made["cached rows"] = Case(lambda: read("cached"), {2: recache}, uses=[1, 2, 1, 2, 3])
    w.files("cached stays")
    w.cache("cached stays")
    made["cached rows of changed files"] = Case(
        lambda: read("cached stays"),
        {2: lambda: w.files("cached stays", 5)},
        uses=None,
    )
    w.files("uncached")
    w.cache("uncached")
    made["rows cached no more"] = Case(
        lambda: read("uncached"),
        {2: lambda: w.files("uncached", 5), 3: lambda: w.cached["uncached"].unpersist(True)},
    )

    w.files("view one")
    w.files("view two", 3)
    read("view one").createOrReplaceTempView("fresh_view")
    made["a view replaced"] = Case(
        lambda: w.spark.table("fresh_view"),
        {2: lambda: read("view two").createOrReplaceTempView("fresh_view")},
        ways="kkkk",
    )
    made["a view replaced, started again"] = Case(lambda: w.spark.table("fresh_view"), ways="kk kk")

    for kind, first, then in (
        ("csv", "1,one\n3,three\n", "1,ones\n3,threes\n8,eights\n"),
        (
            "json",
            '{"sensor": 1, "label": "one"}\n',
            '{"sensor": 1, "label": "uno"}\n{"sensor": 8, "label": "otto"}\n',
        ),
    ):
        place = w.folder / f"texts.{kind}"
        place.write_text(first)
        made[f"{kind} files"] = Case(
            lambda place=place, kind=kind: w.spark.read.schema("sensor long, label string").load(
                str(place), format=kind
            ),
            {2: lambda place=place, then=then: place.write_text(then)},
            uses=[1, 2, 1, 2, 3],
        )

    local = [(i, f"l{i}") for i in range(20)]
    made["rows of the program"] = Case(
        lambda: w.spark.createDataFrame(local, "sensor long, label string"),
        uses=[0, 0, 0, 0, 0],
    )
    made["rows of pandas"] = Case(
        lambda: w.spark.createDataFrame(pd.DataFrame(local, columns=["sensor", "label"])),
    )
    made["a range"] = Case(
        lambda: w.spark.range(30).selectExpr("id sensor", "id * 2 twice"),
        uses=None,
    )
    made["the time of a batch"] = Case(
        lambda: read("stays").selectExpr(
            "sensor", "current_timestamp() > timestamp'2020-01-01' as late"
        ),
    )
    made["the day"] = Case(
        lambda: read("stays").selectExpr("sensor", "current_date() as today"),
        uses=None,
    )
    made["a random number"] = Case(
        lambda: read("stays").selectExpr("sensor", "cast(rand() * 0 as int) as zero"),
        uses=[0, 0, 0, 0, 0],
    )
    made["a random number in a subquery"] = Case(
        lambda: read("stays").where(
            "kind < (select 100 + max(r) from (select rand() r from range(3)))"
        ),
        uses=[0, 0, 0, 0, 0],
    )
    twice = F.udf(lambda i: None if i is None else i * 2, "long")
    made["a function"] = Case(
        lambda: read("stays").select("sensor", twice("kind").alias("twice")),
        uses=None,
    )
    loose = F.udf(lambda i: i + 1, "long").asNondeterministic()
    made["a function that is not deterministic"] = Case(
        lambda: read("stays").select("sensor", loose("sensor").alias("more")),
        uses=[0, 0, 0, 0, 0],
    )
    fetched = w.folder / "fetched"
    fetched.write_text("first")

    def fetch(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield pd.DataFrame({"sensor": part["id"], "label": fetched.read_text()})

    made["rows that a function fetches"] = Case(
        lambda: w.spark.range(30).mapInPandas(fetch, "sensor long, label string"),
        {2: lambda: fetched.write_text("second")},
        uses=[0, 0, 0, 0, 0],
    )

    def fetch_all(group: pd.DataFrame) -> pd.DataFrame:
        return next(fetch(iter([group])))

    made["rows that a function of groups fetches"] = Case(
        lambda: (
            w.spark.range(30).groupBy("id").applyInPandas(fetch_all, "sensor long, label string")
        ),
        {2: lambda: fetched.write_text("third")},
        uses=[0, 0, 0, 0, 0],
    )

    database = f"jdbc:derby:memory:{w.folder.name};create=true"
    connect(w.spark, database, "create table side (sensor bigint, label varchar(9))")
    connect(w.spark, database, "insert into side values (1, 'one'), (3, 'three')")
    made["a database"] = Case(
        lambda: w.spark.read.jdbc(database, "side"),
        {2: lambda: connect(w.spark, database, "insert into side values (8, 'eight')")},
        uses=[0, 0, 0, 0, 0],
    )
    made["sources of version two"] = Case(
        lambda: read("rewritten"),
        conf={"spark.sql.sources.useV1SourceList": ""},
    )
    return made


def connect(spark: SparkSession, database: str, statement: str) -> None:
    """Runs a statement in a database."""
    link = spark._jvm.java.sql.DriverManager.getConnection(database)
    try:
        link.createStatement().execute(statement)
    finally:
        link.close()


Outcomes = dict[str, tuple[Case, Outcome, Outcome]]

NAMES = (
    "files appended",
    "a file written over",
    "a table inserted into",
    "cached rows",
    "a random number",
    "partitions that change places",
    "rows that a function of groups fetches",
)
SLOW = (
    "files that stay",
    "a file that vanished",
    "partitions that come and go",
    "rows of the program",
    "files replaced by others",
    "a table made anew",
    "a table refreshed",
    "csv files",
    "the day",
    "a function",
    "rows that a function fetches",
    "a database",
    "files appended, started again",
    "a file that may be missing",
    "a table overwritten",
    "a table with another column",
    "a table made anew, started again",
    "cached rows of changed files",
    "rows cached no more",
    "a view replaced",
    "a view replaced, started again",
    "json files",
    "rows of pandas",
    "a range",
    "the time of a batch",
    "a random number in a subquery",
    "a function that is not deterministic",
    "sources of version two",
)


def outcomes_of(spark: SparkSession, folder: Path, names: Sequence[str]) -> Outcomes:
    # Functions of pandas need the packages that this Python has.
    spark.sparkContext.pythonExec = sys.executable
    world = World(spark, folder)
    try:
        made = cases(world)
        assert set(made) == {*NAMES, *SLOW}
        scenarios = {
            name: Scenario(
                lambda s, case=made[name]: s.join(
                    case.side(), F.col("id") == F.col("sensor"), "left"
                ),
                ways=made[name].ways,
                before=made[name].before,
                conf=made[name].conf,
            )
            for name in names
        }
        done = side_by_side(spark, folder, scenarios, batches(COUNT))
        return {name: (made[name], *pair) for name, pair in done.items()}
    finally:
        world.close()


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return outcomes_of(spark, tmp_path_factory.mktemp("freshness"), NAMES)


@pytest.fixture(scope="module")
def slow_outcomes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    return outcomes_of(spark, tmp_path_factory.mktemp("freshness_slow"), SLOW)


@pytest.mark.parametrize("name", NAMES)
def test_as_fresh_as_with_stock(outcomes: Outcomes, name: str) -> None:
    check(*outcomes[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_as_fresh_as_with_stock_by_others(slow_outcomes: Outcomes, name: str) -> None:
    check(*slow_outcomes[name])


def check(case: Case, stock: Outcome, kept: Outcome) -> None:
    assert stock.rows
    assert kept.seen == stock.seen
    assert not any(stock.kept())
    if not stock.error:
        assert kept.rows_in == stock.rows_in
    if case.uses is not None:
        assert kept.uses() == case.uses[:COUNT]
