"""A Spark SQL query prepared once and run again and again over what its live views hold."""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from sparkext.errors import PreparationError, RunError
from sparkext.runtime.explaining.executed_operators import operator_tree
from sparkext.runtime.explaining.explanation import Explanation
from sparkext.runtime.explaining.order_history import OrderHistory, Switch
from sparkext.sql.join_orders import names_of, written_order
from sparkext.sql.joined_rows import answers_of, explained

if TYPE_CHECKING:
    from sparkext.sql.sql_room import SqlRoom


class PreparedSql:
    """The answers of a Spark SQL query at any time, without planning it again.

    They are those that Spark would give now: for a text as if it were run now, for a DataFrame as if its analysed plan
    were. What a run finds changed beside live views is read again, and the query prepared anew: `schema` may be
    another one then. Thread-safe; runs of one engine come one after the other.
    """

    def __init__(self, room: SqlRoom, query: DataFrame, text: str | None = None) -> None:
        if query.isStreaming:
            raise PreparationError(
                "a streaming DataFrame cannot be prepared; prepare a query over live views and"
                " fill these from foreachBatch"
            )
        self.schema = query.schema
        self._room = room
        self._closed = False
        self._history = OrderHistory()
        try:
            with room.lock:
                self._jvm = room.jvm.prepare(query._jdf, text)
                # Buffers outside the heap: they must not wait for the JVM's collector.
                self._release = weakref.finalize(self, self._jvm.close)
                self._release.atexit = False
                self._take_up()
        except Py4JJavaError as error:
            raise PreparationError(f"the query cannot be prepared: {_message(error)}") from error

    def _take_up(self) -> None:
        """What was prepared is given the orders that it is to have."""
        graphs = json.loads(self._jvm.graphs())
        self._names = [names_of(graph) for graph in graphs]
        written = [",".join(map(str, written_order(graph))) for graph in graphs]
        self._jvm.prepare([] if self._room.adaptive else written)

    def run(self) -> pa.Table:
        """The answers now, in columns of the types that `DataFrame.toArrow` gives.

        Raises RunError, also when what changed cannot be read; a later run tries again.
        """
        with self._room.lock:
            self._check_open()
            started = time.time()
            outcome = json.loads(self._fresh(self._jvm.run))
            self._history.note(outcome, round(started * 1e3))
        path = Path(outcome["path"])
        try:
            with pa.memory_map(str(path)) as mapped, pa.ipc.open_stream(mapped) as stream:
                return stream.read_all()
        finally:
            path.unlink()

    def to_dataframe(self) -> DataFrame:
        """The answers now as a DataFrame, which keeps them."""
        with self._room.lock:
            self._check_open()
            started = time.time()
            frame = self._fresh(self._jvm.frame)
            self._history.note({"changes": json.loads(self._jvm.changes())}, round(started * 1e3))
            return DataFrame(frame, self._room.spark)

    def _fresh(self, run: Callable[[bool], Any]) -> Any:
        """What a run gives, for which the query may have to be prepared anew first."""
        try:
            found = run(False)
            if found is None:
                self.schema = StructType.fromJson(json.loads(self._jvm.schemaJson()))
                self._take_up()
                found = run(True)
            return found
        except Py4JJavaError as error:
            raise RunError(_message(error)) from error
        except PySparkException as error:
            raise RunError(str(error)) from error

    def explain(self) -> Explanation:
        """Join orders with estimates and reasons, and the operators with the rows of the last run."""
        with self._room.lock:
            self._check_open()
            # Of the last run: operators of the query, then those of each of its subqueries.
            roots = [operator_tree(one) for one in json.loads(self._jvm.operators()) if one]
            reports = json.loads(self._jvm.joins())
            rows = answers_of(self._names, roots)
            shown = [explained(*told) for told in zip(self._names, reports, rows, strict=True)]
            return Explanation(
                {
                    "query": "prepared SQL",
                    "execution": self._jvm.lastPlace() or "nothing yet",
                    "preparations": self._jvm.preparations(),
                    "choices": shown,
                    "operators": [
                        {
                            "plan": f"subquery {number}" if number else "the query",
                            "root": root.as_dict(),
                        }
                        for number, root in enumerate(roots)
                    ],
                    "spark_plan": self._jvm.planTree(),
                }
            )

    def history(self) -> tuple[Switch, ...]:
        """Every change of a join order (the last 10,000): when its run began, in milliseconds since the epoch, and why.

        Runs on the driver tell of it; each run as a Spark job chooses by itself.
        """
        return self._history.switches

    def close(self) -> None:
        """Give back what the query holds."""
        with self._room.lock:
            if not self._closed:
                self._closed = True
                self._release()

    def _check_open(self) -> None:
        if self._closed:
            raise PreparationError("the prepared query has been closed")


def _message(error: Py4JJavaError) -> str:
    cause: Any = error.java_exception
    return str(cause.getMessage() or cause.toString())
