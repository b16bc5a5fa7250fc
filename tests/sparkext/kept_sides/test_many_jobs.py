"""Sixty streaming jobs answer as stock Spark does: shapes, changes of static data, restarts, output modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.sparkext.kept_sides.job_shapes import (
    SENSORS,
    SHAPES,
    Shape,
    Statics,
    batches,
    write_rooms,
    write_sensors,
)
from tests.sparkext.kept_sides.side_by_side import Outcome, Scenario, side_by_side

# How a job starts: from the checkpoint of its own, of a stock job, of one with kept sides, and back.
WAYS = ("kkkk", "kk kk", "ss kk", "kk ss", "s kk s", "k s k s")
COUNT = 60

Outcomes = Mapping[tuple[str, str, str], tuple[Outcome, Outcome]]


class ChangingSensors:
    """The static sides, and what becomes of them while jobs run: a change happens once for all jobs that read them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.cached: DataFrame | None = None
        for name in ("same", "appended", "cached"):
            write_sensors(folder / name / "a.parquet")
        write_rooms(folder / "rooms" / "a.parquet")
        for name in ("inserted", "overwritten", "recreated"):
            self._create(name)
        spark.sql(f"create table kept_partitioned ({SENSORS}) using parquet partitioned by (room)")
        spark.sql("insert into kept_partitioned select * from kept_inserted where room is not null")
        self._view("same")
        self._cache()

    def kinds(
        self,
    ) -> Mapping[str, tuple[Callable[[], DataFrame], dict[int, Callable[[], object]]]]:
        """By kind: how the sensors are read, and what happens before which batch."""
        sql, table = self.spark.sql, self.spark.table
        return {
            "same": (lambda: self._read("same"), {}),
            "appended": (
                lambda: self._read("appended"),
                {2: lambda: write_sensors(self.folder / "appended" / "b.parquet", 3)},
            ),
            "inserted": (
                lambda: table("kept_inserted"),
                {2: lambda: sql("insert into kept_inserted values (41, 3, 'n5', 2.0, 1)")},
            ),
            "overwritten": (
                lambda: table("kept_overwritten"),
                {
                    at: lambda at=at: sql(
                        f"insert overwrite kept_overwritten select sensor + {at}, kind, label, limit, room"
                        " from kept_inserted where sensor < 40"
                    )
                    for at in (1, 2, 3)
                },
            ),
            "recreated": (lambda: table("kept_recreated"), {2: self._recreate}),
            "partitioned": (
                lambda: table("kept_partitioned"),
                {
                    1: lambda: sql("insert into kept_partitioned values (7, 1, 'n3', 1.0, 9)"),
                    3: lambda: sql("alter table kept_partitioned drop partition (room = 2)"),
                },
            ),
            "cached": (lambda: self._read("cached"), {2: self._recache}),
            "view": (lambda: table("kept_view"), {2: lambda: self._view("appended")}),
        }

    def _read(self, name: str) -> DataFrame:
        return self.spark.read.parquet(str(self.folder / name))

    def _create(self, name: str, shift: int = 0) -> None:
        write_sensors(self.folder / f"shift{shift}" / "a.parquet", shift)
        self._read(f"shift{shift}").write.saveAsTable(f"kept_{name}")

    def _recreate(self) -> None:
        self.spark.sql("drop table kept_recreated")
        self._create("recreated", 2)

    def _view(self, name: str) -> None:
        self._read(name).createOrReplaceTempView("kept_view")

    def _cache(self) -> None:
        self.cached = self._read("cached").cache()
        self.cached.count()

    def _recache(self) -> None:
        assert self.cached is not None
        self.cached.unpersist(blocking=True)
        write_sensors(self.folder / "cached" / "a.parquet", 1)
        self._cache()

    def close(self) -> None:
        for name in ("inserted", "overwritten", "recreated", "partitioned"):
            self.spark.sql(f"drop table if exists kept_{name}")
        if self.cached is not None:
            self.cached.unpersist()


def scenario(shape: Shape, statics: Statics, **how: object) -> Scenario:
    in_batch = shape.in_batch
    return Scenario(
        lambda stream: shape.made(stream, statics),
        mode=shape.mode,
        in_batch=None if in_batch is None else lambda batch: in_batch(batch, statics),
        **how,  # type: ignore[arg-type]
    )


def jobs() -> list[tuple[str, str, str]]:
    """Shape, change and starts of each job: every shape, and each change with each way to start."""
    kinds = (
        "same",
        "appended",
        "inserted",
        "overwritten",
        "recreated",
        "partitioned",
        "cached",
        "view",
    )
    shapes = [*SHAPES, *SHAPES][:COUNT]
    return [(s, kinds[i % len(kinds)], WAYS[(i // 2) % len(WAYS)]) for i, s in enumerate(shapes)]


def outcomes_of(
    spark: SparkSession, folder: Path, chosen: Sequence[tuple[str, str, str]]
) -> Iterator[Outcomes]:
    world = ChangingSensors(spark, folder)
    kinds = world.kinds()
    scenarios = {}
    for name, kind, ways in chosen:
        read, changes = kinds[kind]
        statics = Statics(read, lambda: spark.read.parquet(str(folder / "rooms")))
        scenarios[f"{name}|{kind}|{ways}"] = scenario(
            SHAPES[name], statics, ways=ways, before=changes
        )
    try:
        made = side_by_side(spark, folder, scenarios, batches(4))
        yield {tuple(key.split("|")): pair for key, pair in made.items()}  # type: ignore[misc]
    finally:
        world.close()


# Each part runs by itself, and one of them in every run of the tests.
PARTS = [jobs()[at::12] for at in range(12)]


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcomes]:
    yield from outcomes_of(spark, tmp_path_factory.mktemp("many_jobs"), PARTS[0])


@pytest.mark.parametrize("job", PARTS[0], ids=", ".join)
def test_answers_of_stock(outcomes: Outcomes, job: tuple[str, str, str]) -> None:
    check(outcomes, job)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, len(PARTS)))
def test_answers_of_stock_by_the_others(spark: SparkSession, tmp_path: Path, part: int) -> None:
    for outcomes in outcomes_of(spark, tmp_path, PARTS[part]):
        for job in PARTS[part]:
            check(outcomes, job)


def check(outcomes: Outcomes, job: tuple[str, str, str]) -> None:
    stock, kept = outcomes[job]
    assert stock.rows or stock.error
    assert kept.seen == stock.seen
    assert kept.rows_in == stock.rows_in or stock.error
    assert not any(stock.kept())
    name, kind, ways = job
    # What a function of foreachBatch plans is not in the plan of the query.
    if (
        kind in ("same", "appended")
        and ways.endswith("k")
        and SHAPES[name].kept
        and SHAPES[name].in_batch is None
    ):
        assert kept.kept()[-1], kept.plans[-1]
