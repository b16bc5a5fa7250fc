"""From algebra to DataFrames of ids: joins in the order that `adaptive` chooses, the rest as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, cast

from pyspark.sql import functions as F

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
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of, query_word
from sparkext.r2r.cluster_binds import bind, flatten_with_binds, only_read
from sparkext.r2r.cluster_plans import ClusterChoice, ClusterPlanner
from sparkext.r2r.existence import Existence, optional_where_found
from sparkext.r2r.expressions import ExpressionCompiler
from sparkext.r2r.frames import Frames, StockFrames
from sparkext.r2r.function_table import is_rowwise, is_volatile, makes_terms, reads_clock
from sparkext.r2r.inner_patterns import has_exists
from sparkext.r2r.leaves import (
    DEFAULT_GRAPH,
    Cluster,
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    Scope,
    StaticLeaf,
    WindowLeaf,
    flatten,
    flatten_group,
    scope_variables,
)
from sparkext.r2r.part_keys import leaf_key
from sparkext.r2r.path_searches import PathSearches
from sparkext.r2r.restrict_groups import restrict_groups
from sparkext.r2r.share_clusters import over_stage, read_outside, shared_cluster
from sparkext.r2r.slices import sliced
from sparkext.r2r.solutions import Solutions, column, column_name, left_join, minus, union
from sparkext.r2r.stage_rows import Given, StageRows
from sparkext.r2r.uncertain_placement import UncertainPlacement
from sparkext.rewriting.bound_variables import certain_variables

if TYPE_CHECKING:
    from pyspark.sql import Column

    from sparkext.r2r.leaf_estimates import LeafEstimates
    from sparkext.runtime.engine_room import EngineRoom


@dataclass
class PatternCompiler:
    """Compiles the patterns of one query.

    `frames` gives relations, `estimates` what is known of them, `policy` what may be joined once and kept, `costs` what
    steps of a plan cost, `rules` whether the rewrites of joins and groups are on. `choices` collects every join order
    that was chosen; with `orders`, those of an earlier compilation of the same query, these are taken instead.
    `early_filters` is heuristic H3, `cluster_join` whether one operator joins a cluster, in the order of its plan if it
    `pins_orders`, `uncertain` where calls of uncertainty functions go.
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
        """A number that this query has not used yet."""
        return next(self._numbers)

    @property
    def existence(self) -> Existence:
        """Where expressions with EXISTS are evaluated."""
        return Existence(self)

    def compile(
        self, node: Node, scope: Scope = DEFAULT_GRAPH, needed: frozenset[Variable] | None = None
    ) -> Solutions:
        """The solutions of a pattern; the scope says where patterns outside WINDOW and GRAPH look.

        `needed` are the variables that are read above (None: all); others may be dropped, rows may not.
        """
        match node:
            case Union():
                left = self.compile(node.left, scope, needed)
                return union(left, self.compile(node.right, scope, needed))
            case LeftJoin():
                return self._left_join(node, scope, needed)
            case Extend():
                return self._extend(node, scope, needed)
            case Group():
                return self._group(node, scope)
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
            case Given():
                given = self.givens[node.number]
                return given.select(given.variables)
            case Path():
                return PathSearches(self).relation(node, scope)
            case Minus():
                return self._minus(node, scope, needed)
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
        """The natural join of a cluster's leaves under its conditions, in the chosen order."""
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
                solutions = self.existence.where(solutions, condition)
            return solutions
        cluster = _arrived_first(cluster)
        if self.rules and self.frames.prepared:
            cluster = self._share(cluster, needed)
            cluster = self._restrict(cluster)
        return ClusterPlanner(self, cluster, needed).solutions()

    def given_order(self) -> PlanNode | None:
        """The order that the next cluster is to have, if it is given."""
        place = len(self.choices)
        return self.orders[place] if place < len(self.orders) else None

    def _unit(self, cluster: Cluster) -> Solutions:
        """The one empty solution, under conditions on nothing."""
        frame = self.room.inline_frame(["_present"], [[1]])
        unit = Solutions(frame, (), frozenset(), 1.0)
        for condition in cluster.conditions:
            unit = self.existence.where(unit, condition)
        return unit

    def condition(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """Whether a condition holds, null for an error; notes what evaluating it needs."""
        self._note(expression)
        with self.expressions.calls_at(expression):
            return self.expressions.condition(expression, columns)

    def counted_condition(
        self, expression: Expression, columns: Mapping[Variable, Column]
    ) -> Column:
        """As `condition`, for a filter, whose rows are counted if it calls uncertainty functions."""
        self._note(expression)
        return self.expressions.counted_condition(expression, columns)

    def value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """The id of an expression's value, null for an error; notes what evaluating it needs."""
        self._note(expression)
        with self.expressions.calls_at(expression):
            return self.expressions.term(expression, columns)

    def counted_value(self, expression: Expression, columns: Mapping[Variable, Column]) -> Column:
        """As `value`, for a BIND, whose rows are counted if it calls uncertainty functions."""
        self._note(expression)
        return self.expressions.counted_term(expression, columns)

    def _aggregate(
        self, aggregate: Aggregate, columns: Mapping[Variable, Column], inner: Solutions
    ) -> Column:
        self._note(aggregate)
        rows = list(columns.values())
        with self.expressions.calls_at(aggregate):
            return self.expressions.aggregate(aggregate, columns, rows, inner.certain)

    def _note(self, expression: Expression) -> None:
        self.makes_terms |= makes_terms(expression)
        self.reads_clock |= reads_clock(expression)
        self.volatile |= is_volatile(expression)

    def _share(self, cluster: Cluster, needed: frozenset[Variable] | None) -> Cluster:
        found = shared_cluster(cluster)
        if found is None:
            return cluster
        inner, rest, readers = found
        if any(v not in leaf.certain for leaf in inner.leaves for v in leaf.variables):
            return cluster  # a stage's rows have no unbound values
        name = f"stage {len(self.choices) + 1}"
        solutions = self.frames.stage(name, self.join(inner, read_outside(inner, rest, needed)))
        rows = StageRows(name, solutions.variables)
        leaves: list[Leaf] = [DerivedLeaf(rows, DEFAULT_GRAPH)]
        for leaf in rest.leaves:
            if isinstance(leaf, DerivedLeaf) and leaf in readers:
                leaf = replace(leaf, node=over_stage(leaf.node, rows))
            leaves.append(leaf)
        return replace(rest, leaves=tuple(leaves))

    def _restrict(self, cluster: Cluster) -> Cluster:
        restricted = restrict_groups(cluster)
        leaves = tuple(
            old if old == new or self.keeps(old) else new
            for old, new in zip(cluster.leaves, restricted.leaves, strict=True)
        )
        return replace(cluster, leaves=leaves)

    def keeps(self, leaf: Leaf) -> bool:
        """Whether a static part that is no plain pattern is computed once and kept, by its estimated size."""
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
        """The solutions of one leaf."""
        match leaf:
            case WindowLeaf():
                return self.frames.window(leaf, rows)
            case MergedLeaf():
                return self.frames.merged(leaf, rows)
            case StaticLeaf():
                return self.frames.static(leaf, rows)
            case DerivedLeaf() if self.keeps(leaf):
                key, columns = leaf_key(leaf, self.estimates.dataset)
                make = self.stock()
                return self.frames.kept(
                    key,
                    name,
                    columns,
                    lambda: make.compile(leaf.node, leaf.scope).select(columns).frame,
                )
            case _:
                return self.compile(leaf.node, leaf.scope)

    def stock(self) -> PatternCompiler:
        """A compiler of static patterns to ordinary Spark plans."""
        return replace(
            self,
            # Kept parts are made in the background, too, while an evaluation counts what it calls.
            expressions=self.expressions.apart(),
            frames=StockFrames(self.room, self.estimates.dataset),
            policy=PrejoinPolicy(enabled=False),
            rules=False,
            orders=(),
            choices=[],
        )

    # -- the other operators ------------------------------------------------------------------------

    def _left_join(
        self, node: LeftJoin, scope: Scope, needed: frozenset[Variable] | None
    ) -> Solutions:
        if needed is not None:
            needed |= set(node.left.variables) & set(node.right.variables)
            needed |= set(node.condition.variables if node.condition is not None else ())
        unrepeatable = node.condition is not None and is_rowwise(node.condition)
        if node.condition is not None and has_exists(node.condition) and not unrepeatable:
            return optional_where_found(self, node, scope, needed)
        left = self.compile(node.left, scope, needed)
        right = self.compile(node.right, scope, needed)
        condition = None
        if node.condition is not None:
            columns = {v: column(v) for v in (*right.variables, *left.variables)}
            for variable in right.variables:
                if variable in left.variables and variable not in left.certain:
                    columns[variable] = F.coalesce(
                        column(variable), F.col(f"{column_name(variable)}_right")
                    )
            if is_rowwise(node.condition):
                raise UnsupportedFeatureError(
                    "a FILTER of OPTIONAL that has another value for each solution is not supported",
                    *(node.condition.position or (1, 1)),
                )
            condition = self.condition(node.condition, columns)
        rows = max(left.estimated_rows, 1.0)
        return left_join(left, right, condition, rows, broadcast=self.frames.prepared)

    def _minus(self, node: Minus, scope: Scope, needed: frozenset[Variable] | None) -> Solutions:
        shared = frozenset(node.left.variables) & frozenset(node.right.variables)
        if not shared:
            return self.compile(node.left, scope, needed)
        if needed is not None:
            needed |= shared
        read = shared | set(scope_variables(scope))
        left = self.compile(node.left, scope, needed)
        right = self.compile(node.right, scope, read)
        return minus(left, right, shared, broadcast=self.frames.prepared)

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
                    and inner.names
                    and set(inner.names) <= set(leaf.variables)
                ):
                    return self.leaf(replace(leaf, kept=inner.names), "", self.estimates.rows(leaf))
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

    def _group(self, node: Group, scope: Scope) -> Solutions:
        read = frozenset(v for _, e in (*node.keys, *node.aggregates) for v in e.variables)
        counts_rows = any(a.argument is None and a.distinct for _, a in node.aggregates)
        inner = self.compile(node.input, scope, None if counts_rows else read)
        inner, marked = self.existence.marked(
            inner, tuple(e for _, e in (*node.keys, *node.aggregates))
        )
        columns = inner.columns
        keys = [
            self.value(expression, columns).alias(column_name(key))
            for (key, _), expression in zip(node.keys, marked, strict=False)
        ]
        aggregates = [
            self._aggregate(cast(Aggregate, aggregate), columns, inner).alias(column_name(name))
            for (name, _), aggregate in zip(node.aggregates, marked[len(node.keys) :], strict=True)
        ]
        grouped = inner.frame.groupBy(*keys)
        frame = grouped.agg(*aggregates) if aggregates else inner.frame.select(*keys).distinct()
        variables = tuple(
            dict.fromkeys([k for k, _ in node.keys] + [n for n, _ in node.aggregates])
        )
        rows = max(1.0, inner.estimated_rows) if node.keys else 1.0
        return Solutions(
            frame.select(*(column(v) for v in variables)), variables, certain_variables(node), rows
        )


def _arrived_first(cluster: Cluster) -> Cluster:
    """What has just arrived comes first where no costs choose: all else is looked up from there."""
    arrived = [leaf for leaf in cluster.leaves if isinstance(leaf, WindowLeaf) and leaf.arrived]
    if not arrived:
        return cluster
    rest = (leaf for leaf in cluster.leaves if leaf not in arrived)
    return replace(cluster, leaves=(*arrived, *rest))
