"""From algebra to DataFrames of ids: joins in the order that `adaptive` chooses, the rest as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from typing import TYPE_CHECKING

from adaptive import CostModel, PlanNode, PrejoinPolicy
from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Path,
    Project,
    Reduced,
    Slice,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.expressions import Aggregate, Expression
from sparkext.language.nodes import Node, Position, Variable
from sparkext.language.support import expressions_of, query_word
from sparkext.r2r.clusters.cluster_binds import bind, flatten_with_binds, only_read
from sparkext.r2r.clusters.cluster_choice import ClusterChoice
from sparkext.r2r.clusters.cluster_compiling import ClusterCompiling
from sparkext.r2r.clusters.cluster_plans import ClusterPlanner
from sparkext.r2r.clusters.distribute_unions import distributed
from sparkext.r2r.clusters.restrict_groups import restrict_groups
from sparkext.r2r.clusters.share_clusters import (
    over_stage,
    read_outside,
    shared_cluster,
    shared_group,
    with_group,
)
from sparkext.r2r.functions.expressions import ExpressionCompiler
from sparkext.r2r.functions.function_table import is_volatile, makes_terms, reads_clock
from sparkext.r2r.functions.uncertain_placement import UncertainPlacement
from sparkext.r2r.functions.variable_columns import column_name
from sparkext.r2r.leaves.flattening import Cluster, flatten, flatten_group
from sparkext.r2r.leaves.leaf import (
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    StaticLeaf,
    WindowLeaf,
    has_arrived,
)
from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH, Scope
from sparkext.r2r.leaves.star_patterns import StarPattern
from sparkext.r2r.operators.existence import Existence
from sparkext.r2r.operators.grouping import grouped
from sparkext.r2r.operators.optional_and_minus import optional, without_compatible
from sparkext.r2r.operators.path_searches import PathSearches
from sparkext.r2r.operators.slices import sliced
from sparkext.r2r.patterns.stage_rows import Given, LiveRows, StageRows
from sparkext.r2r.relations.frames import Frames
from sparkext.r2r.relations.part_keys import leaf_key
from sparkext.r2r.relations.solutions import Solutions, union
from sparkext.rewriting.bound_variables import certain_variables

if TYPE_CHECKING:
    from pyspark.sql import Column

    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.r2r.relations.leaf_estimates import LeafEstimates


@dataclass
class PatternCompiler(ClusterCompiling):
    """Compiles the patterns of one query; most members are told of where they are asked for.

    `rules` says whether the rewrites of joins and groups are on. `choices` collects every join order that was chosen;
    with `orders`, those of an earlier compilation of the same query, these are taken instead. What the expressions need
    is noted: whether they make terms, read the clock, or may have another value at each evaluation.
    """

    room: EngineRoom
    frames: Frames
    expressions: ExpressionCompiler
    estimates: LeafEstimates
    policy: PrejoinPolicy
    adaptive: bool = True
    rules: bool = True
    costs: CostModel = field(default_factory=CostModel)
    orders: Sequence[PlanNode] = ()
    early_filters: bool = True
    cluster_join: bool = False
    pins_orders: bool = False
    uncertain: UncertainPlacement = field(default_factory=UncertainPlacement)
    choices: list[ClusterChoice] = field(default_factory=list)
    makes_terms: bool = False
    reads_clock: bool = False
    volatile: bool = False
    givens: dict[int, Solutions] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def number(self) -> int:
        return next(self._numbers)

    def give(self, solutions: Solutions) -> int:
        number = self.number()
        self.givens[number] = solutions
        return number

    def read_twice(self, solutions: Solutions, position: Position | None) -> Solutions:
        if not self.room.draws_lots(solutions.frame):
            return solutions
        if not self.frames.prepared:
            raise UnsupportedFeatureError(
                "EXISTS of solutions with values that are drawn is not supported by stock plans",
                *(position or (1, 1)),
            )
        return self.frames.stage(f"stage of solutions {self.number()}", solutions)

    def compile(
        self, node: Node, scope: Scope = DEFAULT_GRAPH, needed: frozenset[Variable] | None = None
    ) -> Solutions:
        match node:
            case Union():
                left = self.compile(node.left, scope, needed)
                return union(left, self.compile(node.right, scope, needed))
            case LeftJoin():
                return optional(self, node, scope, needed)
            case Extend():
                return self._extend(node, scope, needed)
            case Group():
                return grouped(self, node, scope)
            case Project():
                inner = frozenset(node.names)
                return self.compile(node.input, scope, inner).select(node.names)
            case Distinct() | Reduced():
                return self._distinct(node, scope)
            case Values():
                return self._values(node)
            case ToMultiset():
                return self.compile(node.input, scope, needed)
            case StageRows():
                return self.frames.staged(node.stage)
            case LiveRows():
                return self.frames.live(node, self.estimates.live_rows(node))
            case Given():
                given = self.givens[node.number]
                return given.select(given.variables)
            case Path():
                return PathSearches(self).relation(node, scope)
            case Minus():
                return without_compatible(self, node, scope, needed)
            case Slice():
                return sliced(self, node, scope)
            case OrderBy():  # a bag has no order
                return self.compile(node.input, scope, needed)
            case Bgp() | Join() | Window() | Graph() | Filter():
                return self.join(self._group_of(node, scope), needed)
            case _:
                where = node.position or (1, 1)
                raise UnsupportedFeatureError(f"{query_word(node)} is not supported here", *where)

    # -- joins ------------------------------------------------------------------------------------

    def _group_of(self, node: Node, scope: Scope) -> Cluster:
        return (flatten_with_binds if self.uncertain.lazy else flatten_group)(node, scope)

    def join(self, cluster: Cluster, needed: frozenset[Variable] | None = None) -> Solutions:
        if not cluster.leaves:
            return self._unit(cluster)
        cluster = only_read(cluster, needed)
        late = tuple(c for c in cluster.conditions if is_volatile(c))
        if late:  # what differs between evaluations or solutions is asked once, of whole solutions
            rest = tuple(c for c in cluster.conditions if c not in late)
            read = {v for condition in late for v in condition.variables}
            solutions = self.join(
                replace(cluster, conditions=rest), None if needed is None else needed | read
            )
            for condition in late:
                solutions = self.where(solutions, condition)
            return solutions
        cluster = _arrived_first(cluster)
        if self.rules and self.frames.prepared:
            parts = distributed(cluster, self.keeps)
            if len(parts) > 1:
                return reduce(union, [self.join(part, needed) for part in parts])
            cluster = self._share(cluster, needed)
            cluster = self._restrict(cluster)
        return ClusterPlanner(self, cluster, needed).solutions()

    def given_order(self) -> PlanNode | None:
        place = len(self.choices)
        return self.orders[place] if place < len(self.orders) else None

    def _unit(self, cluster: Cluster) -> Solutions:
        """The one empty solution, under conditions on nothing."""
        frame = self.room.inline_frame(["_present"], [[1]])
        unit = Solutions(frame, (), frozenset(), 1.0)
        for condition in cluster.conditions:
            unit = self.where(unit, condition)
        return unit

    # -- expressions ------------------------------------------------------------------------------

    def where(
        self, solutions: Solutions, condition: Expression, also: Sequence[str] = ()
    ) -> Solutions:
        return Existence(self).where(solutions, condition, also)

    def marked(
        self, solutions: Solutions, expressions: Sequence[Expression]
    ) -> tuple[Solutions, tuple[Expression, ...]]:
        return Existence(self).marked(solutions, expressions)

    def condition(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        self._note(expression)
        with self.expressions.calls_at(expression):
            return self.expressions.condition(expression, columns)

    def counted_condition(
        self, expression: Expression, columns: Mapping[Variable, Column]
    ) -> Column:
        self._note(expression)
        return self.expressions.counted_condition(expression, columns)

    def value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        self._note(expression)
        with self.expressions.calls_at(expression):
            return self.expressions.term(expression, columns)

    def counted_value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        self._note(expression)
        return self.expressions.counted_term(expression, columns)

    def aggregate(self, aggregate: Aggregate, solutions: Solutions) -> Column:
        self._note(aggregate)
        columns = solutions.columns
        rows = [column for variable, column in columns.items() if not variable.hidden]
        with self.expressions.calls_at(aggregate):
            return self.expressions.aggregate(aggregate, columns, rows, solutions.certain)

    def count_rows_of(self, condition: Expression) -> None:
        self.expressions.count_rows_of(condition)

    def _note(self, expression: Expression) -> None:
        self.makes_terms |= makes_terms(expression)
        self.reads_clock |= reads_clock(expression)
        self.volatile |= is_volatile(expression)

    # -- the leaves of a cluster --------------------------------------------------------------------

    def _share(self, cluster: Cluster, needed: frozenset[Variable] | None) -> Cluster:
        if (common := shared_group(cluster)) is not None:
            group, scope = common
            rows = self._stage(self.compile(group, scope))
            return self._share(with_group(cluster, group, scope, rows), needed)
        found = shared_cluster(cluster)
        if found is None:
            return cluster
        inner, rest, readers = found
        if any(v not in leaf.certain for leaf in inner.leaves for v in leaf.variables):
            return cluster  # a stage's rows have no unbound values
        rows = self._stage(self.join(inner, read_outside(inner, rest, needed)))
        leaves: list[Leaf] = [DerivedLeaf(rows, DEFAULT_GRAPH)]
        for leaf in rest.leaves:
            if isinstance(leaf, DerivedLeaf) and leaf in readers:
                leaf = replace(leaf, node=over_stage(leaf.node, rows))
            leaves.append(leaf)
        return replace(rest, leaves=tuple(leaves))

    def _stage(self, solutions: Solutions) -> StageRows:
        name = f"stage {self.number()}"
        return StageRows(name, self.frames.stage(name, solutions).variables)

    def _restrict(self, cluster: Cluster) -> Cluster:
        restricted = restrict_groups(cluster)
        leaves = tuple(
            old if old == new or self.keeps(old) else new
            for old, new in zip(cluster.leaves, restricted.leaves, strict=True)
        )
        return replace(cluster, leaves=leaves)

    def keeps(self, leaf: Leaf) -> bool:
        if not (isinstance(leaf, DerivedLeaf) and leaf.static and self.frames.prepared):
            return False
        if any(is_volatile(e) for node in leaf.node.walk() for e in expressions_of(node)):
            return False
        if (
            not leaf.variables
            or set(leaf.variables) != set(leaf.certain)
            or not self.policy.enabled
        ):
            return False
        if isinstance(leaf.node, Path):
            return PathSearches(self).keeps(leaf.node, leaf.scope)
        rows, inputs = self.estimates.largest_step(leaf.node, leaf.scope)
        return self.policy.refusal(rows, inputs) is None

    def leaf(self, leaf: Leaf, name: str, rows: float) -> Solutions:
        match leaf:
            case WindowLeaf():
                return self.frames.window(leaf, rows)
            case MergedLeaf():
                return self.frames.merged(leaf, rows)
            case StaticLeaf():
                return self.frames.static(leaf, rows)
            case DerivedLeaf() if self.keeps(leaf):
                key, columns = leaf_key(leaf, self.estimates.dataset)
                return self.frames.kept(
                    key,
                    name,
                    columns,
                    lambda: self.maker().compile(leaf.node, leaf.scope).select(columns).frame,
                )
            case _:
                return self.compile(leaf.node, leaf.scope)

    def maker(self) -> PatternCompiler:
        return replace(
            self,
            # Kept parts are made in the background, too, while an evaluation counts what it calls.
            expressions=self.expressions.apart(),
            frames=self.frames.making(),
            policy=PrejoinPolicy(enabled=False),
            rules=False,
            orders=(),
            choices=[],
        )

    # -- the other operators ------------------------------------------------------------------------

    def _extend(self, node: Extend, scope: Scope, needed: frozenset[Variable] | None) -> Solutions:
        if self.uncertain.lazy and (cluster := self._group_of(node, scope)).binds:
            return self.join(cluster, needed)
        if needed is not None:
            if node.variable not in needed and self.uncertain.lazy:
                return self.compile(node.input, scope, needed)
            needed |= set(node.expression.variables)
        inner = self.compile(node.input, scope, needed)
        bound = bind(self, inner, node.variable, node.expression)
        return replace(bound, certain=certain_variables(node) | inner.certain)

    def _distinct(self, node: Distinct | Reduced, scope: Scope) -> Solutions:
        inner = node.input
        if isinstance(inner, Project):
            # The distinct bindings of part of a window's pattern are kept up by the window itself.
            leaves = flatten(inner.input, scope)
            if len(leaves.leaves) == 1 and not leaves.conditions and self.frames.prepared:
                leaf = leaves.leaves[0]
                if (
                    isinstance(leaf, WindowLeaf)
                    and not isinstance(leaf.pattern, StarPattern)
                    and inner.names
                    and set(inner.names) <= set(leaf.variables)
                ):
                    kept = replace(leaf, kept=inner.names)
                    return self.leaf(kept, "", self.estimates.rows(kept))
        solutions = self.compile(inner, scope)
        return replace(solutions, frame=solutions.frame.distinct())

    def _values(self, node: Values) -> Solutions:
        if not node.names:
            frame = self.room.inline_frame(["_present"], [[1]] * len(node.rows))
            return Solutions(frame, (), frozenset(), float(len(node.rows)))
        rows = [
            [None if term is None else self.estimates.constant(term.n3()) for term in row]
            for row in node.rows
        ]
        frame = self.room.inline_frame([column_name(v) for v in node.names], rows)
        return Solutions(frame, node.names, certain_variables(node), float(len(rows)))


def _arrived_first(cluster: Cluster) -> Cluster:
    """What has just arrived comes first where no costs choose: all else is looked up from there."""
    arrived = [leaf for leaf in cluster.leaves if has_arrived(leaf)]
    if not arrived:
        return cluster
    rest = (leaf for leaf in cluster.leaves if leaf not in arrived)
    return replace(cluster, leaves=(*arrived, *rest))
