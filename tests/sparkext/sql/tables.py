"""Live views and static tables under one set of names, and stock Spark's answers over the same rows."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from sparkext.engine import Engine

Rows = list[tuple[Any, ...]]
Content = Mapping[str, Rows]

LIVE = {
    "now": "k BIGINT, s STRING, d DOUBLE",
    "win": "k BIGINT, s STRING, ts TIMESTAMP",
    "tri": "a INT, b DECIMAL(10, 2), day DATE, tags ARRAY<STRING>",
}
STATIC = {
    "names": "k BIGINT, n STRING",
    "rooms": "s STRING, title STRING, area DOUBLE",
    "days": "day DATE, a INT, ts TIMESTAMP, b DECIMAL(10, 2)",
}
# Interpreted, stock Spark answers these small queries three times as fast.
QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
}
NAN = float("nan")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def static_rows() -> Content:
    """Static tables with nulls in keys, duplicates, and keys that nothing live has."""
    rng = random.Random(11)
    return {
        "names": [(k, f"n{k % 4}") for k in range(10)] + [(3, "n3"), (3, "n3"), (None, "none")],
        "rooms": [(f"s{i}", f"Room {i % 3}", float(i)) for i in range(6)]
        + [("s1", None, NAN), (None, "nowhere", 0.0), ("é日", "far", -0.0)],
        "days": [
            (
                datetime.date(2026, 1, 1 + rng.randrange(6)),
                rng.randrange(5),
                START + datetime.timedelta(seconds=rng.randrange(6)),
                Decimal(rng.randrange(500)) / 100,
            )
            for _ in range(15)
        ],
    }


def content(seed: int, sizes: tuple[int, int, int], top: int = 8) -> Content:
    """Random rows for the live views: a sixth of the cells are null."""
    rng = random.Random(seed)

    def some(value: Any) -> Any:
        return None if rng.random() < 1 / 6 else value

    def text() -> str:
        return rng.choice([f"s{rng.randrange(top)}", f"s{rng.randrange(3)}", "é日"])

    now, win, tri = sizes
    doubles = [0.0, -0.0, NAN, 1.5, 2.0, 5.0]
    return {
        "now": [
            (some(rng.randrange(top)), some(text()), some(rng.choice(doubles))) for _ in range(now)
        ],
        "win": [
            (
                some(rng.randrange(top)),
                some(text()),
                some(START + datetime.timedelta(seconds=rng.randrange(6))),
            )
            for _ in range(win)
        ],
        "tri": [
            (
                some(rng.randrange(5)),
                some(Decimal(rng.randrange(500)) / 100),
                some(datetime.date(2026, 1, 1 + rng.randrange(6))),
                some([text() for _ in range(rng.randrange(3))]),
            )
            for _ in range(tri)
        ],
    }


CONTENTS: list[Content] = [
    content(1, (12, 9, 8)),
    content(2, (0, 15, 3)),
    content(3, (30, 0, 0)),
    content(4, (5, 90, 40), top=4),
    content(5, (0, 0, 0)),
]


class Tables:
    """The live views of an engine, static tables, and stock copies of all, named by `prefix`."""

    def __init__(self, engine: Engine, prefix: str) -> None:
        self.engine = engine
        self.spark: SparkSession = engine.spark
        self.prefix = prefix
        self.views = {name: engine.live_view(prefix + name, LIVE[name]) for name in LIVE}
        for name, rows in static_rows().items():
            frame = self.spark.createDataFrame(rows, STATIC[name])
            frame.createOrReplaceTempView(prefix + name)
            frame.createOrReplaceTempView("stock_" + name)

    def live(self, text: str) -> str:
        """A query text over the live views."""
        return text.format_map({name: self.prefix + name for name in {**LIVE, **STATIC}})

    def stock(self, text: str) -> str:
        """The same over stock tables."""
        return text.format_map({name: "stock_" + name for name in {**LIVE, **STATIC}})

    def put(self, rows: Content) -> None:
        """Give the live views and their stock copies these rows."""
        for name, view in self.views.items():
            view.replace(rows[name])
            frame = self.spark.createDataFrame(rows[name], LIVE[name])
            frame.createOrReplaceTempView("stock_" + name)

    def expected(self, text: str) -> pa.Table:
        """What stock Spark answers over the rows that were put last."""
        return self.spark.sql(self.stock(text)).toArrow()


def rows_of(table: pa.Table) -> list[str]:
    """Rows as texts: NaN equals itself, 0.0 differs from -0.0."""
    columns = [column.to_pylist() for column in table.columns]
    return [repr(row) for row in zip(*columns, strict=True)]


def bag(rows: Sequence[str]) -> Counter[str]:
    """Rows without their order."""
    return Counter(rows)


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Session settings for the time of a block."""
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def jobs_of(spark: SparkSession, act: Callable[[], Any]) -> int:
    """How many jobs of Spark something takes."""
    context = spark.sparkContext
    java: Any = context._jsc
    context.setJobGroup("counted", "counted")
    before = set(context.statusTracker().getJobIdsForGroup("counted"))
    try:
        act()
        java.sc().listenerBus().waitUntilEmpty(60_000)
        return len(set(context.statusTracker().getJobIdsForGroup("counted")) - before)
    finally:
        java.sc().clearJobGroup()
