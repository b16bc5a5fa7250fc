"""Checks that need executors of their own, run in one process on local-cluster and told as JSON.

Usage: python -m tests.sparkext.engine_room.join.cluster_checks (Java | Kryo) FOLDER
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, SparkSession

from tests.sparkext.engine_room.join.cluster_generator import random_cluster
from tests.sparkext.engine_room.join.planned_clusters import SHOWN, PlannedCluster
from tests.sparkext.engine_room.live_room import LiveRoom
from tests.sparkext.engine_room.plan_shapes import AS_JOB, ON_DRIVER
from tests.sparkext.engine_room.shape_tables import CONTENTS, ShapeTables
from tests.sparkext.engine_room.term_values.text_cases import (
    NUMBERS,
    OF_IDS,
    OF_TEXTS,
    OF_VALUES,
    TEXTS,
    TYPED,
    written,
)
from tests.sparkext.engine_room.windows.stream_blocks import Element, block, iri

SHAPES = [
    "inner, static", "inner, window", "inner, two keys", "inner, three keys", "Q2", "bushy",
    "left outer, window", "left outer, filter on a pruned column", "semi, condition", "anti",
    "build of a computed column", "build with nulls in a value", "nested loop, left outer",
    "cross", "aggregate of a union", "count distinct", "nested builds", "no columns",
    "static build of two tables", "self join", "top k", "sort-merge join", "window function",
    "null-aware anti", "scalar subquery", "exists", "full outer",
]  # fmt: skip


def check_shapes(live: LiveRoom) -> None:
    """Static and live indexes and scans, sent to executors and iterated on the driver."""
    tables = ShapeTables(live)
    contents = [CONTENTS[n] for n in (0, 1, 4, 5)]
    for name in SHAPES:
        shape = ON_DRIVER.get(name) or AS_JOB[name]
        expected = tables.expected(shape, contents)
        tables.put(contents[0])
        plan = live.prepare(shape(tables.tables), name)
        for number, content in enumerate(contents):
            tables.put(content)
            assert live.as_job(plan, 1 + number % 3) == expected[number], (name, "job", number)
            if name in ON_DRIVER:
                assert live.on_driver(plan) == expected[number], (name, "driver", number)


def check_windows(live: LiveRoom) -> None:
    """A window's rows as they are at each bind, scanned and probed on executors."""
    stream = live.room.stream(iri("cluster"))
    window = stream.window("w")
    content = live.room.windowPattern(window, "w", "0,0,0||0,2||set")
    exists = live.room.windowPattern(
        window,
        "none",
        f"{live.id(iri('s3'))},{live.id(iri('p'))},{live.id(iri('o0'))}||||set",
    )
    frame = live.frame(content, "s", "o")
    joined = frame.join(F.broadcast(live.frame(content, "t", "o")), "o").select("s", "t")
    scan, pairs = live.prepare(frame), live.prepare(joined)
    held = live.prepare(live.frame(exists))
    for now in range(1, 8):
        triples = [(iri(f"s{i}"), iri("p"), iri(f"o{i % 3}")) for i in range(now)]
        stream.append(block([Element(now, None, triples)]))
        window.advance(min(now, 5) - 2, now)
        for plan in (scan, pairs, held):
            assert live.as_job(plan, 2) == live.on_driver(plan), now
        assert len(live.as_job(scan)) == now
        assert live.as_job(held) == [()] * (now > 3)


def check_ordinary_queries(live: LiveRoom) -> None:
    """A live relation is a table for ordinary Spark SQL too."""
    content = live.stage("now")
    for rows in ([(1, 2), (3, 4)], [], [(5, 6)]):
        live.put(content, rows)
        frame = live.frame(content, "p", "l")
        assert sorted(map(tuple, frame.collect())) == rows
        assert frame.repartition(3).groupBy("p").count().count() == len(rows)


