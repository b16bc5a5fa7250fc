"""A cluster as the query graph that `adaptive` searches: relations, filters, BINDs, and what is read of their join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from adaptive import Extend, FilterKind, JoinFilter, QueryGraph, Relation, RelationKind
from sparkext.language.expressions import Comparison, Expression
from sparkext.language.nodes import Variable
from sparkext.r2r.clusters.cluster_binds import read_variables
from sparkext.r2r.clusters.cluster_compiling import ClusterCompiling
from sparkext.r2r.leaves.delta_patterns import TimedMatch, TimedPattern
from sparkext.r2r.leaves.element_patterns import ElementPattern
from sparkext.r2r.leaves.flattening import Bind
from sparkext.r2r.leaves.leaf import (
    DerivedLeaf,
    Leaf,
    MergedLeaf,
    StaticLeaf,
    WindowLeaf,
    has_arrived,
)
from sparkext.r2r.patterns.inner_patterns import has_exists
from sparkext.r2r.patterns.stage_rows import LiveRows

_KINDS = {"=": FilterKind.EQUAL, "!=": FilterKind.NOT_EQUAL}


@dataclass(frozen=True)
class ClusterGraph:
    """The strict leaves of a cluster with what can be applied among their joins.

    `others` are leaves that are joined afterwards. All are by the names that they have in plans. `places` says whether
    what calls uncertainty functions has its place among the joins; if not, it comes after them.
    """

    compiler: ClusterCompiling
    leaves: Mapping[str, Leaf]
    others: tuple[Leaf, ...]
    conditions: Mapping[str, Expression]
    binds: Mapping[str, Bind]
    places: bool

    @cached_property
    def joined_binds(self) -> dict[str, Bind]:
        """The BINDs that are computed among the joins, in an order in which they can be."""
        bound = {v for leaf in self.leaves.values() for v in leaf.variables}
        joined = {}
        for name, bind in self.binds.items() if self.places else ():
            if set(bind.expression.variables) <= bound:
                joined[name] = bind
                bound.add(bind.variable)
        return joined

    @cached_property
    def joined_conditions(self) -> dict[str, Expression]:
        """The conditions that are applied among the joins."""
        bound = {v for leaf in self.leaves.values() for v in leaf.variables}
        bound |= {bind.variable for bind in self.joined_binds.values()}
        return {
            name: condition
            for name, condition in self.conditions.items()
            # What EXISTS finds may change while the static data do not: it is asked for at the end.
            if not has_exists(condition)
            and (self.places or not self.compiler.uncertain.comes_last(condition))
            and condition.variables
            and set(condition.variables) <= bound
        }

    @cached_property
    def expensive(self) -> dict[str, Expression]:
        """What `adaptive` places: conditions that call uncertainty functions or read a BIND, and BINDs."""
        if not self.places:
            return {}
        call_cost = self.compiler.uncertain.call_cost
        placed = {
            name: condition
            for name, condition in self.joined_conditions.items()
            if call_cost(condition) is not None or self.reads_bind(condition)
        }
        return placed | {name: bind.expression for name, bind in self.joined_binds.items()}

    def reads_bind(self, condition: Expression) -> bool:
        """Whether a condition reads a variable that is computed among the joins."""
        read = read_variables(condition)
        return any(bind.variable in read for bind in self.joined_binds.values())

    def graph(self, needed: frozenset[Variable] | None, as_written: bool) -> QueryGraph:
        """The query graph; `needed` are the variables that are read above the cluster (None: all).

        Where relations need not be `as_written`, they are in the order of their names: of plans that should cost the
        same, the same one is found however the query is written.
        """
        order = list if as_written else sorted
        relations = tuple(self._relation(name, self.leaves[name]) for name in order(self.leaves))
        conditions = self.joined_conditions
        call_cost = self.compiler.uncertain.call_cost
        filters = tuple(
            JoinFilter(
                name,
                frozenset(v.name for v in condition.variables),
                kind=_kind(condition),
                call_cost=call_cost(condition) if self.places else None,
                uncertain=self.places and call_cost(condition) is not None,
            )
            for name, condition in ((name, conditions[name]) for name in order(conditions))
        )
        extends = tuple(
            Extend(
                name,
                bind.variable.name,
                frozenset(v.name for v in bind.expression.variables),
                call_cost(bind.expression),
                uncertain=True,
            )
            for name, bind in self.joined_binds.items()
        )
        return QueryGraph(relations, filters, self._output(relations, needed), extends)

    def _output(
        self, relations: tuple[Relation, ...], needed: frozenset[Variable] | None
    ) -> frozenset[str] | None:
        """The variables that are read after the join: above, by other leaves, by what is still to come."""
        if needed is None:
            return None
        read = {v.name for v in needed}
        read |= {v.name for leaf in self.others for v in leaf.variables}
        for name, condition in self.conditions.items():
            if name not in self.joined_conditions:
                read |= {v.name for v in condition.variables}
        for name, bind in self.binds.items():
            if name not in self.joined_binds:
                read |= {v.name for v in bind.expression.variables}
        bound = [v for relation in relations for v in relation.variables]
        computed = {bind.variable.name for bind in self.joined_binds.values()}
        # A relation needs a column even where only its rows count.
        return frozenset(read & set(bound) or bound[:1]) | (read & computed)

    def _relation(self, name: str, leaf: Leaf) -> Relation:
        variables = tuple(v.name for v in leaf.variables)
        match leaf:
            case WindowLeaf(pattern=TimedPattern()):
                # A delta is looked up in windows, whose indexes are kept up, never the other way round.
                return Relation(
                    name, variables, RelationKind.DERIVED, indexable=not has_arrived(leaf)
                )
            case WindowLeaf(pattern=ElementPattern()):
                return Relation(name, variables, RelationKind.DERIVED, indexable=False)
            case WindowLeaf():
                return Relation(name, variables, RelationKind.WINDOW)
            case MergedLeaf():
                # Most of it is static: its index is not paid for row by row, as a window's is.
                return Relation(name, variables, RelationKind.DERIVED, indexable=True)
            case StaticLeaf():
                return Relation(name, variables, RelationKind.STATIC)
            case DerivedLeaf(node=TimedMatch(arrived=arrived)):
                return Relation(name, variables, RelationKind.DERIVED, indexable=not arrived)
            case DerivedLeaf(node=LiveRows()):
                return Relation(name, variables, RelationKind.WINDOW)
            case DerivedLeaf() if self.compiler.keeps(leaf):
                # Already there as a whole: an index, but no part of a larger pre-join.
                return Relation(name, variables, RelationKind.DERIVED, indexable=True)
            case _:
                return Relation(name, variables, RelationKind.DERIVED, indexable=False)


def _kind(condition: Expression) -> FilterKind:
    if isinstance(condition, Comparison):
        return _KINDS.get(condition.operator, FilterKind.RANGE)
    return FilterKind.OTHER
