"""`spark.cqels.filterScope=lift`: filters and BINDs moved out to the group that binds their variables.

This is no equivalence. SPARQL evaluates bottom-up, so a filter inside WINDOW or GRAPH that reads a variable of the
outside never holds, and a BIND there leaves its variable unbound; who writes it means the outer group. Here they are
read as if they stood there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from sparkext.language.algebra import (
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Project,
    Reduced,
    Slice,
    ToMultiset,
    Window,
)
from sparkext.language.expressions import Expression, conjunction
from sparkext.language.filter_scope import filter_scope_warnings
from sparkext.language.nodes import Node, Position, Variable
from sparkext.language.query import Query
from sparkext.rewriting.bound_variables import holds_exists, mentioned_variables
from sparkext.rewriting.filters import conjuncts


@dataclass(frozen=True)
class _Bind:
    """A BIND on its way out."""

    variable: Variable
    expression: Expression
    position: Position | None


_Moving = Expression | _Bind
_Lifted = tuple[Node, list[_Moving]]


def apply_filter_scope(query: Query, scope: str) -> Query:
    """Return the query with its filters in the given scope, `standard` or `lift`.

    What was lifted is no longer warned of.
    """
    if scope == "standard":
        return query
    pattern = lift_filters(query.pattern)
    if pattern == query.pattern:
        return query
    told = filter_scope_warnings(query.pattern)
    others = [warning for warning in query.warnings if warning not in told]
    warnings = sorted([*others, *filter_scope_warnings(pattern)], key=lambda w: (w.line, w.column))
    return dataclasses.replace(query, pattern=pattern, warnings=tuple(warnings))


def lift_filters(pattern: Node) -> Node:
    """Return the pattern with filters and BINDs that read variables of the outside lifted to where they are bound.

    A filter inside WINDOW or GRAPH, or the condition of an OPTIONAL there, moves to the nearest group around it that
    binds all its variables; if that is an OPTIONAL with what stands before it, it becomes the OPTIONAL's condition.
    It never leaves a branch of UNION, the right side of MINUS, an EVENT, or a sub-select, and one with EXISTS stays.
    A BIND moves likewise, but out of no OPTIONAL and not where the outside binds its variable as well, and with it
    the filters that read its variable.

    >>> from sparkext.language.algebra_text import format_algebra
    >>> from sparkext.language.translation.parser import parse_query
    >>> text = "SELECT * { ?a <e:max> ?x GRAPH <e:g> { ?a <e:p> ?b FILTER(?b > ?x) } }"
    >>> print(format_algebra(lift_filters(parse_query(text).pattern.input)))
    Filter ?b > ?x
      Join
        Bgp
          ?a <e:max> ?x
        Graph <e:g>
          Bgp
            ?a <e:p> ?b
    """
    return _group(pattern, frozenset(), False)[0]


def _group(node: Node, outside: frozenset[Variable], inside: bool) -> _Lifted:
    """A whole group: what was lifted in it and is bound by it becomes a filter of it; the rest goes on."""
    lifted, waiting = _lift(node, outside, inside)
    here: list[Expression] = []
    still: list[_Moving] = []
    for part in waiting:  # a BIND comes before the filters that read its variable
        if not _read(part) <= set(lifted.variables):
            still.append(part)
        elif isinstance(part, _Bind):
            lifted = Extend(lifted, part.variable, part.expression, position=part.position)
        else:
            here.append(part)
    if here:
        lifted = Filter(conjunction(here), lifted, position=here[0].position)
    return lifted, still


def _read(part: _Moving) -> frozenset[Variable]:
    return mentioned_variables(part.expression if isinstance(part, _Bind) else part)


def _to_be_bound(waiting: Sequence[_Moving]) -> set[Variable]:
    return {part.variable for part in waiting if isinstance(part, _Bind)}


def _lift(node: Node, outside: frozenset[Variable], inside: bool) -> _Lifted:
    """A part of a group: `outside` are the variables that groups around it bind, as far as a filter may move."""
    match node:
        case Filter():
            lifted, waiting = _group(node.input, outside, inside)
            kept, leaving = _parted(node.condition, lifted, outside | _to_be_bound(waiting), inside)
            waiting += leaving
            if not kept:
                return lifted, waiting
            return Filter(conjunction(kept), lifted, position=node.position), waiting
        case Window() | Graph():
            named = {node.name} if isinstance(node.name, Variable) else set()
            lifted, waiting = _group(node.input, outside | named, True)
            return dataclasses.replace(node, input=lifted), waiting
        case Join():
            left, waiting = _lift(node.left, outside.union(node.right.variables), inside)
            right, more = _group(node.right, outside.union(node.left.variables), inside)
            return dataclasses.replace(node, left=left, right=right), waiting + more
        case LeftJoin():
            return _left_join(node, outside, inside)
        case Minus():
            left, waiting = _lift(node.left, outside, inside)
            right, _ = _group(node.right, frozenset(), inside)
            return dataclasses.replace(node, left=left, right=right), waiting
        case Extend():
            lifted, waiting = _lift(node.input, outside | {node.variable}, inside)
            around = outside | _to_be_bound(waiting)
            # A variable that the outside binds, too, cannot be bound once more there.
            moves = node.variable not in outside
            if moves and _leaves(node.expression, lifted, around, inside):
                return lifted, [*waiting, _Bind(node.variable, node.expression, node.position)]
            return dataclasses.replace(node, input=lifted), waiting
        case Project() | Distinct() | Reduced() | OrderBy() | Slice() | ToMultiset():
            lifted, _ = _group(node.input, frozenset(), inside)
            return node.replace_children((lifted,)), []
    children = tuple(_group(child, frozenset(), inside)[0] for child in node.children)
    return (node.replace_children(children) if children else node), []


def _left_join(node: LeftJoin, outside: frozenset[Variable], inside: bool) -> _Lifted:
    left, waiting = _lift(node.left, outside.union(node.right.variables), inside)
    right, more = _group(node.right, outside.union(node.left.variables), inside)
    if _to_be_bound(more):
        right, more = _group(node.right, frozenset(), inside)
    joined = dataclasses.replace(node, left=left, right=right)
    kept: list[Expression] = []
    if node.condition is not None:
        around = outside | _to_be_bound(waiting)
        kept, leaving = _parted(node.condition, joined, around, inside)
        waiting += leaving
    bound = set(joined.variables)
    for part in more:
        if not isinstance(part, _Bind) and mentioned_variables(part) <= bound:
            kept.append(part)
        else:
            waiting.append(part)
    return dataclasses.replace(joined, condition=conjunction(kept) if kept else None), waiting


def _parted(
    condition: Expression, node: Node, outside: frozenset[Variable], inside: bool
) -> tuple[list[Expression], list[Expression]]:
    """The parts of a condition on `node` that stay, and those that leave it."""
    parts = conjuncts(condition)
    leaving = [part for part in parts if _leaves(part, node, outside, inside)]
    return [part for part in parts if part not in leaving], leaving


def _leaves(
    expression: Expression, node: Node, outside: frozenset[Variable] | set[Variable], inside: bool
) -> bool:
    missing = mentioned_variables(expression).difference(node.variables)
    return inside and bool(missing) and missing <= outside and not holds_exists(expression)
