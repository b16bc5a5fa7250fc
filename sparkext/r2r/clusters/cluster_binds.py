"""BINDs that are placed among the joins of a group: which those are, who reads them, and their columns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sparkext.language.algebra import Extend, Filter
from sparkext.language.expressions import Expression
from sparkext.language.nodes import Node, Variable
from sparkext.r2r.functions.variable_columns import column, column_name
from sparkext.r2r.leaves.flattening import Bind, Cluster, flatten_group
from sparkext.r2r.leaves.leaf import DerivedLeaf
from sparkext.r2r.leaves.scopes import Scope
from sparkext.r2r.operators.pattern_compiling import PatternCompiling
from sparkext.r2r.relations.solutions import Solutions
from sparkext.rewriting.bound_variables import mentioned_variables
from sparkext.rewriting.filters import conjuncts
from sparkext.rewriting.lazy_binds import is_delayed


def flatten_with_binds(node: Node, scope: Scope) -> Cluster:
    """As `flatten_group`, with the BINDs of uncertainty functions that stand on top of the group.

    Before: ``Filter(?p > 0.9, Extend(?p, f(?x), Join(t1, t2)))``; after: leaves t1 and t2, the BIND and the condition.
    A BIND above what speaks of its variable, which is unbound there, is a leaf; so is one that joins nothing.
    """
    if isinstance(node, Filter):
        inner = flatten_with_binds(node.input, scope)
        return replace(inner, conditions=inner.conditions + conjuncts(node.condition))
    if not (isinstance(node, Extend) and is_delayed(node)):
        return flatten_group(node, scope)
    inner = flatten_with_binds(node.input, scope)
    read = {v for expression in _expressions(inner) for v in read_variables(expression)}
    if not inner.leaves or node.variable in read:
        return Cluster((DerivedLeaf(node, scope),))
    return replace(inner, binds=(*inner.binds, Bind(node.variable, node.expression)))


def only_read(cluster: Cluster, needed: frozenset[Variable] | None) -> Cluster:
    """The cluster without the BINDs whose variables nobody reads; `needed` are those read above it (None: all)."""
    if needed is None:
        return cluster
    read = set(needed)
    for condition in cluster.conditions:
        read |= read_variables(condition)
    binds = []
    for bind in reversed(cluster.binds):
        if bind.variable in read:
            binds.append(bind)
            read |= read_variables(bind.expression)
    return replace(cluster, binds=tuple(reversed(binds)))


def read_variables(expression: Expression) -> frozenset[Variable]:
    """Every variable that an expression reads, those of an EXISTS too."""
    return mentioned_variables(expression) | set(expression.variables)


def bind(
    compiler: PatternCompiling, solutions: Solutions, variable: Variable, expression: Expression
) -> Solutions:
    """The solutions with one more column: the value of an expression, which may be unbound."""
    marked, (put,) = compiler.marked(solutions, (expression,))
    value = compiler.counted_value(put, marked.columns).alias(column_name(variable))
    frame = marked.frame.select(*(column(v) for v in marked.variables), value)
    variables = (*marked.variables, variable)
    return Solutions(frame, variables, marked.certain, marked.estimated_rows)


def _expressions(cluster: Cluster) -> Iterable[Expression]:
    yield from cluster.conditions
    yield from (bind.expression for bind in cluster.binds)
