"""Join orders for the JVM: its query graphs as those of `adaptive`, plans as nested pairs of places."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from adaptive import (
    Catalogue,
    ColumnStatistics,
    FilterKind,
    Join,
    JoinFilter,
    OptimizedPlan,
    PlanNode,
    PrejoinPolicy,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
    optimize,
)
from adaptive.graph.plan import leaf_name

logger = logging.getLogger(__name__)

Graph: TypeAlias = Mapping[str, Any]
Order: TypeAlias = "int | list[Order]"

# What a live view is taken to hold before anything has been put into it.
_EXPECTED_ROWS = 1_000.0


def statistics_of(graph: Graph) -> dict[str, RelationStatistics]:
    """Rows and distinct values of the relations of a graph, as the JVM has counted them."""
    found = {}
    for relation in graph["relations"]:
        rows = float(relation["rows"])
        distinct = {name: float(count) for name, count in relation["distinct"].items()}
        if relation["kind"] in ("live", "window") and rows == 0:
            rows, distinct = _EXPECTED_ROWS, dict.fromkeys(distinct, _EXPECTED_ROWS)
        columns = {name: ColumnStatistics(max(1.0, count)) for name, count in distinct.items()}
        found[relation["name"]] = RelationStatistics(rows, columns)
    return found


def optimized(graph: Graph) -> OptimizedPlan:
    """The cheapest order of an ordinary query's cluster now; every build side costs its rows."""
    relations = tuple(
        Relation(one["name"], tuple(one["variables"]), RelationKind.DERIVED, indexable=False)
        for one in graph["relations"]
    )
    filters = tuple(
        JoinFilter(one["name"], frozenset(one["variables"]), kind=FilterKind(one["kind"]))
        for one in graph["filters"]
    )
    return optimize(
        QueryGraph(relations, filters),
        Catalogue(statistics_of(graph)),
        prejoin=PrejoinPolicy(enabled=False),
    )


def places(plan: PlanNode, names: Sequence[str]) -> Order:
    """A plan as nested pairs of places among `names`.

    >>> from adaptive import Scan
    >>> places(Join(Scan("0:a"), Scan("1:b"), ("v",), "index"), ["0:a", "1:b"])
    [0, 1]
    """
    if isinstance(plan, Join):
        return [places(plan.left, names), places(plan.right, names)]
    return names.index(leaf_name(plan))


def names_of(graph: Graph) -> list[str]:
    """The names of the inputs of a cluster, by place."""
    return [relation["name"] for relation in graph["relations"]]


def written_order(graph: Graph) -> list[int]:
    """The places of the inputs as written, from the first live one on, but for cross products that can be avoided.

    >>> def relation(kind, *variables):
    ...     return {"kind": kind, "variables": variables}
    >>> written_order({"relations": [
    ...     relation("static", "x"), relation("live", "y"), relation("static", "x", "y")]})
    [1, 2, 0]
    """
    relations = graph["relations"]
    waiting = list(range(len(relations)))
    following = next((one for one in waiting if relations[one]["kind"] != "static"), 0)
    order: list[int] = []
    bound: set[str] = set()
    while True:
        waiting.remove(following)
        order.append(following)
        bound |= set(relations[following]["variables"])
        if not waiting:
            return order
        following = next(
            (one for one in waiting if bound & set(relations[one]["variables"])), waiting[0]
        )


class JoinOrderAdvisor:
    """What Spark's optimizer asks for the order of an ordinary query's joins (JoinOrderAdvisor in Scala)."""

    def advise(self, graph: str) -> str:
        """Nested pairs of places as JSON, for a query graph as JSON; called on a thread of py4j."""
        asked: Graph = json.loads(graph)
        try:
            return json.dumps(places(optimized(asked).plan, names_of(asked)))
        except Exception:
            logger.debug("no join order for %s", graph, exc_info=True)
            raise

    class Java:
        """Tells py4j which interface this is."""

        implements = ("org.apache.spark.sql.cqels.sql.JoinOrderAdvisor",)
