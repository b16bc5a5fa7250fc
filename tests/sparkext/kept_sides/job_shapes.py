"""Shapes of streaming jobs with static sides: of a stream, forty sensors and five rooms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SENSORS = "sensor BIGINT, kind INT, label STRING, limit DOUBLE, room BIGINT"


def sensor_rows(shift: int = 0) -> list[dict[str, Any]]:
    """Forty sensors, several of one kind, with nulls, a NaN and a negative zero; others by `shift`."""
    odd = {13: float("nan"), 14: -0.0}
    return [
        {
            "sensor": i,
            "kind": (i + shift) % 7,
            "label": f"n{(i * (shift + 1)) % 11}",
            "limit": odd.get(i, None if i % 5 == 0 else float((i + shift) % 10)),
            "room": None if i % 9 == 0 else (i + shift) % 4,
        }
        for i in range(40)
    ]


def write_sensors(file: Path, shift: int = 0) -> None:
    """One Parquet file of sensors."""
    file.parent.mkdir(parents=True, exist_ok=True)
    types = {"sensor": pa.int64(), "kind": pa.int32(), "limit": pa.float64(), "room": pa.int64()}
    schema = pa.schema(
        [(n, types.get(n, pa.string())) for n in ("sensor", "kind", "label", "limit", "room")]
    )
    pq.write_table(pa.Table.from_pylist(sensor_rows(shift), schema=schema), file)


def write_rooms(file: Path) -> None:
    """Four rooms and one without a number."""
    file.parent.mkdir(parents=True, exist_ok=True)
    numbers = pa.array([0, 1, 2, 3, None], pa.int64())
    pq.write_table(pa.table({"room": numbers, "title": [f"r{i}" for i in range(5)]}), file)


def batches(count: int) -> list[list[tuple[object, ...]]]:
    """Readings that match none, one or several rows, with nulls among their keys; batches lie half a minute apart."""
    return [
        [
            (
                None if (i + b) % 6 == 0 else (i * 7 + b) % 50,
                None if i % 8 == 0 else i % 9,
                f"n{i % 13}",
                None if i % 7 == 0 else float(i % 12),
                f"2026-01-01T00:{b // 2:02}:{b % 2 * 30 + i % 20:02}Z",
            )
            for i in range(24)
        ]
        for b in range(count)
    ]


@dataclass(frozen=True)
class Statics:
    """The static sides, read anew when a job is made."""

    sensors: Callable[[], DataFrame]
    rooms: Callable[[], DataFrame]


@dataclass(frozen=True)
class Shape:
    """A job by its stream and static sides."""

    made: Callable[[DataFrame, Statics], DataFrame]
    mode: str = "append"
    in_batch: Callable[[DataFrame, Statics], DataFrame] | None = None
    kept: bool = True


def _on(how: str, on: Callable[[DataFrame], Any] = lambda s: s.id == F.col("sensor")) -> Shape:
    return Shape(lambda s, t: s.join(t.sensors(), on(s), how))


def _marked(s: DataFrame) -> DataFrame:
    return s.withWatermark("at", "10 seconds")


def _per_room(s: DataFrame, t: Statics) -> DataFrame:
    joined = _marked(s).join(t.sensors(), s.id == F.col("sensor"))
    return joined.groupBy(F.window("at", "20 seconds"), "room").agg(
        F.count("*").alias("n"), F.max("v").alias("most")
    )


def _per_kind(s: DataFrame, t: Statics) -> DataFrame:
    counts = s.groupBy("k").agg(F.count("*").alias("n"), F.max("id").alias("last"))
    return counts.join(t.sensors(), F.col("k") == F.col("kind"), "left")


def _pairs(s: DataFrame) -> DataFrame:
    """Readings of one id close to each other."""
    one = s.select("id", "v", F.col("at").alias("t1")).withWatermark("t1", "10 seconds")
    two = s.selectExpr("id as id2", "k as k2", "at as t2").withWatermark("t2", "10 seconds")
    return one.join(two, F.expr("id = id2 and t2 between t1 and t1 + interval 60 seconds"))


def _chained(s: DataFrame, t: Statics, *hows: str) -> DataFrame:
    for at, how in enumerate(hows):
        side = t.sensors().selectExpr(f"sensor as s{at}", f"label as l{at}", f"kind as k{at}")
        s = s.join(side, F.col("id") == F.col(f"s{at}") + at, how)
    return s


def _not_in(s: DataFrame, t: Statics) -> DataFrame:
    s.createOrReplaceTempView("job_readings")
    t.sensors().createOrReplaceTempView("job_sensors")
    return s.sparkSession.sql(
        "select * from job_readings where id not in"
        " (select sensor * 3 from job_sensors where limit > 4 and not isnan(limit))"
    )


def _exists_or(s: DataFrame, t: Statics) -> DataFrame:
    s.createOrReplaceTempView("job_readings")
    t.sensors().createOrReplaceTempView("job_sensors")
    return s.sparkSession.sql(
        "select * from job_readings r where k > 6"
        " or exists (select 1 from job_sensors where sensor = r.id and limit > 3)"
    )


def _by_scalar(s: DataFrame, t: Statics) -> DataFrame:
    t.sensors().createOrReplaceTempView("job_sensors")
    above = s.sparkSession.sql(
        "select * from job_sensors where sensor > (select avg(sensor) from job_sensors)"
    )
    return s.join(above, s.id == F.col("sensor"))


def _several_last(s: DataFrame, t: Statics) -> DataFrame:
    """Two static sides, a computed key, a filter across them."""
    joined = s.join(t.sensors(), s.id == F.col("sensor")).join(
        t.rooms().withColumnRenamed("room", "r"), F.col("room") == F.col("r") + 1, "left"
    )
    return joined.where("coalesce(title, 'r1') <> label and v <= id")


SHAPES: dict[str, Shape] = {
    "inner": _on("inner"),
    "static first": Shape(lambda s, t: t.sensors().join(s, s.id == F.col("sensor"))),
    "left": _on("left"),
    "right": Shape(lambda s, t: t.sensors().join(s, s.id == F.col("sensor"), "right")),
    "semi": _on("left_semi"),
    "anti": _on("left_anti"),
    "several rows": _on("inner", lambda s: s.k == F.col("kind")),
    "semi, several rows": _on("left_semi", lambda s: s.k == F.col("kind")),
    "two keys": _on("inner", lambda s: (s.k == F.col("kind")) & (s.name == F.col("label"))),
    "null-safe": _on("inner", lambda s: s.k.eqNullSafe(F.col("room"))),
    "null-safe, left": _on("left", lambda s: s.id.eqNullSafe(F.col("room"))),
    "residual": _on("left", lambda s: (s.id == F.col("sensor")) & (s.v > F.col("limit"))),
    "residual, anti": _on("left_anti", lambda s: (s.k == F.col("kind")) & (s.v > F.col("limit"))),
    "text key": _on("inner", lambda s: s.name == F.col("label")),
    "double key": _on("inner", lambda s: s.v == F.col("limit")),
    "double keys made": _on(
        "left", lambda s: F.expr("if(k = 3, double('nan'), v)") == F.col("limit")
    ),
    "expression as key": _on("inner", lambda s: s.id % 8 == F.col("sensor") + F.col("kind") % 2),
    "filter and projection": Shape(
        lambda s, t: s.join(
            t.sensors().where("limit > 3").selectExpr("sensor * 2 as twice", "label"),
            s.id == F.col("twice"),
        )
    ),
    "aggregate as side": Shape(
        lambda s, t: s.join(
            t.sensors().groupBy("kind").agg(F.max("limit").alias("most"), F.count("*").alias("n")),
            s.k == F.col("kind"),
        )
    ),
    "join as side": Shape(
        lambda s, t: s.join(
            t.sensors().where("limit > 2").join(t.rooms(), "room"), s.id == F.col("sensor")
        )
    ),
    "union as side": Shape(
        lambda s, t: s.join(
            t.sensors().select("sensor").union(t.rooms().select("room")), s.id == F.col("sensor")
        )
    ),
    "distinct side": Shape(
        lambda s, t: s.join(t.sensors().select("kind").distinct(), s.k == F.col("kind"))
    ),
    "window as side": Shape(
        lambda s, t: s.join(
            t.sensors().selectExpr(
                "sensor", "row_number() over (partition by kind order by sensor) place"
            ),
            s.id == F.col("sensor"),
        )
    ),
    "star": Shape(
        lambda s, t: s.join(t.sensors(), s.id == F.col("sensor")).join(t.rooms(), "room", "left")
    ),
    "same table twice": Shape(
        lambda s, t: s.join(
            t.sensors().selectExpr("sensor", "limit"), s.id == F.col("sensor")
        ).join(t.sensors().selectExpr("kind as k2", "label"), F.col("k") == F.col("k2"))
    ),
    "three in a row": Shape(lambda s, t: _chained(s, t, "left", "inner", "left")),
    "semi then anti": Shape(
        lambda s, t: _chained(s, t, "left_semi").join(
            t.rooms().drop("title"), F.col("k") == F.col("room"), "left_anti"
        )
    ),
    "two and a filter": Shape(_several_last),
    "not in": Shape(_not_in),
    "exists or": Shape(_exists_or),
    "scalar subquery": Shape(_by_scalar),
    "no equality": Shape(lambda s, t: s.join(t.rooms(), s.id < F.col("room")), kept=False),
    "full outer hint": Shape(
        lambda s, t: s.join(t.sensors().hint("merge"), s.id == F.col("sensor")), kept=False
    ),
    "exploded stream": Shape(
        lambda s, t: s.withColumn("id", F.explode(F.array("id", "k"))).join(
            t.sensors(), F.col("id") == F.col("sensor")
        )
    ),
    "united streams": Shape(
        lambda s, t: (
            s.select("id", "v")
            .union(s.selectExpr("k", "v"))
            .join(t.sensors(), F.col("id") == F.col("sensor"))
        )
    ),
    "aggregate above, append": Shape(_per_room),
    "aggregate above, update": Shape(_per_room, "update"),
    "aggregate above, complete": Shape(_per_room, "complete"),
    "aggregate below, update": Shape(_per_kind, "update"),
    "aggregate below, complete": Shape(_per_kind, "complete"),
    "window below, append": Shape(
        lambda s, t: (
            _marked(s)
            .groupBy(F.window("at", "20 seconds"), "k")
            .count()
            .join(t.sensors(), F.col("k") == F.col("kind"))
        )
    ),
    "session window above": Shape(
        lambda s, t: (
            _marked(s)
            .join(t.sensors(), s.id == F.col("sensor"))
            .groupBy(F.session_window("at", "8 seconds"), "kind")
            .count()
        )
    ),
    "streams joined, then static": Shape(
        lambda s, t: _pairs(s).join(t.sensors(), F.col("id") == F.col("sensor"), "left")
    ),
    "static, then streams joined": Shape(
        lambda s, t: _pairs(s.join(t.sensors(), s.id == F.col("sensor"), "left_semi"))
    ),
    "duplicates dropped above": Shape(
        lambda s, t: (
            _marked(s)
            .join(t.sensors(), s.id == F.col("sensor"))
            .select("kind", "room")
            .dropDuplicates(["kind", "room"])
        )
    ),
    "duplicates dropped below": Shape(
        lambda s, t: (
            s.select("id", "k")
            .dropDuplicates(["id", "k"])
            .join(t.sensors(), F.col("id") == F.col("sensor"), "left")
        )
    ),
    "duplicates dropped in time": Shape(
        lambda s, t: (
            _marked(s)
            .select("id", "at")
            .dropDuplicatesWithinWatermark(["id"])
            .join(t.sensors(), F.col("id") == F.col("sensor"))
        )
    ),
    "in the function": Shape(
        lambda s, t: s, in_batch=lambda b, t: b.join(t.sensors(), b.id == F.col("sensor"), "left")
    ),
    "in the function, both": Shape(
        lambda s, t: s.join(t.rooms(), s.k == F.col("room")),
        in_batch=lambda b, t: b.join(t.sensors().drop("room"), b.id == F.col("sensor")),
    ),
    "in the function, aggregated": Shape(
        lambda s, t: s.groupBy("k").agg(F.count("*").alias("n")),
        "update",
        in_batch=lambda b, t: b.join(t.sensors(), b.k == F.col("kind")).groupBy("label").sum("n"),
    ),
    "in the function, batch twice": Shape(
        lambda s, t: s,
        in_batch=lambda b, t: b.join(b.groupBy("k").agg(F.count("*").alias("n")), "k").join(
            t.sensors(), F.col("id") == F.col("sensor")
        ),
    ),
}
