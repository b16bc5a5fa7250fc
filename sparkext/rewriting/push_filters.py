"""Heuristic H3 on the algebra: filters are taken apart and applied at the earliest place that knows their variables.

What is pushed goes through UNION, OPTIONAL, MINUS, BIND, WINDOW, GRAPH and sub-selects, by the rules of
`sparkext.rewriting.filters` that hold for bags. Within a join of patterns nothing is moved: there the planner applies
each condition at the first join that has its variables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

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
    Project,
    ToMultiset,
    Union,
    Window,
)
from sparkext.language.expressions import Expression, conjunction
from sparkext.language.nodes import Node
from sparkext.rewriting.filters import (
    conjuncts,
    f_b_push,
    f_g_push,
    f_j_push,
    f_l_push,
    f_m_push,
    f_o_push,
    f_s_push,
    f_u_push,
    f_w_push,
)
from sparkext.rewriting.unions_and_joins import j_comm

# Below these a filter stands earlier whatever comes next; below the others only if it goes on from there.
_EARLIER: Final[dict[type[Node], Callable[[Node], Node | None]]] = {
    Union: f_u_push,
    LeftJoin: f_l_push,
    Minus: f_m_push,
    Extend: f_b_push,
}
_THROUGH: Final[dict[type[Node], Callable[[Node], Node | None]]] = {
    Window: f_w_push,
    Graph: f_g_push,
}


def push_filters(node: Node, stays: Callable[[Expression], bool] = lambda _: False) -> Node:
    """Return an equivalent pattern whose filters stand as early as the rules let them, but for those that stay.

    >>> from sparkext.language.algebra_text import format_algebra
    >>> from sparkext.language.translation.parser import parse_query
    >>> text = "SELECT * { ?s <e:p> ?o OPTIONAL { ?o <e:q> ?x } FILTER(?o > 1 && ?x > 2) }"
    >>> print(format_algebra(push_filters(parse_query(text).pattern.input)))
    Filter ?x > 2
      LeftJoin
        Filter ?o > 1
          Bgp
            ?s <e:p> ?o
        Bgp
          ?o <e:q> ?x
    """
    if isinstance(node, LeftJoin) and node.condition is not None:
        node = _into_optional(node, node.condition, stays)
    if not isinstance(node, Filter):
        children = tuple(push_filters(child, stays) for child in node.children)
        return node if children == node.children else node.replace_children(children)
    inner = node.input
    left: list[Expression] = []
    for part in conjuncts(node.condition):
        pushed = None
        if not stays(part):
            pushed = _sink(dataclasses.replace(node, condition=part, input=inner))
        if pushed is None:
            left.append(part)
        else:
            inner = pushed
    inner = push_filters(inner, stays)
    if not left:
        return inner
    return dataclasses.replace(node, condition=conjunction(left), input=inner)


def _sink(node: Filter) -> Node | None:
    """The filter moved to an earlier place of its input, or None when there is none."""
    below = node.input
    kind = type(below)
    if kind in _EARLIER:
        pushed = _EARLIER[kind](node)
        return None if pushed is None else _sunk(pushed)
    if kind in _THROUGH:
        pushed = _THROUGH[kind](node)
        return None if pushed is None else _only_if_further(pushed)
    match below:
        case Join():
            pushed = f_j_push(node)
            moved = None if pushed is None else _only_if_further(pushed)
            if moved is not None:
                return moved
            mirrored = j_comm(below)
            assert mirrored is not None
            pushed = f_j_push(dataclasses.replace(node, input=mirrored))
            moved = None if pushed is None else _only_if_further(pushed)
            return None if moved is None else j_comm(moved)
        case Filter():
            inner = _sink(dataclasses.replace(node, input=below.input))
            return None if inner is None else dataclasses.replace(below, input=inner)
        case Project() | Distinct() | ToMultiset() if _gains_inside(below):
            pushed = f_s_push(node)
            return None if pushed is None else _sunk(pushed)
    return None


def _sunk(pushed: Node) -> Node:
    """`pushed`, with the filters that now stand right below it moved on as far as they go."""
    children = tuple(
        (_sink(child) or child) if isinstance(child, Filter) else child for child in pushed.children
    )
    return pushed.replace_children(children)


def _only_if_further(pushed: Node) -> Node | None:
    first, *others = pushed.children
    assert isinstance(first, Filter)
    moved = _sink(first)
    return None if moved is None else pushed.replace_children((moved, *others))


def _gains_inside(sub_select: Node) -> bool:
    """Whether a filter does better inside a sub-select.

    A group is made from all its rows anyway, and is shared and restricted by its shape; the distinct bindings of one
    pattern of a window are kept up by the window.
    """
    inner = sub_select
    distinct = False
    while isinstance(inner, Project | Distinct | ToMultiset | Extend | Filter):
        distinct |= isinstance(inner, Distinct)
        inner = inner.input
    if isinstance(inner, Group):
        return False
    one_pattern = isinstance(inner, Window) and isinstance(inner.input, Bgp)
    return not (distinct and one_pattern)


def _into_optional(
    node: LeftJoin, condition: Expression, stays: Callable[[Expression], bool]
) -> LeftJoin:
    """The parts of an OPTIONAL's condition that speak of the optional part alone become filters of it."""
    kept: list[Expression] = []
    for part in conjuncts(condition):
        pushed = None if stays(part) else f_o_push(dataclasses.replace(node, condition=part))
        if pushed is None:
            kept.append(part)
        else:
            assert isinstance(pushed, LeftJoin)
            node = pushed
    return dataclasses.replace(node, condition=conjunction(kept) if kept else None)
