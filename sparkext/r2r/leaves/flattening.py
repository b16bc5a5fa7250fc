"""What a group of patterns is made of once Join, WINDOW, GRAPH and FILTER are taken apart: leaves and conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sparkext.language.algebra import Bgp, Filter, Graph, Join, ToMultiset, Window
from sparkext.language.expressions import Expression
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.r2r.functions.function_table import is_rowwise
from sparkext.r2r.leaves.leaf import DerivedLeaf, Leaf, MergedLeaf, StaticLeaf, WindowLeaf
from sparkext.r2r.leaves.scopes import DefaultGraph, InWindow, Scope, inner_scope, scope_variables
from sparkext.r2r.leaves.star_patterns import with_stars
from sparkext.rewriting.bound_variables import certain_variables
from sparkext.rewriting.filters import conjuncts


@dataclass(frozen=True)
class Bind:
    """A variable that is computed from a solution's values, and left unbound by an error."""

    variable: Variable
    expression: Expression


@dataclass(frozen=True)
class Cluster:
    """A natural join of leaves and the conditions on it; the order of both means nothing.

    `binds` may be computed anywhere among the joins, each after those that it reads; conditions may read them.
    """

    leaves: tuple[Leaf, ...] = ()
    conditions: tuple[Expression, ...] = field(default=())
    binds: tuple[Bind, ...] = field(default=())

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables of all leaves, each once."""
        return tuple(dict.fromkeys(v for leaf in self.leaves for v in leaf.variables))


def flatten(node: Node, scope: Scope) -> Cluster:
    """Take a group apart into what it joins and what it filters.

    Before: ``Filter(c, Join(Window(w, Bgp(t1)), Bgp(t2, t3)))``; after: leaves t1 in w, t2, t3, and condition c.

    A condition goes up to the cluster only if all its variables are bound in every solution of its group: then it
    says the same after a join with more patterns (FPush in Table 1 of the uncertainty paper, read backwards). One
    that draws lots for each solution stays.
    """
    match node:
        case Bgp():
            patterns: Sequence[TriplePattern] = node.patterns
            if isinstance(scope, InWindow) and scope.stars:
                patterns = with_stars(patterns, scope)
            return Cluster(tuple(_leaf(pattern, scope) for pattern in patterns))
        case Join():
            left, right = flatten(node.left, scope), flatten(node.right, scope)
            return Cluster(left.leaves + right.leaves, left.conditions + right.conditions)
        case Window() | Graph():
            return flatten(node.input, inner_scope(node, scope))
        case Filter():
            inner = flatten(node.input, scope)
            parts = conjuncts(node.condition)
            bound = certain_variables(node.input) | set(scope_variables(scope))
            if all(set(part.variables) <= bound and not is_rowwise(part) for part in parts):
                return Cluster(inner.leaves, inner.conditions + parts)
            return Cluster((DerivedLeaf(node, scope),))
        case ToMultiset():
            return flatten(node.input, scope)
        case _:
            return Cluster((DerivedLeaf(node, scope),))


def flatten_group(node: Node, scope: Scope) -> Cluster:
    """As `flatten`, for a group that is joined with nothing else: every condition on it is one on the cluster.

    A variable that may stay unbound is final when the group's leaves are joined, so conditions may read it.
    """
    if isinstance(node, Filter):
        inner = flatten_group(node.input, scope)
        return Cluster(inner.leaves, inner.conditions + conjuncts(node.condition))
    return flatten(node, scope)


def _leaf(pattern: TriplePattern, scope: Scope) -> Leaf:
    if isinstance(scope, InWindow):
        return WindowLeaf(scope.name, pattern, graph=scope.graph, strict=scope.strict)
    if isinstance(scope, DefaultGraph) and scope.windows:
        return MergedLeaf(scope, pattern)
    return StaticLeaf(scope, pattern)
