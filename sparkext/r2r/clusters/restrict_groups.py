"""Rule: a group over static data is computed only for the keys that the windows around it hold (magic sets)."""

from __future__ import annotations

import dataclasses

from sparkext.language.algebra import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    Project,
    ToMultiset,
    Window,
)
from sparkext.language.expressions import VariableReference
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.r2r.leaves.delta_patterns import TimedPattern
from sparkext.r2r.leaves.element_patterns import ElementPattern
from sparkext.r2r.leaves.flattening import Cluster
from sparkext.r2r.leaves.leaf import DerivedLeaf, WindowLeaf
from sparkext.r2r.leaves.star_patterns import StarPattern
from sparkext.rewriting.bound_variables import certain_variables


def restrict_groups(cluster: Cluster) -> Cluster:
    """Join the distinct window bindings of a group's keys into the group's input.

    Before::

        Join(Window(now, {?p1 loc:at ?l}), Group(?p1 ?p2; COUNT; ?x creator ?p1 . ?y creator ?p2 . ?x references ?y))

    after: the input of the group is also joined with ``Distinct(Project(Window(now, {?p1 loc:at ?l}), ?p1))``.

    The added relation holds each key once, so a group keeps all its rows or vanishes; those that vanish would have
    found no partner in the outer join. Only keys that are plain variables, bound in every row of the input and shown by
    every SELECT around the group, qualify: one that is hidden is another variable than the windows'. Patterns on single
    elements restrict nothing: no window keeps distinct bindings of them.
    """
    windows = [
        leaf
        for leaf in cluster.leaves
        if isinstance(leaf, WindowLeaf) and not isinstance(leaf.pattern, ElementPattern)
    ]
    leaves = tuple(
        dataclasses.replace(leaf, node=_restrict(leaf.node, windows))
        if isinstance(leaf, DerivedLeaf) and leaf.static
        else leaf
        for leaf in cluster.leaves
    )
    return dataclasses.replace(cluster, leaves=leaves)


def _restrict(
    node: Node, windows: list[WindowLeaf], shown: frozenset[Variable] | None = None
) -> Node:
    if isinstance(node, Project | ToMultiset | Filter | Extend):
        # HAVING looks at whole groups, a projection or an expression at columns: all let the restriction through.
        if isinstance(node, Project):
            shown = frozenset(node.names) if shown is None else shown & set(node.names)
        return node.replace_children((_restrict(node.children[0], windows, shown),))
    if not isinstance(node, Group) or not node.keys:
        return node
    keys = _plain_keys(node) if shown is None else _plain_keys(node) & shown
    restricted = node.input
    for leaf in windows:
        for key in leaf.variables:
            if key in keys:
                pattern: Node = Bgp((_part(leaf.pattern, key),))
                if leaf.graph is not None:
                    pattern = Graph(leaf.graph, pattern)
                bindings = Window(leaf.window, pattern, leaf.strict)
                restricted = Join(restricted, Distinct(Project(bindings, (key,))))
    return dataclasses.replace(node, input=restricted)


def _part(pattern: TriplePattern, key: Variable) -> TriplePattern:
    """One pattern that binds the key, or any where it is the name of the graph around them.

    The windows keep distinct bindings of single patterns, without times: what has just arrived is among them.
    """
    if isinstance(pattern, TimedPattern):
        return pattern.plain
    parts = pattern.parts if isinstance(pattern, StarPattern) else (pattern,)
    return next((part for part in parts if key in part.variables), parts[0])


def _plain_keys(group: Group) -> frozenset[Variable]:
    bound = certain_variables(group.input)
    return frozenset(
        key
        for key, expression in group.keys
        if isinstance(expression, VariableReference) and expression.variable == key and key in bound
    )
