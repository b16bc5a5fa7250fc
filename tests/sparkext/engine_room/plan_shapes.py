"""Query plans of many shapes over live and static relations, and contents for them.

A shape is a function of `Tables`: run over frames of the engine room and over stock DataFrames of the
same rows, it must give the same answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pyspark.sql.functions as F
from pyspark.sql import DataFrame, Window

Rows = list[tuple[int, ...]]

COLUMNS = {
    "now": ("p", "l"),
    "w30": ("p", "l"),
    "tri": ("a", "b", "c"),
    "pairs": ("p", "q"),
    "names": ("p", "n"),
    "rooms": ("l", "r"),
}
LIVE = ("now", "w30", "tri")
STATIC = ("pairs", "names", "rooms")


@dataclass(frozen=True)
class Tables:
    """Where a shape finds its inputs; each access gives a new frame, so that a table joins itself."""

    make: Callable[[str], DataFrame]

    def __getattr__(self, name: str) -> DataFrame:
        return self.make(name)

    def sql(self, text: str) -> DataFrame:
        """An SQL query that names the tables in braces."""
        named = {name: self.make(name) for name in COLUMNS if "{" + name + "}" in text}
        first = next(iter(named.values()))
        return first.sparkSession.sql(text, **named)


def static_rows() -> dict[str, Rows]:
    """The static tables: pairs with duplicates, a name or two for most persons, rooms."""
    rng = random.Random(5)
    return {
        "pairs": [(rng.randrange(12), rng.randrange(12)) for _ in range(60)],
        "names": [(p, 100 + p % 5) for p in range(10)] + [(3, 777), (3, 777)],
        "rooms": [(room, 200 + room) for room in range(5)],
    }


def contents() -> list[dict[str, Rows]]:
    """What the live tables hold, one evaluation after the other."""

    def rows(seed: int, count: int, top: int, width: int) -> Rows:
        rng = random.Random(seed)
        found = {tuple(rng.randrange(top) for _ in range(width)) for _ in range(count)}
        return sorted(found)

    unique: Rows = [(i, i % 6) for i in range(9)]
    return [
        {"now": unique, "w30": [(i, i) for i in range(6)], "tri": rows(1, 20, 4, 3)},
        {"now": rows(2, 25, 8, 2), "w30": rows(3, 40, 8, 2), "tri": rows(4, 50, 4, 3)},
        {"now": [], "w30": rows(3, 40, 8, 2), "tri": []},
        {"now": rows(5, 25, 8, 2), "w30": [], "tri": rows(6, 2, 4, 3)},
        {"now": [], "w30": [], "tri": []},
        {"now": [(3, 3), *rows(7, 60, 10, 2)], "w30": rows(8, 9, 3, 2), "tri": rows(9, 64, 4, 3)},
    ]


def _even(column: str) -> F.Column:
    return F.when(F.col(column) % 2 == 0, F.col(column))


def _q2(t: Tables) -> DataFrame:
    first, second = t.names.toDF("p", "n1"), t.names.toDF("p2", "n2")
    there = t.w30.toDF("p2", "l")
    return (
        t.now.join(F.broadcast(t.pairs.toDF("p", "p2")), "p")
        .join(F.broadcast(there), ["p2", "l"])
        .join(F.broadcast(first), "p")
        .join(F.broadcast(second), "p2")
        .join(F.broadcast(t.rooms), "l")
        .where("p <> p2")
        .select("n1", "n2", "r")
    )


# Plans that may be iterated on the driver.
ON_DRIVER: dict[str, Callable[[Tables], DataFrame]] = {
    "scan": lambda t: t.now,
    "scan of a static table": lambda t: t.pairs,
    "filter and projection": lambda t: t.now.where("p > 2").selectExpr("l + 1 as x", "p"),
    "constant parameter": lambda t: t.sql("select l from {now} where p = cqels_term(3L)"),
    "inner, static": lambda t: t.now.join(F.broadcast(t.names), "p"),
    "inner, window": lambda t: t.now.join(F.broadcast(t.w30.toDF("q", "l")), "l"),
    "inner, two keys": lambda t: t.now.join(F.broadcast(t.w30), ["p", "l"]),
    "inner, three keys": lambda t: t.tri.join(F.broadcast(t.tri), ["a", "b", "c"]),
    "inner, keys crossed": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("x", "y")), (F.col("p") == F.col("y")) & (F.col("l") == F.col("x"))
    ),
    "inner, one build column twice": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("x", "y")), (F.col("p") == F.col("x")) & (F.col("l") == F.col("x"))
    ),
    "inner, condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), (F.col("l") == F.col("m")) & (F.col("p") < F.col("q"))
    ),
    "inner, computed probe key": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") + 1 == F.col("m")
    ),
    "static probe, live build": lambda t: t.pairs.join(F.broadcast(t.now), "p"),
    "Q2": _q2,
    "bushy": lambda t: t.now.join(F.broadcast(t.names), "p").join(
        F.broadcast(t.w30.toDF("q", "l").join(F.broadcast(t.rooms), "l")), "l"
    ),
    "left outer, static": lambda t: t.now.join(F.broadcast(t.names), "p", "left"),
    "left outer, window": lambda t: t.now.join(F.broadcast(t.w30.toDF("q", "l")), "l", "left"),
    "left outer, two keys, condition": lambda t: t.tri.join(
        F.broadcast(t.tri.toDF("a2", "b2", "c2")),
        (F.col("a") == F.col("a2")) & (F.col("b") == F.col("b2")) & (F.col("c") < F.col("c2")),
        "left",
    ),
    "left outer twice": lambda t: t.now.join(F.broadcast(t.w30.toDF("q", "l")), "l", "left").join(
        F.broadcast(t.names.toDF("q", "n")), "q", "left"
    ),
    "left outer, filter on a pruned column": lambda t: t.now.join(
        F.broadcast(t.w30.where("l > 3").select("p")), "p", "left"
    ),
    "left outer, filter on a renamed column": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("p", "m").where("m < 5 and p <> m").select("p", "m")), "p", "left"
    ),
    "inner, filter on a pruned and renamed column": lambda t: t.now.join(
        F.broadcast(t.tri.toDF("x", "y", "z").where("z % 2 = 1 and y < x").select("x", "y")),
        F.col("p") == F.col("x"),
    ),
    "inner, a column twice on the build side": lambda t: t.now.join(
        F.broadcast(t.w30.selectExpr("l", "p as q1", "p as q2", "l as l2")), "l"
    ),
    "semi": lambda t: t.now.join(F.broadcast(t.w30), "p", "semi"),
    "semi, two keys": lambda t: t.now.join(F.broadcast(t.w30), ["p", "l"], "semi"),
    "semi, condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")),
        (F.col("l") == F.col("m")) & (F.col("p") < F.col("q")),
        "semi",
    ),
    "semi, filtered build": lambda t: t.now.join(
        F.broadcast(t.w30.where("l % 3 <> 1").select("p")), "p", "semi"
    ),
    "anti": lambda t: t.now.join(F.broadcast(t.w30), "p", "anti"),
    "anti, static": lambda t: t.now.join(F.broadcast(t.names), "p", "anti"),
    "anti, condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")),
        (F.col("p") == F.col("q")) & (F.col("l") > F.col("m")),
        "anti",
    ),
    "anti, filter on a pruned column": lambda t: t.now.join(
        F.broadcast(t.w30.where("l > 2").select("p")), "p", "anti"
    ),
    "exists or": lambda t: t.sql(
        "select p, l from {now} n where l = 3 or exists"
        " (select /*+ BROADCAST(w) */ * from {w30} w where w.p = n.p)"
    ),
    "build left": lambda t: F.broadcast(t.now).join(t.pairs, "p"),
    "right outer, build left": lambda t: F.broadcast(t.now).join(
        t.w30.toDF("p", "m"), "p", "right"
    ),
    "nested loop, right outer, build left": lambda t: F.broadcast(t.now).join(
        t.w30.toDF("q", "m"), F.col("l") > F.col("m") + 4, "right"
    ),
    "build of a computed column": lambda t: t.now.join(
        F.broadcast(t.w30.selectExpr("p as q", "l + 1 as l")), "l"
    ),
    "build with nulls in a value": lambda t: t.now.join(
        F.broadcast(t.w30.select(F.col("l"), _even("p").alias("e"))), "l", "left"
    ),
    "build with nulls in the key": lambda t: t.now.join(
        F.broadcast(t.w30.select(_even("l").alias("l"), F.col("p").alias("q"))), "l"
    ),
    "anti, build with nulls in the key": lambda t: t.now.join(
        F.broadcast(t.w30.select(_even("l").alias("l"))), "l", "anti"
    ),
    "left outer, nulls in both keys": lambda t: t.now.select(_even("l").alias("e"), "p").join(
        F.broadcast(t.w30.select(_even("l").alias("e"), F.col("p").alias("q"))), "e", "left"
    ),
    "left outer, two keys with nulls": lambda t: t.now.select(_even("l").alias("e"), "p").join(
        F.broadcast(t.w30.select(_even("l").alias("e"), "p", (F.col("p") * 2).alias("d"))),
        ["e", "p"],
        "left",
    ),
    "build with a string": lambda t: t.now.join(
        F.broadcast(t.w30.select("l", F.concat(F.lit("1"), F.col("p")).alias("s"))), "l"
    ).selectExpr("p", "cast(s as bigint) as s"),
    "string key": lambda t: (
        t.now.withColumn("s", F.concat(F.lit("k"), F.col("l")))
        .join(
            F.broadcast(
                t.w30.select(F.concat(F.lit("k"), F.col("l")).alias("s"), "p").toDF("s", "q")
            ),
            "s",
        )
        .select("p", "q")
    ),
    "int key": lambda t: (
        t.now.withColumn("i", F.col("l").cast("int"))
        .join(
            F.broadcast(t.w30.select(F.col("l").cast("int").alias("i"), F.col("p").alias("q"))), "i"
        )
        .select("p", "q")
    ),
    "two int keys in one long": lambda t: (
        t.now.selectExpr("int(p) as i", "int(l) as j", "p")
        .join(F.broadcast(t.w30.selectExpr("int(p) as i", "int(l) as j", "l as m")), ["i", "j"])
        .select("p", "m")
    ),
    "cross": lambda t: t.now.crossJoin(F.broadcast(t.w30.toDF("q", "m"))),
    "cross with an aggregate": lambda t: t.now.crossJoin(
        F.broadcast(t.w30.agg(F.max("l").alias("m"), F.count("*").alias("k")))
    ),
    "nested loop, inequality": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") < F.col("m")
    ),
    "nested loop, left outer": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") > F.col("m") + 4, "left"
    ),
    "nested loop, semi": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") > F.col("m") + 4, "semi"
    ),
    "nested loop, anti": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") > F.col("m") + 4, "anti"
    ),
    "semi without a condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.lit(True), "semi"
    ),
    "anti without a condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.lit(True), "anti"
    ),
    "left outer without a condition": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.lit(True), "left"
    ),
    "count": lambda t: t.now.agg(F.count("*").alias("n")),
    "aggregates without keys": lambda t: t.w30.agg(
        F.max("l"), F.sum("p"), F.min("p"), F.count("l")
    ),
    "aggregates with keys": lambda t: t.w30.groupBy("l").agg(F.count("*"), F.sum("p"), F.max("p")),
    "aggregate of a join": lambda t: (
        t.now.join(F.broadcast(t.pairs), "p").groupBy("l").agg(F.count("*"), F.min("q"))
    ),
    "having": lambda t: t.w30.groupBy("l").agg(F.count("*").alias("n")).where("n > 1"),
    "aggregate of an aggregate": lambda t: (
        t.w30.groupBy("l").agg(F.count("*").alias("n")).agg(F.max("n"), F.count("*"))
    ),
    "distinct": lambda t: t.w30.select("l").distinct(),
    "count distinct": lambda t: t.w30.agg(F.countDistinct("l"), F.countDistinct("p")),
    "count distinct by key": lambda t: t.tri.groupBy("a").agg(
        F.countDistinct("b"), F.countDistinct("c"), F.sum("c")
    ),
    "object aggregate": lambda t: t.w30.groupBy("l").agg(
        F.size(F.collect_set("p")).cast("bigint"), F.array_max(F.collect_list("p"))
    ),
    "rollup": lambda t: t.tri.rollup("a", "b").agg(F.count("*"), F.grouping_id().cast("bigint")),
    "filtered aggregate": lambda t: t.sql(
        "select l, count(*) filter (where p > 3), sum(p) from {w30} group by l"
    ),
    "union": lambda t: t.now.union(t.w30),
    "union of joins": lambda t: (
        t.now.join(F.broadcast(t.names), "p")
        .select("p", "n")
        .union(t.w30.join(F.broadcast(t.rooms), "l").select("p", "r"))
        .union(t.pairs)
    ),
    "union of joins that filter on a pruned column": lambda t: t.now.join(
        F.broadcast(t.w30.where("l > 3").select(F.col("p").alias("q"))), F.col("p") == F.col("q")
    ).union(t.tri),
    "aggregate of a union": lambda t: t.now.union(t.w30).groupBy("l").agg(F.count("*")),
    "distinct union": lambda t: t.now.union(t.w30).distinct(),
    "count distinct of a union": lambda t: t.now.union(t.w30).agg(F.countDistinct("l")),
    "aggregate of a static table": lambda t: t.now.join(
        F.broadcast(t.pairs.groupBy("p").agg(F.count("*").alias("n"))), "p"
    ),
    "correlated subquery": lambda t: t.sql(
        "select p, (select max(w.l) from {w30} w where w.p = n.p) as m from {now} n"
    ),
    "intersect": lambda t: t.now.intersect(t.w30),
    "except": lambda t: t.now.select("p").exceptAll(t.w30.select("l")),
    "generate": lambda t: t.now.select("p", F.explode(F.array("p", "l", F.lit(9))).alias("x")),
    "generate outer": lambda t: t.now.select(
        "p", F.explode_outer(F.expr("sequence(1L, l % 3)")).alias("x")
    ),
    "values as build": lambda t: t.sql(
        "select /*+ BROADCAST(v) */ * from {now} join (values (1L, 10L), (3L, 30L), (3L, 31L))"
        " v(p, x) using (p)"
    ),
    "values as probe": lambda t: t.sql(
        "select /*+ BROADCAST(w) */ v.x, w.l from (values (1L, 10L), (3L, 30L), (3L, 31L)) v(p, x)"
        " join {w30} w using (p)"
    ),
    "one row": lambda t: t.sql(
        "select /*+ BROADCAST(w) */ c, p from (select 1L as c) left join {w30} w on w.l = c"
    ),
    "build of an aggregate": lambda t: t.now.join(
        F.broadcast(t.w30.groupBy("l").agg(F.count("*").alias("n"))), "l"
    ),
    "build of an aggregate, left outer": lambda t: t.now.join(
        F.broadcast(t.w30.groupBy("l").agg(F.sum("p").alias("s"))), "l", "left"
    ),
    "nested builds": lambda t: t.now.join(
        F.broadcast(
            t.w30.join(
                F.broadcast(t.tri.groupBy("a").agg(F.max("b").alias("b"))),
                F.col("p") == F.col("a"),
                "left",
            )
            .groupBy("l")
            .agg(F.count("*").alias("n"), F.max("b").alias("top"))
        ),
        "l",
    ),
    "arg max": lambda t: t.sql(
        """with counts as (select n.p, q, count(*) as c from {now} n join {pairs} x using (p)
                           group by n.p, q)
           select /*+ BROADCAST(m) */ p, q from counts
           join (select p, max(c) as c from counts group by p) m using (p, c)"""
    ),
    "static build of two tables": lambda t: t.now.join(
        F.broadcast(t.names.join(F.broadcast(t.pairs), "p")), "p"
    ),
    "self join": lambda t: t.now.alias("x").join(
        F.broadcast(t.now.alias("y")), F.col("x.l") == F.col("y.l")
    ),
    "no columns": lambda t: t.now.select(),
}

# Plans that need a Spark job: iterated on the driver they would be wrong without a word.
AS_JOB: dict[str, Callable[[Tables], DataFrame]] = {
    "top k": lambda t: t.now.orderBy("l", "p").limit(3),
    "top k of a join": lambda t: (
        t.now.join(F.broadcast(t.names), "p").orderBy(F.desc("n"), "p", "l").limit(4)
    ),
    "sort": lambda t: t.now.orderBy("l"),
    "limit": lambda t: t.now.limit(3).agg(F.count("*")),
    "offset": lambda t: t.now.offset(2).agg(F.count("*")),
    "repartition": lambda t: t.now.repartition(3, "l"),
    "sort-merge join": lambda t: t.now.join(t.w30.toDF("q", "l").hint("merge"), "l"),
    "shuffle-hash join": lambda t: t.now.join(t.w30.toDF("q", "l").hint("shuffle_hash"), "l"),
    "cartesian product": lambda t: t.now.crossJoin(
        t.w30.toDF("q", "m").hint("shuffle_replicate_nl")
    ),
    "cached table": lambda t: t.now.join(
        F.broadcast(t.now.sparkSession.range(8).selectExpr("id as p", "id * 2 as d").cache()), "p"
    ),
    "static sort-merge join": lambda t: t.names.join(t.pairs.hint("merge"), "p").join(
        F.broadcast(t.now), "p"
    ),
    "exists": lambda t: t.sql("select p from {now} where exists (select * from {w30})"),
    "not exists": lambda t: t.sql("select p from {now} where not exists (select * from {w30})"),
    "exists or, without a condition": lambda t: t.sql(
        "select p, l from {now} where l = 3 or exists (select * from {w30} where l = 7)"
    ),
    "full outer": lambda t: t.now.join(t.w30.toDF("q", "l"), "l", "full"),
    "nested loop, full outer": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") < F.col("m"), "full"
    ),
    "nested loop, right outer": lambda t: t.now.join(
        F.broadcast(t.w30.toDF("q", "m")), F.col("l") < F.col("m"), "right"
    ),
    "null-aware anti": lambda t: t.sql(
        "select p from {now} where p not in (select if(l = 2, null, l) from {w30})"
    ),
    "window function": lambda t: t.now.select(
        "p", "l", F.row_number().over(Window.partitionBy("l").orderBy("p")).cast("bigint")
    ),
    "running sum": lambda t: t.w30.select(
        "p", "l", F.sum("p").over(Window.partitionBy("l").orderBy("p"))
    ),
    "scalar subquery": lambda t: t.sql(
        "select p, l from {now} where l >= (select max(l) - 2 from {w30})"
    ),
    "scalar subquery in the result": lambda t: t.sql(
        "select p, (select count(*) from {w30}) as c from {now}"
    ),
    "scalar subquery on the build side": lambda t: t.sql(
        "select /*+ BROADCAST(w) */ n.p, w.p as q from {now} n join"
        " (select * from {w30} where l > (select min(l) from {now})) w using (l)"
    ),
    "the same shuffled part twice": lambda t: _twice(t.now.repartition("l").groupBy("l").count()),
    "static aggregate with a shuffle": lambda t: t.now.join(
        F.broadcast(t.pairs.repartition(2).groupBy("p").agg(F.count("*").alias("n"))), "p"
    ),
}


def _twice(part: DataFrame) -> DataFrame:
    other = part.toDF("l", "n")
    return part.join(other.hint("merge"), "l")
