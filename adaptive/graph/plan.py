"""The join order as a tree of frozen nodes, to be read bottom-up by whoever executes it.

Two plans are equal when they do the same work; estimated rows and costs do not count. The `filters`
of a node are the names of filters and binds, in the order in which they are applied to its rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from adaptive.errors import PlanError
from adaptive.graph.query_graph import QueryGraph

JoinMethod: TypeAlias = Literal["index", "hash", "cross"]


@dataclass(frozen=True)
class Scan:
    """A relation of the query graph: read row by row, or probed as the right side of an index join.

    `filters` are applied to its rows. They are empty when it is probed: what comes out of an index
    is filtered by the join.
    """

    relation: str
    filters: tuple[str, ...] = ()
    estimated_rows: float = field(default=0.0, compare=False)
    cost: float = field(default=0.0, compare=False)

    @property
    def relations(self) -> frozenset[str]:
        """The names of the relations covered."""
        return frozenset((self.relation,))

    @property
    def children(self) -> tuple[PlanNode, ...]:
        """No inputs."""
        return ()


@dataclass(frozen=True)
class Prejoined:
    """A connected part of the query that is static, joined once and kept, indexed like a relation.

    `variables` are the columns kept (those read outside the part, sorted); rows keep their
    multiplicity. `filters` lie wholly inside and are applied while it is made, never again.
    """

    name: str
    relations: frozenset[str]
    variables: tuple[str, ...]
    filters: tuple[str, ...] = ()
    estimated_rows: float = field(default=0.0, compare=False)
    cost: float = field(default=0.0, compare=False)

    @property
    def children(self) -> tuple[PlanNode, ...]:
        """No inputs: it is there before the evaluation starts."""
        return ()


@dataclass(frozen=True)
class Join:
    """The natural join of two plans: the left side is streamed, the right side is looked up.

    `on` are the shared variables, sorted; empty for method "cross". With "index" the right side is
    a Scan or a Prejoined that is probed as it stands; with "hash" and "cross" its rows are computed
    and held for this evaluation. `filters` are those that become applicable here.
    """

    left: PlanNode
    right: PlanNode
    on: tuple[str, ...]
    method: JoinMethod
    filters: tuple[str, ...] = ()
    build: Literal["right"] = "right"
    estimated_rows: float = field(default=0.0, compare=False)
    cost: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if (self.method == "cross") != (not self.on):
            raise PlanError(f"a {self.method} join on {list(self.on)} is not a {self.method} join")
        if self.method == "index" and isinstance(self.right, Join):
            raise PlanError("the right side of an index join must be a relation or a pre-join")

    # A plan is looked up by its hash before every evaluation.
    @cached_property
    def _hash(self) -> int:
        return hash(self._work)

    def __hash__(self) -> int:
        return self._hash

    # And told from others at each decision: nearly always they are the same object, or differ in their hashes.
    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Join):
            return NotImplemented
        return self._hash == other._hash and self._work == other._work

    @property
    def _work(self) -> tuple[object, ...]:
        return (self.left, self.right, self.on, self.method, self.filters, self.build)

    @cached_property
    def relations(self) -> frozenset[str]:
        """The names of the relations covered."""
        return self.left.relations | self.right.relations

    @property
    def children(self) -> tuple[PlanNode, ...]:
        """Left, then right."""
        return (self.left, self.right)


PlanNode: TypeAlias = Scan | Prejoined | Join


def walk(plan: PlanNode) -> Iterator[PlanNode]:
    """Every node of a plan, inputs before their users, left before right."""
    for child in plan.children:
        yield from walk(child)
    yield plan


def leaf_name(leaf: Scan | Prejoined) -> str:
    """The name that a leaf has in listings."""
    return leaf.relation if isinstance(leaf, Scan) else leaf.name


def join_order(plan: PlanNode) -> tuple[str, ...]:
    """The names of the leaves from left to right, a pre-joined part under its own name.

    >>> join_order(Join(Scan("now"), Scan("name1"), ("person1",), "index"))
    ('now', 'name1')
    """
    return tuple(leaf_name(node) for node in walk(plan) if not isinstance(node, Join))


def describe(plan: PlanNode, filters: bool = False) -> str:
    """The order in one line; brackets show the shape, a star what is built for the evaluation.

    With `filters`, the filters and binds that are applied at a node follow it.

    >>> pairs = Prejoined("a+b", frozenset({"a", "b"}), ("x", "y"))
    >>> now = Scan("now", filters=("warm",))
    >>> plan = Join(Join(now, pairs, ("x",), "index"), Scan("sub"), ("y",), "hash", ("near", "far"))
    >>> describe(plan), describe(plan, filters=True)
    ('((now {a+b}) sub*)', '((now[warm] {a+b}) sub*)[near, far]')
    """
    applied = f"[{', '.join(plan.filters)}]" if filters and plan.filters else ""
    if isinstance(plan, Scan):
        return plan.relation + applied
    if isinstance(plan, Prejoined):
        return "{" + plan.name + "}" + applied
    star = "" if plan.method == "index" else "*"
    left, right = describe(plan.left, filters), describe(plan.right, filters)
    return f"({left} {right}{star}){applied}"


def verify(plan: PlanNode, graph: QueryGraph) -> None:
    """Raise PlanError unless the plan joins every relation once and applies every filter and bind.

    A filter must sit where all its variables are bound; join keys must be the shared variables. A
    bind is applied once, as its variable must not become one that two sides share.
    """
    if plan.relations != frozenset(relation.name for relation in graph.relations):
        raise PlanError(f"the plan covers {sorted(plan.relations)}, not the whole query")
    reads = {filter_.name: filter_.variables for filter_ in graph.filters}
    reads |= {extend.name: extend.inputs for extend in graph.extends}
    binds = {extend.name: extend.variable for extend in graph.extends}
    applied, _ = _verify(plan, graph, reads, binds)
    missing = [name for name in reads if name not in applied]
    if missing:
        raise PlanError(f"the plan applies no {', '.join(missing)}")


def _verify(
    node: PlanNode,
    graph: QueryGraph,
    reads: Mapping[str, frozenset[str]],
    binds: Mapping[str, str],
) -> tuple[set[str], set[str]]:
    """What a part of a plan applies, and the variables that its binds have bound."""
    applied: set[str] = set()
    extended: set[str] = set()
    for child in node.children:
        more, computed = _verify(child, graph, reads, binds)
        if twice := extended & computed:
            raise PlanError(f"{describe(node)} binds {', '.join(sorted(twice))} on both sides")
        applied |= more
        extended |= computed
    if isinstance(node, Join):
        if node.left.relations & node.right.relations:
            raise PlanError(f"{describe(node)} joins a relation twice")
        shared = graph.shared_variables(
            graph.mask(node.left.relations), graph.mask(node.right.relations)
        )
        if shared != node.on:
            raise PlanError(f"{describe(node)} joins on {node.on}, sides share {shared}")
    bound = graph.variables(graph.mask(node.relations))
    for name in node.filters:
        if name not in reads:
            raise PlanError(f"{describe(node)} applies the unknown filter {name!r}")
        if not reads[name] <= bound | extended:
            raise PlanError(f"{describe(node)} applies {name!r} before its variables are bound")
        if name in binds:
            if name in applied:
                raise PlanError(f"{describe(node)} binds {binds[name]} again")
            if isinstance(node, Prejoined):
                raise PlanError(f"the pre-joined {node.name} cannot bind {binds[name]}")
            extended.add(binds[name])
        applied.add(name)
    return applied, extended
