"""Random clusters through real plans: contents of the engine room, DataFrames, a plan that is prepared once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pyspark.sql.functions as F
from pyspark.sql import DataFrame

from tests.sparkext.engine_room.join.random_clusters import (
    Bag,
    Cluster,
    Content,
    Move,
    Relation,
    cells,
    numbers,
)
from tests.sparkext.engine_room.live_room import LiveRoom, Row

SHOWN = ("alone", "reversed", "computed", "grouped")
"""What stands above the join in a plan."""
ONE_THREAD = 2**62


class PlannedCluster:
    """A cluster's plan, of which `shown` tells what it makes of the join's answers."""

    def __init__(self, live: LiveRoom, cluster: Cluster, shown: str) -> None:
        self.live, self.cluster, self.shown = live, cluster, shown
        self.tables: dict[int, Any] = {}
        self.contents = [self._made(n, content) for n, content in enumerate(cluster.contents)]
        builder = live.room.cluster(live.names(*cluster.names), live.names(*cluster.names))
        shape = DataFrame(builder.shape(), live.spark)
        for number, relation in enumerate(cluster.relations):
            builder.relation(f"r{number}", self._frame(relation)._jdf)
        for number, item in enumerate(cluster.items):
            if item.binds < 0:
                frame = shape.filter(item.text)
                builder.filter(f"filter {number}", frame._jdf, item.expensive)
            else:
                column = f"v{item.binds}"
                frame = shape.drop(column).withColumn(column, F.expr(item.text))
                builder.bind(f"bind {number}", frame._jdf, column, item.expensive)
        joined = builder.frame(live.names(*(f"v{v}" for v in cluster.output)), 1000)
        self.order = builder.clusterOrder()
        live.divide(0 if cluster.threads > 1 else ONE_THREAD)
        try:
            self.plan = live.prepare(self._above(DataFrame(joined, live.spark)), "cluster")
            if cluster.warm:
                self.plan.warm()
        finally:
            live.divide(0)

    def answers(self, number: int) -> list[Row]:
        """What an evaluation answers, sorted; those before it have been asked for."""
        evaluation = self.cluster.evaluations[number]
        for move in evaluation.moves:
            self._move(move)
        order = evaluation.order
        self.order.pin(numbers(order.sequence))
        self.order.drive(order.driver)
        self.order.holdBack(numbers(order.after))
        if evaluation.slices:
            return self.live.as_job(self.plan, evaluation.slices)
        return self.live.on_driver(self.plan)

    def steps(self) -> list[list[Any]]:
        """The steps of the last evaluation; see ClusterOrder.scala."""
        told: dict[str, list[list[Any]]] = json.loads(self.order.report())
        return told["steps"]

    def expected(self, number: int) -> list[Row]:
        """What it should answer."""
        found: Bag = self.cluster.evaluations[number].expected
        if self.shown == "reversed":
            return sorted(row[::-1] for row in found.elements())
        if self.shown == "grouped":
            return sorted((*row, count) for row, count in found.items())
        return sorted(found.elements())

    def _above(self, frame: DataFrame) -> DataFrame:
        columns = frame.columns
        if self.shown == "reversed":
            return frame.select(*columns[::-1])
        if self.shown == "computed":
            return frame.selectExpr(*(f"{column} + 0L AS {column}" for column in columns))
        if self.shown == "grouped":
            return frame.groupBy(*columns).agg(F.count("*").alias("n"))
        return frame

    def _frame(self, relation: Relation) -> DataFrame:
        names = [f"v{v}" for v in relation.variables]
        if relation.derived == "cut":
            names.append("cut")
        frame = self.live.frame(self.contents[relation.content], *names)
        if relation.derived == "union":
            return frame.unionAll(frame)
        if relation.derived == "distinct":
            return frame.distinct()
        return frame.drop("cut")

    def _made(self, number: int, content: Content) -> Any:
        live, kind, arity, name = self.live, content.kind, content.arity, f"c{number}"
        if kind == "counted":
            return live.counted(name, [(*row, n) for row, n in content.static.items()], arity)
        if kind == "stage":
            return live.stage(name, arity)
        if kind in ("set", "bag"):
            self.tables[number] = live.cqels.relations.WindowTable(arity, kind == "bag")
            return live.cqels.relations.WindowContent(name, self.tables[number])
        static = live.static(name, content.static, arity)
        if kind == "static":
            return static
        merged = live.room.mergedContent(name, static, kind == "mergedbag")
        self.tables[number] = merged.windowRows().table()
        return merged

    def _move(self, move: Move) -> None:
        if move.verb == "rows":
            self.live.put(self.contents[move.content], move.rows)
        elif move.verb == "clear":
            self.tables[move.content].clear()
        else:
            change(self.live, self.tables[move.content], move.rows, move.verb == "in")


def change(live: LiveRoom, table: Any, rows: Iterable[Row], insert: bool) -> None:
    """Have rows come into the table of a window, or leave it."""
    live.cqels.clusters.JoinTrial.change(table, cells(rows), insert)
