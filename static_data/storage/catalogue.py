"""The catalogue: what is known of each predicate's table, as plain data for ordering joins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from static_data.jvm import extension

TOP_VALUES = 20
"""How many of the most frequent values are kept per column."""

_ROWS_PER_TASK = 1 << 20


@dataclass(frozen=True)
class ColumnStatistics:
    """Values of one column: how many distinct ones, and the most frequent as (id, rows), most
    frequent first.

    `literal_rows` is the number of rows whose value is a literal.
    """

    distinct: int = 0
    max_fan_out: int = 0
    literal_rows: int = 0
    top: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class RelationStatistics:
    """A predicate's table in a graph, or a whole graph; `predicate` describes the predicates of a
    whole graph.

    A column's fan-out is the number of rows that one value has.
    """

    rows: int = 0
    subject: ColumnStatistics = ColumnStatistics()
    object: ColumnStatistics = ColumnStatistics()
    predicate: ColumnStatistics = ColumnStatistics()

    def average_fan_out(self, column: str) -> float:
        """Rows per distinct value of `column` ("subject", "predicate" or "object"); 0 when there
        are none.

        >>> RelationStatistics(6, subject=ColumnStatistics(distinct=4)).average_fan_out("subject")
        1.5
        """
        distinct = getattr(self, column).distinct
        return self.rows / distinct if distinct else 0.0


_EMPTY = RelationStatistics()


@dataclass(frozen=True)
class Catalogue:
    """Statistics per (graph id, predicate id); predicate None stands for a whole graph."""

    relations: Mapping[tuple[int, int | None], RelationStatistics]

    def relation(self, graph: int, predicate: int | None) -> RelationStatistics:
        """Statistics of one table, or of a whole graph (`predicate` None); all zero for one that is
        not there.
        """
        return self.relations.get((graph, predicate), _EMPTY)

    def to_json(self) -> str:
        """The catalogue as JSON text."""
        entries = [
            {"table": [graph, predicate], **asdict(relation)}
            for (graph, predicate), relation in self.relations.items()
        ]
        return json.dumps({"relations": entries})

    @staticmethod
    def from_json(text: str) -> Catalogue:
        """The catalogue that `to_json` wrote."""
        relations: dict[tuple[int, int | None], RelationStatistics] = {}
        for entry in json.loads(text)["relations"]:
            columns = {name: _column(entry[name]) for name in ("subject", "object", "predicate")}
            graph, predicate = entry["table"]
            relations[graph, predicate] = RelationStatistics(entry["rows"], **columns)
        return Catalogue(relations)


def _column(entry: Mapping[str, Any]) -> ColumnStatistics:
    top = tuple((value, rows) for value, rows in entry["top"])
    return ColumnStatistics(entry["distinct"], entry["max_fan_out"], entry["literal_rows"], top)


def counts_of_quads(spark: SparkSession, quads: DataFrame, rows: int) -> list[list[int]]:
    """Count distinct `quads` (s, p, o, g) in one Spark job; see CatalogueCounts.scala for the columns.

    `rows` is their number, as far as known; it decides the number of tasks.
    """
    tasks = max(spark.sparkContext.defaultParallelism, rows // _ROWS_PER_TASK + 1)
    return [
        list(r)
        for r in extension(spark).loading.CatalogueCounts.count(quads._jdf, TOP_VALUES, tasks)
    ]


def counts_of_tables(spark: SparkSession, tables: Sequence[Any]) -> list[list[int]]:
    """The same of tables in memory, without a Spark job."""
    lines = extension(spark).loading.MemoryTables.counts(list(tables), TOP_VALUES).split("\n")
    return [[int(number) for number in line.split(",")] for line in lines if line]


def describe(
    counts: Iterable[Sequence[int]], graphs: Iterable[int], previous: Catalogue | None
) -> Catalogue:
    """The catalogue of some `graphs` from their counts; other graphs as in `previous`."""
    counted = set(graphs)
    relations: dict[tuple[int, int | None], RelationStatistics] = {}
    if previous is not None:
        relations = {key: r for key, r in previous.relations.items() if key[0] not in counted}
    columns: dict[tuple[int, int | None], dict[str, ColumnStatistics]] = {}
    sizes: dict[tuple[int, int | None], int] = {}
    for column, graph, predicate, n, distinct, most, literals, *top in counts:
        key = (graph, predicate or None)
        sizes[key] = n
        name = "subject" if column == 0 else "object"
        pairs = tuple(zip(top[::2], top[1::2], strict=True))
        columns.setdefault(key, {})[name] = ColumnStatistics(distinct, most, literals, pairs)
    for key, found in columns.items():
        if key[1] is None:
            rows_of = {p: n for (g, p), n in sizes.items() if g == key[0] and p is not None}
            found["predicate"] = predicate_statistics(rows_of)
        relations[key] = RelationStatistics(sizes[key], **found)
    return Catalogue(relations)


def predicate_statistics(rows: Mapping[int, int]) -> ColumnStatistics:
    """Statistics of a graph's predicates from the rows of each; there is at least one."""
    frequent = sorted(rows.items(), key=lambda entry: (-entry[1], entry[0]))
    return ColumnStatistics(len(frequent), frequent[0][1], 0, tuple(frequent[:TOP_VALUES]))
