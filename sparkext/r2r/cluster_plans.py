"""One cluster's way through `adaptive`: query graph in, plan out, the plan as joins of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from adaptive import (
    Catalogue,
    FilterKind,
    Join,
    JoinFilter,
    OptimizedPlan,
    PlanNode,
    Prejoined,
    QueryGraph,
    Relation,
    RelationKind,
    RelationStatistics,
    Scan,
    optimize_placed,
    place_given,
)
from adaptive.heuristics import apply_filters_last
from adaptive.plan import walk
from sparkext.language.algebra import Path, Variable
from sparkext.language.expressions import Comparison, Expression
from sparkext.r2r.delta_patterns import TimedPattern
from sparkext.r2r.inner_patterns import has_exists
from sparkext.r2r.leaf_names import condition_name, leaf_name
from sparkext.r2r.leaves import (
    Cluster,
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    StaticLeaf,
    WindowLeaf,
)
from sparkext.r2r.part_keys import join_key
from sparkext.r2r.path_searches import PathSearches
from sparkext.r2r.solutions import Solutions, join
from sparkext.r2r.written_order import as_written

if TYPE_CHECKING:
    from sparkext.r2r.compiler import PatternCompiler

_KINDS = {"=": FilterKind.EQUAL, "!=": FilterKind.NOT_EQUAL}


@dataclass(frozen=True)
class ClusterSearch:
    """What the order of a cluster was searched in: `leaves` are its relations by name.

    `priced` are the conditions that are placed by cost, by the names of their filters.
    """

    graph: QueryGraph
    catalogue: Catalogue
    leaves: Mapping[str, Leaf]
    priced: Mapping[str, Expression] = field(default_factory=dict)


@dataclass(frozen=True)
class ClusterChoice:
    """The order of one cluster: `optimized` is None where there was nothing to choose, or the order was given."""

    label: str
    plan: PlanNode
    optimized: OptimizedPlan | None
    search: ClusterSearch | None = None


def largest_step(plan: PlanNode) -> float:
    """Estimated rows of the largest thing that executing a plan computes; what is only probed does not count.

    >>> largest_step(Join(Scan("a", estimated_rows=5.0), Scan("b", estimated_rows=9.0), ("x",), "index",
    ...     estimated_rows=7.0))
    7.0
    """
    if not isinstance(plan, Join):
        return plan.estimated_rows
    computed = [plan.left] if plan.method == "index" else [plan.left, plan.right]
    return max(plan.estimated_rows, *(largest_step(side) for side in computed))


class ClusterPlanner:
    """Orders one cluster and builds its DataFrame.

    Leaves that may leave a shared variable unbound are no relations of a natural join; they are joined last, by
    compatibility.
    """

    def __init__(
        self, compiler: PatternCompiler, cluster: Cluster, needed: frozenset[Variable] | None
    ) -> None:
        self._compiler = compiler
        self._cluster = cluster
        self._needed = needed
        self._names = _unique(leaf_name(leaf) for leaf in cluster.leaves)
        self._conditions = dict(
            zip(
                _unique(condition_name(c) for c in cluster.conditions),
                cluster.conditions,
                strict=True,
            )
        )
        leaves = dict(zip(self._names, cluster.leaves, strict=True))
        self._loose = {n: leaf for n, leaf in leaves.items() if self._is_loose(leaf)}
        strict = {n: leaf for n, leaf in leaves.items() if n not in self._loose}
        self._late = self._searched_last(strict)
        self._leaves = {n: leaf for n, leaf in strict.items() if n not in self._late}
        self._prices = self._places_by_cost()
        self._solutions: dict[str, Solutions] = {}
        self._applied: set[str] = set()

    def _is_loose(self, leaf: Leaf) -> bool:
        uncertain = set(leaf.variables) - leaf.certain
        others = {v for other in self._cluster.leaves if other is not leaf for v in other.variables}
        return bool(uncertain & others) or (
            # An unshared variable that may be unbound does no harm, but one leaf at least must be strict.
            not leaf.variables
        )

    def _searched_last(self, leaves: Mapping[str, Leaf]) -> dict[str, DerivedLeaf]:
        """The paths that are searched from what the rest of the cluster binds, in the order in which they can be.

        A path that is kept as a relation is none of them, nor is one from which others are searched.
        """
        paths: dict[str, DerivedLeaf] = {}
        bound: set[Variable] = set()
        for name, leaf in leaves.items():
            is_path = isinstance(leaf, DerivedLeaf) and isinstance(leaf.node, Path)
            if isinstance(leaf, DerivedLeaf) and is_path and not self._compiler.keeps(leaf):
                paths[name] = leaf
            else:
                bound |= set(leaf.variables)
        late: dict[str, DerivedLeaf] = {}
        while paths:
            ready = [n for n, leaf in paths.items() if self._can_search(leaf, bound)]
            name = ready[0] if ready else next(iter(paths))
            leaf = paths.pop(name)
            if ready:
                late[name] = leaf
            bound |= set(leaf.variables)
        return late

    def _can_search(self, leaf: DerivedLeaf, bound: set[Variable]) -> bool:
        node = leaf.node
        assert isinstance(node, Path)
        return PathSearches(self._compiler).can_extend(node, leaf.scope, frozenset(bound))

    def solutions(self) -> Solutions:
        """The cluster's solutions."""
        result: Solutions | None = None
        if self._leaves:
            derived = [n for n, leaf in self._leaves.items() if isinstance(leaf, DerivedLeaf)]
            for name in derived:
                self._solutions[name] = self._compiler.leaf(self._leaves[name], name, 1.0)
            plan = self._choose()
            result = self._build(plan)
        for late in self._late.values():
            assert result is not None and isinstance(late.node, Path)
            searches = PathSearches(self._compiler)
            result = searches.extend(result, late.node, late.scope)
        for name, leaf in self._loose.items():
            part = self._compiler.leaf(leaf, name, 1.0)
            rows = part.estimated_rows
            if result is None:
                result = part
            else:
                rows = max(result.estimated_rows, 1.0)
                result = join(result, part, rows, broadcast=self._compiler.frames.prepared)
        assert result is not None
        return self._filter(result, [n for n in self._conditions if n not in self._applied])

    # -- choosing -----------------------------------------------------------------------------------

    def _choose(self) -> PlanNode:
        compiler = self._compiler
        priced = self._priced()
        if len(self._leaves) == 1 and not (priced and compiler.adaptive):
            (name,) = self._leaves
            rows = self._statistics(name).rows
            plan: PlanNode = Scan(name, estimated_rows=rows)
            compiler.choices.append(ClusterChoice(name, plan, None))
            return plan
        graph = self._graph(priced)
        catalogue = Catalogue({name: self._statistics(name) for name in self._leaves})
        for name, condition in priced.items():
            if (known := compiler.learned(len(compiler.choices), condition)) is not None:
                catalogue.set_filter(name, known)
        label, search = (
            " , ".join(self._leaves),
            ClusterSearch(graph, catalogue, self._leaves, priced),
        )
        chosen: OptimizedPlan | None = None
        if (given := compiler.given_order()) is not None:
            applied = {name for node in walk(given) for name in node.filters}
            plan = given if applied >= set(priced) else self._placed(given, graph, catalogue)
        elif compiler.adaptive:
            chosen = optimize_placed(
                graph, catalogue, compiler.costs, compiler.policy, compiler.uncertain.filters
            )
            plan = chosen.plan
        else:
            written = as_written(graph, catalogue, compiler.policy)
            plan = self._placed(written, graph, catalogue)
        compiler.choices.append(ClusterChoice(label, plan, chosen, search))
        return plan if compiler.early_filters else apply_filters_last(plan, graph)

    def _placed(self, plan: PlanNode, graph: QueryGraph, catalogue: Catalogue) -> PlanNode:
        compiler = self._compiler
        return place_given(plan, graph, catalogue, compiler.costs, compiler.uncertain.filters)

    def _places_by_cost(self) -> bool:
        """Whether `adaptive` places the conditions that call uncertainty functions.

        Not for deltas: what is found from an arrival by look-ups is as little as can be. H4 means the end of the whole
        group, also of what is joined last.
        """
        compiler = self._compiler
        if compiler.uncertain.filters == "late" and (self._loose or self._late):
            return False
        return compiler.early_filters and not any(
            isinstance(leaf, WindowLeaf) and isinstance(leaf.pattern, TimedPattern)
            for leaf in self._leaves.values()
        )

    def _priced(self) -> dict[str, Expression]:
        """The conditions that `adaptive` places: those that call uncertainty functions."""
        if not self._prices:
            return {}
        return {
            name: condition
            for name, condition in self._joined_conditions().items()
            if self._compiler.uncertain.price(condition) is not None
        }

    def _joined_conditions(self) -> dict[str, Expression]:
        """The conditions that are applied among the joins of strict leaves."""
        bound = {v for leaf in self._leaves.values() for v in leaf.variables}
        return {
            name: condition
            for name, condition in self._conditions.items()
            # What EXISTS finds may change while the static data do not: it is asked for at the end.
            if not has_exists(condition)
            and (self._prices or not self._compiler.uncertain.comes_last(condition))
            and condition.variables
            and set(condition.variables) <= bound
        }

    def _graph(self, priced: Mapping[str, Expression]) -> QueryGraph:
        relations = tuple(self._relation(name, leaf) for name, leaf in self._leaves.items())
        price = self._compiler.uncertain.price
        filters = tuple(
            JoinFilter(
                name,
                frozenset(v.name for v in condition.variables),
                kind=_kind(condition),
                price=price(condition) if name in priced else None,
                uncertain=name in priced,
            )
            for name, condition in self._joined_conditions().items()
        )
        return QueryGraph(relations, filters, self._output(relations, filters))

    def _output(
        self, relations: tuple[Relation, ...], filters: tuple[JoinFilter, ...]
    ) -> frozenset[str] | None:
        """The variables that are read after the join: above, by loose leaves, by conditions still to come."""
        if self._needed is None:
            return None
        read = {v.name for v in self._needed}
        others = (*self._loose.values(), *self._late.values())
        read |= {v.name for leaf in others for v in leaf.variables}
        for name, condition in self._conditions.items():
            if name not in {f.name for f in filters}:
                read |= {v.name for v in condition.variables}
        bound = [v for relation in relations for v in relation.variables]
        # A relation needs a column even where only its rows count.
        return frozenset(read & set(bound)) or frozenset(bound[:1])

    def _relation(self, name: str, leaf: Leaf) -> Relation:
        variables = tuple(v.name for v in leaf.variables)
        match leaf:
            case WindowLeaf(pattern=TimedPattern()):
                # A delta is looked up in windows, whose indexes are kept up, never the other way round.
                return Relation(name, variables, RelationKind.DERIVED, indexable=not leaf.arrived)
            case WindowLeaf():
                return Relation(name, variables, RelationKind.WINDOW)
            case MergedLeaf():
                # Most of it is static: its index is not paid for row by row, as a window's is.
                return Relation(name, variables, RelationKind.DERIVED, indexable=True)
            case StaticLeaf():
                return Relation(name, variables, RelationKind.STATIC)
            case DerivedLeaf() if self._compiler.keeps(leaf):
                # Already there as a whole: an index, but no part of a larger pre-join.
                return Relation(name, variables, RelationKind.DERIVED, indexable=True)
            case _:
                return Relation(name, variables, RelationKind.DERIVED, indexable=False)

    def _statistics(self, name: str) -> RelationStatistics:
        leaf = self._leaves[name]
        made = self._solutions.get(name)
        rows = None if made is None else made.estimated_rows
        return self._compiler.estimates.statistics(leaf, self._cluster.leaves, rows)

    # -- building -----------------------------------------------------------------------------------

    def _build(self, plan: PlanNode) -> Solutions:
        match plan:
            case Scan():
                return self._filter(self._leaf(plan.relation, plan.estimated_rows), plan.filters)
            case Prejoined():
                self._applied.update(plan.filters)
                return self._prejoined(plan)
            case Join():
                left, right = self._build(plan.left), self._build(plan.right)
                prepared = self._compiler.frames.prepared
                joined = join(left, right, plan.estimated_rows, broadcast=prepared)
                return self._filter(joined, plan.filters)

    def _leaf(self, name: str, rows: float) -> Solutions:
        if name in self._solutions:
            return self._solutions[name]
        return self._compiler.leaf(self._leaves[name], name, rows)

    def _filter(self, solutions: Solutions, names: Iterable[str]) -> Solutions:
        for name in names:
            self._applied.add(name)
            solutions = self._compiler.existence.where(solutions, self._conditions[name])
        return solutions

    def _prejoined(self, plan: Prejoined) -> Solutions:
        leaves = tuple(leaf for name, leaf in self._leaves.items() if name in plan.relations)
        cluster = Cluster(leaves, tuple(self._conditions[name] for name in plan.filters))
        # Where nothing of it is read, its rows still count, and rows need a column.
        shown = [v for v in cluster.variables if v.name in plan.variables] or [cluster.variables[0]]
        compiler = self._compiler
        key, columns = join_key(cluster, shown, compiler.estimates.dataset)
        make = compiler.stock()
        return compiler.frames.kept(
            key, plan.name, columns, lambda: make.join(cluster).select(columns).frame
        )


def _kind(condition: Expression) -> FilterKind:
    if isinstance(condition, Comparison):
        return _KINDS.get(condition.operator, FilterKind.RANGE)
    return FilterKind.OTHER


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return result
