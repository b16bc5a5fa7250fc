"""A join cluster as one operator: its relations, filters and BINDs told to the JVM, its order left open or pinned."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from adaptive import PlanNode, Prejoined, Scan
from adaptive.graph.plan import walk
from sparkext.language.nodes import Variable
from sparkext.r2r.functions.variable_columns import column_name
from sparkext.r2r.leaves.flattening import Bind
from sparkext.r2r.relations.solutions import Solutions

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom

MOST = 62
"""Relations, variables and filters of one operator at most; see JoinSpec.scala."""


@dataclass(frozen=True)
class OrderRules:
    """What is fixed of a cluster's order: relations in the order of the plan (`pinned`), and where filters stand.

    `early`: each as soon as its variables are bound; `late`: after all joins; `cost`: where it costs least.
    """

    pinned: bool
    filters: str
    expensive: str


@dataclass(frozen=True)
class ClusterOperator:
    """The solutions of a cluster, what tells its operator an order, and what that joins, by the numbers of orders."""

    solutions: Solutions
    order: Any
    joined: tuple[str, ...]


@dataclass(frozen=True)
class OperatorBuilder:
    """Makes the operator of one cluster.

    `read` gives the solutions of a scan or a pre-joined part, `apply` those of a filter over the shape of all
    variables, `bind` those with a BIND's variable.
    """

    room: EngineRoom
    rules: OrderRules
    read: Callable[[PlanNode], Solutions]
    apply: Callable[[Solutions, str], Solutions]
    bind: Callable[[Solutions, str], Solutions]
    binds: Mapping[str, Bind]
    expensive: Iterable[str]

    def build(
        self, plan: PlanNode, output: frozenset[str] | None, begin: Collection[str] = ()
    ) -> ClusterOperator:
        """The join of a plan's relations with its filters.

        `output` names the variables that are read of it (None: all), `begin` a relation that it begins with, if there
        is one.
        """
        parts = [node for node in walk(plan) if isinstance(node, Scan | Prejoined)]
        read = [self.read(node) for node in parts]
        items = [
            (name, node)
            for node in walk(plan)
            if not isinstance(node, Prejoined)
            for name in node.filters
        ]
        bound = dict.fromkeys(v for solutions in read for v in solutions.variables)
        certain = frozenset(v for solutions in read for v in solutions.certain)
        made = [self.binds[name].variable for name, _ in items if name in self.binds]
        variables = (*bound, *made)
        names = [column_name(v) + ("" if v in certain else "?") for v in variables]
        builder = self.room.cluster(names, [v.name for v in variables])
        shape = Solutions(DataFrame(builder.shape(), self.room.spark), variables, certain)
        for node, solutions in zip(parts, read, strict=True):
            builder.relation(_name(node), solutions.frame._jdf)
        after = [self._tell(builder, shape, name, node, parts) for name, node in items]
        shown = [v for v in variables if output is None or v.name in output] or [variables[0]]
        frame = builder.frame([column_name(v) for v in shown], max(1, round(plan.estimated_rows)))
        order = builder.clusterOrder()
        if self.rules.pinned:
            order.pin(",".join(map(str, range(len(parts)))))
        for number, node in enumerate(parts):
            if node.relations & set(begin):
                order.drive(number)
        order.holdBack(",".join(map(str, after)))
        solutions = Solutions(
            DataFrame(frame, self.room.spark),
            tuple(shown),
            certain & set(shown),
            plan.estimated_rows,
        )
        return ClusterOperator(solutions, order, tuple(map(_name, parts)))

    def _tell(
        self, builder: Any, shape: Solutions, name: str, node: PlanNode, parts: Sequence[PlanNode]
    ) -> int:
        """Tell of a filter or BIND: the relations that it waits for, as bits."""
        bind = self.binds.get(name)
        placed = self.rules.expensive if name in self.expensive else self.rules.filters
        by_cost = name in self.expensive and placed == "cost" and not self.rules.pinned
        if bind is None:
            builder.filter(name, self.apply(shape, name).frame._jdf, by_cost)
        else:
            without = shape.select(v for v in shape.variables if v != bind.variable)
            column = column_name(bind.variable)
            builder.bind(name, self.bind(without, name).frame._jdf, column, by_cost)
        if placed == "late":
            return (1 << len(parts)) - 1
        if self.rules.pinned:
            inside = [n for n, part in enumerate(parts) if part.relations <= node.relations]
            return sum(1 << n for n in inside)
        return 0


def fits(variables: Iterable[Variable], relations: int, items: int) -> bool:
    """Whether a cluster is small enough for one operator."""
    return max(relations, items, len(set(variables))) <= MOST


def _name(node: PlanNode) -> str:
    return node.name if isinstance(node, Prejoined) else " , ".join(sorted(node.relations))