def check_broadcasts_of_live_content_are_destroyed(live: LiveRoom) -> None:
    """What a bind sent is freed with the run, not at some later collection."""
    content = live.stage("large")
    few = live.static("few", [(i, i) for i in range(10)])
    probed = live.frame(few, "p", "n").join(F.broadcast(live.frame(content, "p", "l")), "p")
    plans = {
        "index": live.prepare(probed),
        "scan": live.prepare(live.frame(content, "p", "l").agg(F.sum("p"))),
        "scan in a subquery": live.prepare(
            live.spark.sql(
                "select n from {few} where n < (select count(*) from {large})",
                few=live.frame(few, "p", "n"),
                large=live.frame(content, "p", "l"),
            )
        ),
    }

    def large_blocks() -> int:
        entries, found = live.block_infos().entries(), 0
        while entries.hasNext():
            entry = entries.next()
            name, size = entry._1().name(), entry._2().size()
            found += name.startswith("broadcast") and size > 100_000
        return found

    for name, plan in plans.items():
        live.put(content, [(i, i * i) for i in range(60_000)])
        assert len(live.as_job(plan, 2)) in (1, 10)
        end = time.monotonic() + 60
        while (left := large_blocks()) and time.monotonic() < end:
            time.sleep(0.1)
        assert left == 0, name


def check_static_indexes_are_sent_once(live: LiveRoom) -> None:
    """Plans that probe one static index share its broadcast."""
    static = live.static("names", [(i, i + 100) for i in range(5000)])
    content = live.stage("now")
    live.put(content, [(i, 0) for i in range(0, 6000, 500)])
    frame = live.frame(content, "p", "l").join(F.broadcast(live.frame(static, "p", "n")), "p")
    expected = [(i, 0, i + 100) for i in range(0, 5000, 500)]
    shipping = live.cqels.leaves.IndexShipping
    counts = []
    for plan in [live.prepare(frame) for _ in range(3)]:
        for _ in range(3):
            assert live.as_job(plan, 2) == expected
            counts.append(shipping.sentOf(static))
    assert counts == [1] * 9


def check_texts_stay_on_the_driver(live: LiveRoom) -> None:
    """Plans say that they need texts, which executors do not have, where they do; nowhere else."""
    assert live.room.executorsApart()
    content = live.stage("terms")

    def put(rows: list[tuple[str, str]]) -> None:
        live.put(content, [tuple(map(live.id, row)) for row in rows])

    def prepared(expression: str) -> Any:
        column = f"{written(live, expression)} as x"
        return live.prepare(live.frame(content, "a", "b").selectExpr(column))

    for name, expression in (OF_IDS | OF_VALUES).items():
        plan = prepared(expression)
        put(NUMBERS if name in OF_VALUES else NUMBERS + TEXTS)
        assert live.as_job(plan, 2) == live.on_driver(plan), name
    for name, expression in (OF_VALUES | OF_TEXTS).items():
        put(TYPED if name in OF_VALUES else TEXTS)
        try:
            live.as_job(prepared(expression), 2)
        except Exception as error:
            assert "at the driver only" in str(error), name
        else:
            raise AssertionError(f"{name}: a text was found on an executor")


def check_static_rows_are_computed_where_the_texts_are(live: LiveRoom) -> None:
    """Tables are read on executors, what needs texts is computed on the driver."""
    assert live.room.executorsApart()
    a, b, c, d = (live.id(f'"{name}"') for name in "abcd")
    rows = [(1, a), (2, b), (3, c), (4, d)]
    # Exchanged rows are not the driver's any more.
    table = live.stock(rows, "n", "t").repartition(2)
    other = live.stock([(b,), (c,), (d,)], "u").repartition(2)

    def call(function: str, *arguments: str) -> str:
        return f"cqels_{function}({live.number}L, {', '.join(arguments)})"

    joined, less = table.t == other.u, call("less", "t", "u")
    before_c = call("less", "t", f"cqels_term({c}L)")
    wanted = {
        "filter": (table.where(before_c), rows[:2]),
        "bind": (table.selectExpr(call("ucase", "t")), [(live.id(f'"{x}"'),) for x in "ABCD"]),
        "over a join": (table.join(other, joined).where(before_c), [(2, b, b)]),
        "under a join": (table.where(before_c).join(other, joined), [(2, b, b)]),
        "in a semi join": (table.join(other, F.expr(less), "left_semi"), rows[:3]),
        "in an outer join": (
            table.join(other, F.expr(less), "left").select("n", F.coalesce("u", "t")),
            [(1, b), (1, c), (1, d), (2, c), (2, d), (3, d), (4, d)],
        ),
        "groups": (table.groupBy("n").agg(F.expr(call("max", "t"))), rows),
    }
    for name, (frame, expected) in wanted.items():
        content = live.room.staticContent(name, frame._jdf)
        assert live.rows(content.table()) == sorted(expected), name


