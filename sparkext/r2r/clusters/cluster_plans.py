"""One cluster's way through `adaptive`: query graph in, plan out, the plan as joins of DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from adaptive import (
    Catalogue,
    Join,
    OptimizedPlan,
    PlanNode,
    Prejoined,
    QueryGraph,
    RelationStatistics,
    Scan,
    optimize_placed,
    place_given,
)
from adaptive.graph.plan import walk
from adaptive.heuristics import apply_filters_last
from adaptive.search.enumerate import DEFAULT_BUDGET
from sparkext.language.algebra import Path
from sparkext.language.nodes import Variable
from sparkext.r2r.clusters.cluster_binds import bind, read_variables
from sparkext.r2r.clusters.cluster_choice import ClusterChoice, ClusterSearch
from sparkext.r2r.clusters.cluster_compiling import ClusterCompiling
from sparkext.r2r.clusters.cluster_graph import ClusterGraph
from sparkext.r2r.clusters.cluster_join import OperatorBuilder, OrderRules, fits
from sparkext.r2r.clusters.written_order import as_written
from sparkext.r2r.leaves.delta_patterns import TimedMatch, TimedPattern
from sparkext.r2r.leaves.flattening import Cluster
from sparkext.r2r.leaves.leaf import DerivedLeaf, Leaf, WindowLeaf, has_arrived
from sparkext.r2r.leaves.leaf_names import bind_name, condition_name, leaf_name
from sparkext.r2r.operators.path_searches import PathSearches
from sparkext.r2r.relations.part_keys import join_key
from sparkext.r2r.relations.solutions import Solutions, join

PAIRS_FOR_OPERATOR = 150
"""Up to how many pairs of parts the search is exact where one operator joins, which chooses its order itself: what is
pre-joined is all that is left to decide. As many has a star of six relations."""


class ClusterPlanner:
    """Orders one cluster and builds its DataFrame.

    Leaves that may leave a shared variable unbound are no relations of a natural join; they are joined last, by
    compatibility.
    """

    def __init__(
        self, compiler: ClusterCompiling, cluster: Cluster, needed: frozenset[Variable] | None
    ) -> None:
        self._compiler = compiler
        self._cluster = cluster
        self._needed = needed
        self._names = _unique(leaf_name(leaf) for leaf in cluster.leaves)
        # A filter that stands twice lets through what it has let through.
        conditions, binds = tuple(dict.fromkeys(cluster.conditions)), cluster.binds
        names = _unique([*map(condition_name, conditions), *map(bind_name, binds)])
        self._conditions = dict(zip(names, conditions, strict=False))
        self._binds = dict(zip(names[len(conditions) :], binds, strict=True))
        leaves = dict(zip(self._names, cluster.leaves, strict=True))
        self._loose = {n: leaf for n, leaf in leaves.items() if self._is_loose(leaf)}
        strict = {n: leaf for n, leaf in leaves.items() if n not in self._loose}
        self._late = self._searched_last(strict)
        self._leaves = {n: leaf for n, leaf in strict.items() if n not in self._late}
        self._placed = ClusterGraph(
            compiler,
            self._leaves,
            (*self._loose.values(), *self._late.values()),
            self._conditions,
            self._binds,
            self._places_by_cost(),
        )
        self._solutions: dict[str, Solutions] = {}
        self._contents: dict[frozenset[str], str] = {}
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
            result = self._operator(plan) if self._is_operator(plan) else self._build(plan)
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
        return self._apply_rest(result)

    # -- choosing -----------------------------------------------------------------------------------

    def _choose(self) -> PlanNode:
        compiler = self._compiler
        expensive = self._placed.expensive
        if len(self._leaves) == 1 and not (expensive and compiler.adaptive):
            (name,) = self._leaves
            rows = self._statistics(name).rows
            plan: PlanNode = Scan(name, estimated_rows=rows)
            compiler.choices.append(ClusterChoice(name, plan, None))
            return plan
        graph = self._placed.graph(self._needed, as_written=not compiler.adaptive)
        catalogue = Catalogue({name: self._statistics(name) for name in self._leaves})
        label = " , ".join(self._leaves)
        search = ClusterSearch(graph, catalogue, self._leaves, expensive)
        chosen: OptimizedPlan | None = None
        if (given := compiler.given_order()) is not None:
            applied = {name for node in walk(given) for name in node.filters}
            plan = given if applied >= set(expensive) else self._place(given, graph, catalogue)
        elif compiler.adaptive:
            chosen = optimize_placed(
                graph,
                catalogue,
                compiler.costs,
                compiler.policy,
                compiler.uncertain.filters,
                budget=PAIRS_FOR_OPERATOR if self._fits_operator() else DEFAULT_BUDGET,
            )
            plan = chosen.plan
        else:
            written = as_written(graph, catalogue, compiler.policy)
            plan = self._place(written, graph, catalogue)
        compiler.choices.append(ClusterChoice(label, plan, chosen, search, self._contents))
        return plan if compiler.early_filters else apply_filters_last(plan, graph)

    def _place(self, plan: PlanNode, graph: QueryGraph, catalogue: Catalogue) -> PlanNode:
        compiler = self._compiler
        return place_given(plan, graph, catalogue, compiler.costs, compiler.uncertain.filters)

    def _places_by_cost(self) -> bool:
        """Whether `adaptive` places the conditions and BINDs that call uncertainty functions.

        Not for deltas: what is found from an arrival by look-ups is as little as can be. H4 means the end of the whole
        group, also of what is joined last.
        """
        compiler = self._compiler
        if compiler.uncertain.filters == "late" and (self._loose or self._late):
            return False
        return compiler.early_filters and not any(
            (isinstance(leaf, WindowLeaf) and isinstance(leaf.pattern, TimedPattern))
            or (isinstance(leaf, DerivedLeaf) and isinstance(leaf.node, TimedMatch))
            for leaf in self._leaves.values()
        )

    def _statistics(self, name: str) -> RelationStatistics:
        leaf = self._leaves[name]
        made = self._solutions.get(name)
        rows = None if made is None else made.estimated_rows
        return self._compiler.estimates.statistics(leaf, self._cluster.leaves, rows)

    # -- building -----------------------------------------------------------------------------------

    def _is_operator(self, plan: PlanNode) -> bool:
        return isinstance(plan, Join) and self._fits_operator()

    def _fits_operator(self) -> bool:
        compiler = self._compiler
        return (
            compiler.cluster_join
            and compiler.frames.prepared
            and fits(
                (*self._cluster.variables, *(b.variable for b in self._binds.values())),
                len(self._leaves),
                len(self._conditions) + len(self._binds),
            )
        )

    def _operator(self, plan: PlanNode) -> Solutions:
        """The solutions of a plan's relations, joined by one operator."""
        compiler = self._compiler
        choice = compiler.choices[-1]
        assert choice.search is not None
        expensive = self._placed.expensive
        rules = OrderRules(
            compiler.pins_orders,
            "early" if compiler.early_filters else "late",
            compiler.uncertain.filters if compiler.early_filters else "late",
        )
        builder = OperatorBuilder(
            compiler.room, rules, self._read, self._apply, self._apply, self._binds, expensive
        )
        arrived = [name for name, leaf in self._leaves.items() if has_arrived(leaf)]
        made = builder.build(plan, choice.search.graph.output, arrived)
        compiler.choices[-1] = replace(choice, order=made.order, joined=made.joined)
        return made.solutions

    def _read(self, node: PlanNode) -> Solutions:
        if isinstance(node, Prejoined):
            self._applied.update(node.filters)
            return self._prejoined(node)
        assert isinstance(node, Scan)
        return self._leaf(node.relation, node.estimated_rows)

    def _apply(self, shape: Solutions, name: str) -> Solutions:
        return self._filter(shape, (name,))

    def _build(self, plan: PlanNode, hashed: bool = False) -> Solutions:
        """A plan's solutions; `hashed` says that they are built for a hash join."""
        match plan:
            case Scan():
                leaf = self._leaf(plan.relation, plan.estimated_rows)
                if hashed and plan.filters:
                    leaf = self._compiler.frames.built(leaf)
                return self._filter(self._named(plan, leaf), plan.filters)
            case Prejoined():
                self._applied.update(plan.filters)
                return self._named(plan, self._prejoined(plan))
            case Join():
                left = self._build(plan.left)
                right = self._build(plan.right, hashed=plan.method == "hash")
                prepared = self._compiler.frames.prepared
                joined = join(left, right, plan.estimated_rows, broadcast=prepared)
                return self._filter(joined, plan.filters)

    def _named(self, plan: PlanNode, solutions: Solutions) -> Solutions:
        """Note what is read for a part of the plan, so that the rows that operators count can be laid over it."""
        if solutions.content:
            self._contents[plan.relations] = solutions.content
        return solutions

    def _leaf(self, name: str, rows: float) -> Solutions:
        if name in self._solutions:
            return self._solutions[name]
        return self._compiler.leaf(self._leaves[name], name, rows)

    def _filter(self, solutions: Solutions, names: Iterable[str]) -> Solutions:
        """Filters and BINDs by name, in that order."""
        for name in names:
            self._applied.add(name)
            if name in self._binds:
                made = self._binds[name]
                solutions = bind(self._compiler, solutions, made.variable, made.expression)
            else:
                condition = self._conditions[name]
                if self._placed.reads_bind(condition):
                    self._compiler.count_rows_of(condition)
                solutions = self._compiler.where(solutions, condition)
        return solutions

    def _apply_rest(self, solutions: Solutions) -> Solutions:
        """What is left of filters and BINDs: each filter as soon as it can be, the BINDs in their order."""
        waiting = [name for name in self._binds if name not in self._applied]
        filters = [name for name in self._conditions if name not in self._applied]
        order: list[str] = []
        for place in range(len(waiting) + 1):
            missing = {self._binds[name].variable for name in waiting[place:]}
            ready = [n for n in filters if not read_variables(self._conditions[n]) & missing]
            filters = [name for name in filters if name not in ready]
            order += [*ready, *waiting[place : place + 1]]
        return self._filter(solutions, order)

    def _prejoined(self, plan: Prejoined) -> Solutions:
        leaves = tuple(leaf for name, leaf in self._leaves.items() if name in plan.relations)
        cluster = Cluster(leaves, tuple(self._conditions[name] for name in plan.filters))
        # Where nothing of it is read, its rows still count, and rows need a column.
        shown = [v for v in cluster.variables if v.name in plan.variables] or [cluster.variables[0]]
        compiler = self._compiler
        key, columns = join_key(cluster, shown, compiler.estimates.dataset)
        return compiler.frames.kept(
            key, plan.name, columns, lambda: compiler.maker().join(cluster).select(columns).frame
        )


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return result
