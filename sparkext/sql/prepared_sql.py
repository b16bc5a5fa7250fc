"""A Spark SQL query prepared once and run again and again over what its live views hold."""

from __future__ import annotations

import json
import logging
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from adaptive import Join, OperatorCounts, explain, explain_choice
from adaptive.explain import node_id
from adaptive.plan import walk
from sparkext.errors import PreparationError, RunError
from sparkext.runtime.executed_operators import (
    Laid,
    Operator,
    counted_rows,
    lay_over,
    operator_tree,
    scanned,
)
from sparkext.runtime.explanation import Explanation
from sparkext.sql.join_orders import label_of, names_of, places, written_order
from sparkext.sql.joined_rows import answers_of, explained
from sparkext.sql.order_choice import Choice, OrderChoice, OrderSwitch

if TYPE_CHECKING:
    from sparkext.sql.sql_room import SqlRoom

logger = logging.getLogger(__name__)


class PreparedSql:
    """The answers of a Spark SQL query at any time, without planning it again.

    Its static parts are those of the moment of preparation: a query over tables that have changed since is prepared
    anew. Thread-safe; runs of one engine come one after the other.
    """

    def __init__(self, room: SqlRoom, query: DataFrame) -> None:
        if query.isStreaming:
            raise PreparationError(
                "a streaming DataFrame cannot be prepared; prepare a query over live views and"
                " fill these from foreachBatch"
            )
        self.schema = query.schema
        self._room = room
        self._closed = False
        self._joined = room.settings.enabled and room.settings.cluster_join_enabled
        self._background: threading.Thread | None = None
        # The choice whose plan has been prepared, or could not be.
        self._ready: tuple[Choice, bool] | None = None
        self._ran: Choice | None = None
        try:
            with room.lock:
                self._jvm = room.jvm.prepare(query._jdf)
                # Buffers outside the heap: they must not wait for the JVM's collector.
                self._release = weakref.finalize(self, self._jvm.close)
                self._release.atexit = False
                graphs = json.loads(self._jvm.graphs())
                self._choice = (
                    None
                    if self._joined
                    else OrderChoice(json.loads(self._jvm.viewRows()), graphs, room.order_policy)
                )
                # Operators choose their orders themselves, in each run, unless they are to join as written.
                self._told = json.dumps(
                    []
                    if room.order_policy.adaptive
                    else [places(written_order(graph), names_of(graph)) for graph in graphs]
                )
                self._jvm.prepare(self._key)
        except Py4JJavaError as error:
            raise PreparationError(f"the query cannot be prepared: {_message(error)}") from error

    def run(self) -> pa.Table:
        """The answers now, in columns of the types that `DataFrame.toArrow` gives; raises RunError."""
        with self._room.lock:
            self._check_open()
            self._follow()
            outcome = json.loads(self._call(self._jvm.run))
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
            self._follow()
            return DataFrame(self._call(self._jvm.frame), self._room.spark)

    @property
    def _key(self) -> str:
        """How the JVM knows the orders of now."""
        return self._told if self._choice is None else self._choice.current.key

    def _call(self, run: Callable[[str], Any]) -> Any:
        choice, self._ran = self._choice.current if self._choice is not None else None, None
        try:
            result = run(self._key)
        except Py4JJavaError as error:
            raise RunError(_message(error)) from error
        except PySparkException as error:
            raise RunError(str(error)) from error
        self._ran = choice
        return result

    def _follow(self) -> None:
        """Reconsider the order; the one that runs gives the answers, whatever fails there."""
        if self._choice is None:
            return
        try:
            self._reconsider(self._choice)
        except Exception:
            logger.exception("the join order could not be reconsidered")

    def _reconsider(self, following: OrderChoice) -> None:
        """Change to an order that has been prepared; look for a better one when views have changed much."""
        if self._ready is not None:
            (choice, prepared), self._ready = self._ready, None
            if prepared:
                following.switch(choice)
            else:
                following.failed(choice)
        rows = json.loads(self._jvm.viewRows())
        if self._background is not None or not following.due(rows):
            return
        following.counted(self._counts(following.current))
        wanted = following.compare(rows, json.loads(self._jvm.graphs()), self._jvm.knows)
        if wanted is not None:
            self._background = threading.Thread(
                target=self._prepare, args=(wanted,), name="cqels-prepare", daemon=True
            )
            self._background.start()

    def _counts(self, choice: Choice) -> dict[int, list[OperatorCounts]]:
        """What the last run counted for the joins of each cluster, if it ran in the current order."""
        found: dict[int, list[OperatorCounts]] = {}
        laid = self._laid(choice, self._operators())
        for place, (plan, operators) in enumerate(zip(choice.plans, laid, strict=True)):
            counted = counted_rows(operators)
            for node in walk(plan):
                rows = counted.get(node_id(node.relations), {}).get("actual_rows")
                if isinstance(node, Join) and rows is not None:
                    counts = OperatorCounts(node.relations, estimated=rows, actual=rows)
                    found.setdefault(place, []).append(counts)
        return found

    def _operators(self) -> list[Operator]:
        """Of the last run: those of the query, then those of each of its subqueries."""
        listings = json.loads(self._jvm.operators())
        return [operator_tree(listing) for listing in listings if listing]

    def _laid(self, choice: Choice, roots: Sequence[Operator]) -> list[Laid]:
        """The orders of now over the operators of the last run; over none where that was in another order."""
        read = scanned(roots)
        plans = []
        for plan in choice.plans:
            names = {name: label_of(name) for name in plan.relations}
            # What no scan reads by itself is derived: a grouped view, say.
            contents = {frozenset({n}): label for n, label in names.items() if label in read}
            plans.append((plan, contents))
        return lay_over(plans, roots if self._ran is choice else ())

    def _prepare(self, choice: Choice) -> None:
        try:
            self._jvm.prepare(choice.key)
            self._ready = (choice, True)
        except Exception:
            logger.warning("order %s could not be prepared", choice.text, exc_info=True)
            self._ready = (choice, False)
        finally:
            self._background = None

    def wait(self) -> None:
        """Return when no other order is being prepared; the next run uses it."""
        thread = self._background
        if thread is not None:
            thread.join()

    def explain(self) -> Explanation:
        """Join orders with estimates and reasons, and the operators with the rows of the last run."""
        with self._room.lock:
            self._check_open()
            roots = self._operators()
            shown = self._shown(roots)
            return Explanation(
                {
                    "query": "prepared SQL",
                    "execution": self._jvm.lastPlace() or "nothing yet",
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

    def _shown(self, roots: Sequence[Operator]) -> list[dict[str, Any]]:
        """Of each cluster, the order of now with what the last run counted."""
        if self._choice is None:
            clusters = [names_of(graph) for graph in json.loads(self._jvm.graphs())]
            reports = json.loads(self._jvm.joins())
            rows = answers_of(clusters, roots)
            return [explained(*told) for told in zip(clusters, reports, rows, strict=True)]
        choice = self._choice.current
        shown = []
        for plan, found, operators in zip(
            choice.plans, self._choice.explained, self._laid(choice, roots), strict=True
        ):
            counted = counted_rows(operators)
            if found is None:
                notes = ["in the order written"]
                shown.append({"plan": explain(plan, counted), "notes": notes, "considered": []})
            else:
                shown.append(explain_choice(found, counted))
        return shown

    def history(self) -> tuple[OrderSwitch, ...]:
        """Every change of join order so far; none where operators choose their order in each run."""
        return () if self._choice is None else self._choice.history

    def close(self) -> None:
        """Give back what the query holds."""
        self.wait()
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
