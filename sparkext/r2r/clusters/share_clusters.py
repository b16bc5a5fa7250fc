"""Rules: a common subexpression is computed once, be it a join that stands by itself and below an aggregate too, or a
group that several parts of a join read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparkext.language.algebra import Extend, Graph, Group, Project, ToMultiset, Window
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.functions.function_table import is_volatile
from sparkext.r2r.leaves.flattening import Cluster, flatten_group
from sparkext.r2r.leaves.leaf import DerivedLeaf, Leaf
from sparkext.r2r.leaves.scopes import Scope, reads_no_window
from sparkext.r2r.patterns.stage_rows import StageRows
from sparkext.rewriting.bound_variables import certain_variables


def shared_cluster(cluster: Cluster) -> tuple[Cluster, Cluster, tuple[DerivedLeaf, ...]] | None:
    """Find the join that stands both in this cluster and under one of its groups.

    Before: ``Join(A, B, Group(?x; MAX(?n); Join(A, B)))``, the SPARQL form of an arg max; after: the common part
    ``{A, B}``, the rest of the cluster, and the leaves whose group reads exactly the common part. The engine then
    computes the part as a stage and both places read its rows. None when there is nothing to share.
    """
    for leaf in cluster.leaves:
        if not isinstance(leaf, DerivedLeaf):
            continue
        group = _group_below(leaf.node)
        if group is None:
            continue
        inner = flatten_group(group.input, leaf.scope)
        if (
            len(inner.leaves) > 1
            and _contains(cluster, inner)
            and not all(part.static for part in inner.leaves)
        ):
            readers = tuple(
                other
                for other in cluster.leaves
                if isinstance(other, DerivedLeaf) and _reads(other, inner)
            )
            rest = replace(
                cluster,
                leaves=_without(cluster.leaves, inner.leaves),
                conditions=tuple(c for c in cluster.conditions if c not in inner.conditions),
            )
            return inner, rest, readers
    return None


def shared_group(cluster: Cluster) -> tuple[Group, Scope] | None:
    """The largest group that stands more than once below the leaves of a cluster, and its scope.

    In ``Join(G, Group(MAX(?n); G))``, where G is ``Group(?x; COUNT; P)``, it is G: the form of an arg max over
    aggregates. None where there is none over windows, or where it may leave variables unbound: a stage's rows do not.
    """
    seen: set[tuple[Group, Scope]] = set()
    for leaf in cluster.leaves:
        if not isinstance(leaf, DerivedLeaf) or leaf.static:
            continue
        for group in _groups_in(leaf.node):
            found = (group, leaf.scope)
            if found in seen:
                return found
            if (
                set(group.variables) <= certain_variables(group)
                and not reads_no_window(group, leaf.scope)
                and not any(is_volatile(e) for node in group.walk() for e in expressions_of(node))
            ):
                seen.add(found)
    return None


def with_group(cluster: Cluster, group: Group, scope: Scope, rows: StageRows) -> Cluster:
    """The cluster reading a stage's rows wherever a group of that scope stands below its leaves."""
    leaves = tuple(
        replace(leaf, node=_with_rows(leaf.node, group, rows))
        if isinstance(leaf, DerivedLeaf) and leaf.scope == scope
        else leaf
        for leaf in cluster.leaves
    )
    return replace(cluster, leaves=leaves)


def _groups_in(node: Node) -> Iterator[Group]:
    """The groups of a pattern that are in its scope, the outer ones first."""
    if isinstance(node, Group):
        yield node
    if not isinstance(node, Window | Graph):
        for child in node.children:
            yield from _groups_in(child)


def _with_rows(node: Node, group: Group, rows: StageRows) -> Node:
    if node == group:
        return rows
    if isinstance(node, Window | Graph) or not node.children:
        return node
    return node.replace_children(tuple(_with_rows(c, group, rows) for c in node.children))


def read_outside(
    part: Cluster, rest: Cluster, needed: frozenset[Variable] | None
) -> frozenset[Variable] | None:
    """The variables of a shared part that something outside it reads; None: all, as for COUNT(DISTINCT *)."""
    if needed is None:
        return None
    read = {v for leaf in rest.leaves for v in leaf.variables}
    read |= {v for condition in rest.conditions for v in condition.variables}
    read |= {v for bound in rest.binds for v in bound.expression.variables}
    for leaf in rest.leaves:
        if isinstance(leaf, DerivedLeaf):
            for node in leaf.node.walk():
                if isinstance(node, Group):
                    if any(a.argument is None and a.distinct for _, a in node.aggregates):
                        return None
                    read |= {v for _, e in (*node.keys, *node.aggregates) for v in e.variables}
    return frozenset((read | needed) & set(part.variables))


def over_stage(node: Node, rows: StageRows) -> Node:
    """The same projection and group, reading the stage's rows."""
    inner = rows if isinstance(node, Group) else over_stage(node.children[0], rows)
    return node.replace_children((inner,))


def _group_below(node: Node) -> Group | None:
    while isinstance(node, Project | Extend | ToMultiset):
        node = node.input
    return node if isinstance(node, Group) else None


def _reads(leaf: DerivedLeaf, part: Cluster) -> bool:
    group = _group_below(leaf.node)
    if group is None:
        return False
    inner = flatten_group(group.input, leaf.scope)
    return _same(inner.leaves, part.leaves) and set(inner.conditions) == set(part.conditions)


def _contains(cluster: Cluster, part: Cluster) -> bool:
    # Leaves are a bag: a pattern that stands twice multiplies rows twice.
    rest = list(cluster.leaves)
    for leaf in part.leaves:
        if leaf not in rest:
            return False
        rest.remove(leaf)
    return set(part.conditions) <= set(cluster.conditions)


def _same(left: tuple[Leaf, ...], right: tuple[Leaf, ...]) -> bool:
    return len(left) == len(right) and not _without(left, right)


def _without(leaves: tuple[Leaf, ...], removed: tuple[Leaf, ...]) -> tuple[Leaf, ...]:
    rest = list(leaves)
    for leaf in removed:
        if leaf in rest:
            rest.remove(leaf)
    return tuple(rest)