def check_clusters_in_parts(live: LiveRoom) -> None:
    """A join whose larger relations lie in parts answers as a naive one; rows are exchanged on the way."""
    exchanged = 0
    for seed in range(30_000, 30_020):
        cluster, shown = random_cluster(seed, plans=True), SHOWN[seed % len(SHOWN)]
        getattr(live.room, "broadcastRows_$eq")((15, 60)[seed % 2])
        plan = PlannedCluster(live, cluster, shown)
        for number, evaluation in enumerate(cluster.evaluations):
            cluster.evaluations[number] = replace(evaluation, slices=1 + (seed + number) % 3)
            assert plan.answers(number) == plan.expected(number), (seed, shown, number)
            exchanged += sum(name.startswith("exchange") for name, *_ in plan.steps())
    assert exchanged > 15, exchanged


def check_static_parts_are_sent_once(live: LiveRoom) -> None:
    """What is large and static is put in parts once; steps, their rows and the history are those of all tasks."""
    getattr(live.room, "broadcastRows_$eq")(1000)
    names = live.static("names", [(n, n + 100_000) for n in range(1, 5001)])
    knows = live.static("knows", [(n, n % 5000 + 1) for n in range(1, 5001)])
    now, rooms = live.stage("now"), live.static("rooms", [(r, r + 900_000) for r in range(1, 4)])
    builder = live.room.cluster(live.names("p", "r", "q", "n", "m"), live.names(*"prqnm"))
    for name, content, columns in (
        ("now", now, "pr"),
        ("knows", knows, "pq"),
        ("names", names, "qn"),
        ("rooms", rooms, "rm"),
    ):
        builder.relation(name, live.frame(content, *columns)._jdf)
    frame = DataFrame(builder.frame(live.names(*"pnm"), 1000), live.spark)
    order, plan = builder.clusterOrder(), live.prepare(frame)
    for last in (300, 700, 5000):
        live.put(now, [(p, p % 3 + 1) for p in range(1, last + 1, 3)])
        order.drive(0)
        expected = [(p, p % 5000 + 1 + 100_000, p % 3 + 1 + 900_000) for p in range(1, last + 1, 3)]
        assert live.as_job(plan, 2) == expected
        report, rows = json.loads(order.report()), len(expected)
        steps = {name: counts for name, *counts in report["steps"]}
        # Where the rows of now are many, too, they lie in parts by what they are joined by.
        assert ("exchange by ?p of knows" in steps) == (rows <= 1000), report
        assert steps.get("exchange by ?p of knows", [rows, rows])[:2] == [rows, rows], steps
        assert steps["exchange by ?q of names"][:2] == [rows, rows], steps
        assert steps["?q from knows"][:3] == [rows, rows, rows], steps
        assert steps["?n from names"][:3] == [rows, rows, rows], steps
        assert report["order"][0] == "now" and len(report["order"]) == 4, report
        kept = live.cqels.clusters.RelationParts
        assert [kept.keptOf(content) for content in (names, knows, rooms)] == [1, 1, 0]
    order.drive(-1)
    live.put(now, [(1, 2)])
    assert live.as_job(plan, 1) == [(1, 100_002, 900_002)]
    # As the driver does it.
    assert live.on_driver(plan) == [(1, 100_002, 900_002)]
    assert not any(name.startswith("exchange") for name, *_ in json.loads(order.report())["steps"])


CHECKS: dict[str, Callable[[LiveRoom], None]] = {
    name: check for name, check in list(globals().items()) if name.startswith("check_")
}


def main() -> None:
    """Run all checks in one session; a check that fails is told with its trace."""
    import sparkext

    serializer, folder = sys.argv[1:]
    builder = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.serializer", f"org.apache.spark.serializer.{serializer}Serializer")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
    )
    spark = sparkext.configure(builder).getOrCreate()
    live = LiveRoom(spark, Path(folder))
    told = {}
    for name, check in CHECKS.items():
        try:
            check(live)
            told[name] = ""
        except Exception:
            told[name] = traceback.format_exc()
    live.close()
    spark.stop()
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
