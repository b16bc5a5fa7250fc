"""DuckDB over a stream's relations as tables of integers, the SQL planned anew for each run."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from adaptive import QueryGraph
from bench.join_orders.flipping_filters import BURDEN, SURE, surely_above
from bench.join_orders.integer_relations import Pairs, Terms, table_of
from bench.report import BenchError

THREADS = 2


class DuckDbRelations:
    """A connection that holds static relations once, and those of windows as they are in a batch.

    Functions of filters are Python's, over a vector of values; each different one takes as long as the engine's call.
    """

    def __init__(self, graph: QueryGraph, answered: Sequence[str], terms: Terms) -> None:
        try:
            import duckdb
            from duckdb.func import PythonUDFType
        except ImportError:
            raise BenchError("duckdb is not installed: pip install 'spark-cqels[bench]'") from None
        self._interrupted = duckdb.InterruptException
        self._graph = graph
        self._terms = terms
        self._answered = answered
        self._held: dict[str, Pairs] = {}
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {THREADS}")
        self._probabilities = np.zeros(0)
        if graph.filters:
            self._connection.create_function(
                "surely",
                self._surely,
                ["INTEGER"],
                "DOUBLE",
                type=PythonUDFType.ARROW,
            )

    def hold(self, rows: Mapping[str, Pairs]) -> None:
        """Replace the tables whose rows are others than before."""
        for number, relation in enumerate(self._graph.relations):
            held = rows[relation.name]
            if self._held.get(relation.name) is not held:
                arriving = pa.table({"s": held[:, 0], "o": held[:, 1]})
                self._connection.register("arriving", arriving)
                self._connection.execute(f"CREATE OR REPLACE TABLE r{number} AS FROM arriving")
                self._connection.unregister("arriving")
                self._held[relation.name] = held
        if self._graph.filters:
            texts = self._terms.texts
            self._probabilities = np.array(
                [surely_above(text) if text.startswith('"U(') else 0.0 for text in texts]
            )

    def run(self, most_seconds: float) -> tuple[float, pa.Table | None]:
        """Milliseconds, and the answers as numbers of terms; None where it was given up after so many seconds."""
        sql = select(self._graph, self._answered)
        alarm = threading.Timer(most_seconds, self._connection.interrupt)
        alarm.start()
        started = time.perf_counter()
        try:
            answers = self._connection.sql(sql).to_arrow_table()
        except self._interrupted:
            answers = None
        finally:
            taken = time.perf_counter() - started
            alarm.cancel()
            alarm.join()
        return taken * 1e3, answers

    def _surely(self, values: pa.ChunkedArray) -> pa.Array:
        numbers = np.asarray(values)
        time.sleep(len(np.unique(numbers)) * BURDEN / 1e9)
        return pa.array(self._probabilities[numbers])

    def close(self) -> None:
        """End the connection."""
        self._connection.close()


def select(graph: QueryGraph, answered: Sequence[str]) -> str:
    """The SQL of a query graph over tables r0, r1, ... of columns s and o.

    >>> from adaptive import Relation, RelationKind
    >>> graph = QueryGraph((Relation("?a knows ?b", ("a", "b"), RelationKind.STATIC),
    ...                     Relation("?b name ?n", ("b", "n"), RelationKind.STATIC)))
    >>> select(graph, ["a", "n"])
    'SELECT r0.s AS "a", r1.o AS "n" FROM r0, r1 WHERE r0.o = r1.s'
    """
    columns: dict[str, list[str]] = {}
    for number, relation in enumerate(graph.relations):
        table_of(relation.name)  # subjects and objects, nothing else
        for variable, column in zip(relation.variables, "so", strict=True):
            columns.setdefault(variable, []).append(f"r{number}.{column}")
    conditions = [
        f"{one} = {other}" for same in columns.values() for one, other in itertools.pairwise(same)
    ]
    for item in graph.filters:
        conditions += [f"surely({columns[variable][0]}) > {SURE}" for variable in item.variables]
    shown = ", ".join(f'{columns[variable][0]} AS "{variable}"' for variable in answered)
    tables = ", ".join(f"r{number}" for number in range(len(graph.relations)))
    return f"SELECT {shown} FROM {tables} WHERE {' AND '.join(conditions)}"
