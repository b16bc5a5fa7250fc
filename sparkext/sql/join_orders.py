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
    Scan,
    optimize,
)
from adaptive.plan import leaf_name

logger = logging.getLogger(__name__)

Graph: TypeAlias = Mapping[str, Any]
Order: TypeAlias = "int | list[Order]"

# A view that is replaced builds its index anew at each run. That of a view whose rows expire
# follows the few that come and go, when they do: to a run it is there for nothing, as a static one
# is (static parts are never pre-joined here).
_KINDS = {
    "live": RelationKind.WINDOW,
    "window": RelationKind.STATIC,
    "static": RelationKind.STATIC,
    "derived": RelationKind.DERIVED,
}
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


def query_graph(graph: Graph, indexed: bool = True) -> QueryGraph:
    """The graph of a cluster of inner joins; with `indexed` False every build side costs its rows.

    >>> query_graph({"relations": [
    ...     {"name": "0:now", "kind": "live", "rows": 5, "variables": ["v0"], "distinct": {"v0": 5}}],
    ...     "filters": []}).relations[0].indexable
    True
    """
    relations = []
    for relation in graph["relations"]:
        kind = _KINDS[relation["kind"]] if indexed else RelationKind.DERIVED
        indexable = kind is not RelationKind.DERIVED
        relations.append(Relation(relation["name"], tuple(relation["variables"]), kind, indexable))
    filters = tuple(
        JoinFilter(one["name"], frozenset(one["variables"]), kind=FilterKind(one["kind"]))
        for one in graph["filters"]
    )
    return QueryGraph(tuple(relations), filters)


def optimized(graph: Graph, indexed: bool = True) -> OptimizedPlan:
    """The cheapest order of a cluster now; static parts are not joined beforehand."""
    return optimize(
        query_graph(graph, indexed),
        Catalogue(statistics_of(graph)),
        prejoin=PrejoinPolicy(enabled=False),
    )


def places(plan: PlanNode, names: Sequence[str]) -> Order:
    """A plan as nested pairs of places among `names`.

    >>> places(Join(Scan("0:a"), Scan("1:b"), ("v",), "index"), ["0:a", "1:b"])
    [0, 1]
    """
    if isinstance(plan, Join):
        return [places(plan.left, names), places(plan.right, names)]
    return names.index(leaf_name(plan))


def names_of(graph: Graph) -> list[str]:
    """The names of the inputs of a cluster, by place."""
    return [relation["name"] for relation in graph["relations"]]


def label_of(name: str) -> str:
    """What an input of a cluster reads, from its name.

    >>> label_of("2:readings")
    'readings'
    """
    return name.partition(":")[2]


def written_order(graph: Graph) -> PlanNode:
    """The inputs as written, from the first live one on, but for cross products that can be avoided.

    >>> describe = __import__("adaptive.plan", fromlist=["describe"]).describe
    >>> def relation(name, kind, *variables):
    ...     return {"name": name, "kind": kind, "variables": variables}
    >>> describe(written_order({"relations": [
    ...     relation("a", "static", "x"), relation("b", "live", "y"), relation("c", "static", "x", "y")]}))
    '((b c*) a*)'
    """
    waiting = list(graph["relations"])
    first = next((one for one in waiting if one["kind"] != "static"), waiting[0])
    waiting.remove(first)
    plan: PlanNode = Scan(first["name"])
    bound = set(first["variables"])
    while waiting:
        following = next((one for one in waiting if bound & set(one["variables"])), waiting[0])
        waiting.remove(following)
        on = tuple(sorted(bound & set(following["variables"])))
        plan = Join(plan, Scan(following["name"]), on, "hash" if on else "cross")
        bound |= set(following["variables"])
    return plan


class JoinOrderAdvisor:
    """What Spark's optimizer asks for the order of an ordinary query's joins (JoinOrderAdvisor in Scala)."""

    def advise(self, graph: str) -> str:
        """Nested pairs of places as JSON, for a query graph as JSON; called on a thread of py4j."""
        asked: Graph = json.loads(graph)
        try:
            return json.dumps(places(optimized(asked, indexed=False).plan, names_of(asked)))
        except Exception:
            logger.debug("no join order for %s", graph, exc_info=True)
            raise

    class Java:
        """Tells py4j which interface this is."""

        implements = ("org.apache.spark.sql.cqels.JoinOrderAdvisor",)
