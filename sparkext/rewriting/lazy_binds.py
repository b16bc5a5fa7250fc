"""Lazy variables: BINDs of uncertainty functions moved out of the groups that they stand in, as far as that goes.

A BIND goes up through joins, OPTIONAL, MINUS, filters, WINDOW and GRAPH by the rules of `sparkext.rewriting.binds`,
read from right to left, until it stands on top of all that is joined there; the compiler places it among these joins.
If only one filter or BIND reads its variable, the call itself is put there: its value then needs no term. Other
filters and BINDs that read it go up with it. What nobody reads is left out by the compiler.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

from sparkext.language.algebra import (
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Project,
    ToMultiset,
    Window,
)
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import BuiltinCall, Expression, VariableReference
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.language.uncertainty import calls_uncertainty, uncertainty_function
from sparkext.rewriting.binds import b_g_push, b_j_pull, b_l_pull, b_l_push, b_w_push
from sparkext.rewriting.bound_variables import (
    holds_exists,
    is_repeatable,
    mentioned_variables,
    possible_variables,
)
from sparkext.rewriting.filters import decided_by
from sparkext.rewriting.unions_and_joins import j_comm


def delay_binds(pattern: Node, cached: bool = True) -> Node:
    """Return an equivalent pattern whose BINDs of uncertainty functions stand as late as the rules let them.

    The call of a sum that several expressions read is put into each of them only if `cached`: else it would be made
    once for each. Without a cache, a BIND does not go up through OPTIONAL either, which may multiply rows.

    >>> from sparkext.language.algebra_text import format_algebra
    >>> from sparkext.language.translation.parser import parse_query
    >>> text = '''PREFIX rspu: <http://w3id.org/rsp/rspu#>
    ... SELECT %s { GRAPH <e:g> { ?s <e:p> ?x BIND(rspu:mean(?x) AS ?m) FILTER(?m > 1) } ?s <e:q> ?y }'''
    >>> print(format_algebra(delay_binds(parse_query(text % "*").pattern.input)))
    Filter ?m > 1
      Extend ?m = <http://w3id.org/rsp/rspu#mean>(?x)
        Join
          Graph <e:g>
            Bgp
              ?s <e:p> ?x
          Bgp
            ?s <e:q> ?y
    >>> print(format_algebra(delay_binds(parse_query(text % "?s").pattern).input))
    Extend ?m = <http://w3id.org/rsp/rspu#mean>(?x)
      Join
        Graph <e:g>
          Filter <http://w3id.org/rsp/rspu#mean>(?x) > 1
            Bgp
              ?s <e:p> ?x
        Bgp
          ?s <e:q> ?y
    """
    return _settled(_Delay(cached, _readers(pattern)).node(pattern))


def is_delayed(node: Node) -> bool:
    """Whether a node is a BIND that moves: it calls an uncertainty function, or reads one right below that does."""
    return (
        isinstance(node, Extend)
        and (calls_uncertainty(node.expression) or _reads_delayed(node))
        and is_repeatable(node.expression)
        and not holds_exists(node.expression)
    )


def _is_carried(node: Node) -> bool:
    """Whether a filter reads a BIND right below it that moves, so that it moves with it."""
    return (
        isinstance(node, Filter)
        and _reads_delayed(node)
        and is_repeatable(node.condition)
        and not holds_exists(node.condition)
    )


def _reads_delayed(node: Extend | Filter) -> bool:
    expression = node.expression if isinstance(node, Extend) else node.condition
    read = mentioned_variables(expression)
    below = node.input
    while isinstance(below, Extend | Filter):
        if isinstance(below, Extend) and below.variable in read:
            return is_delayed(below)
        below = below.input
    return False


def _readers(pattern: Node) -> Counter[Variable]:
    """How often each variable is read or joined on; those of the whole pattern are read by who asks for it."""
    readers = Counter(pattern.variables)
    for node in pattern.walk():
        for expression in expressions_of(node):
            for part in expression.walk():
                readers.update(() if part.children else part.variables)
            readers.update(mentioned_variables(expression) - set(expression.variables))
        if isinstance(node, Project):
            readers.update(node.names)
        elif isinstance(node, Match):
            readers.update(node.variables)  # its events are joined on them
        elif isinstance(node, Graph | Window) and isinstance(node.name, Variable):
            readers[node.name] += 1
        elif not node.children:
            readers.update(node.variables)
    return readers


class _Delay:
    def __init__(self, cached: bool, readers: Counter[Variable]) -> None:
        self._cached = cached
        self._readers = readers

    def node(self, node: Node) -> Node:
        """The pattern with its BINDs moved, inner ones first; those of events stay."""
        if isinstance(node, Match):
            return node
        children = tuple(self.node(child) for child in node.children)
        if children != node.children:
            node = node.replace_children(children)
        return self._raised(node)

    def _raised(self, node: Node) -> Node:
        raised = self._swapped(node)
        if raised is None:
            return node
        assert isinstance(raised, Extend | Filter)
        return dataclasses.replace(raised, input=self._raised(raised.input))

    def _swapped(self, node: Node) -> Node | None:
        """The same with what stood right below `node` on top, None where nothing there moves."""
        match node:
            case Join(left=left, right=right):
                pulled = _pulled_from_left(node) if _moves(left) else None
                return _pulled_from_right(node) if pulled is None and _moves(right) else pulled
            case LeftJoin(left=left) if is_delayed(left) and self._cached:
                return b_l_pull(node)
            case Window(input=inner) if is_delayed(inner):
                return b_w_push(node)
            case Graph(input=inner) if is_delayed(inner):
                return b_g_push(node)
            case Window(input=Filter() as inner) | Graph(input=Filter() as inner):
                if not _is_carried(inner) or node.name in mentioned_variables(inner.condition):
                    return None
                return _exchanged(node, inner)
            case ToMultiset(input=Extend() | Filter() as inner) if _moves(inner):
                return _exchanged(node, inner)
            case Minus(left=Extend() | Filter() as first) if _moves(first):
                if isinstance(first, Extend) and first.variable in possible_variables(node.right):
                    return None
                return dataclasses.replace(first, input=dataclasses.replace(node, left=first.input))
            case Filter(input=Extend() as bind) if is_delayed(bind):
                condition = self._without(node.condition, bind)
                if condition is None:
                    return None
                return _exchanged(dataclasses.replace(node, condition=condition), bind)
            case Filter(input=Filter() as inner) if _is_carried(inner) and not _is_carried(node):
                return _exchanged(node, inner)
            case Extend(input=Extend() as bind) if is_delayed(bind):
                return self._past_bind(node, bind)
            case Extend(input=Filter() as inner) if _is_carried(inner) and not is_delayed(node):
                if node.variable in mentioned_variables(inner.condition):
                    return None
                if not is_repeatable(node.expression) or holds_exists(node.expression):
                    return None
                return _exchanged(node, inner)
        return None

    def _past_bind(self, node: Extend, bind: Extend) -> Node | None:
        if not is_repeatable(node.expression):
            return None
        if node.variable in mentioned_variables(bind.expression):
            return None  # it is unbound where the lower one reads it
        expression = self._without(node.expression, bind)
        if expression is None or (
            # Of two that are to be delayed the order stays, once the upper one does not read the lower one.
            is_delayed(node) and expression == node.expression
        ):
            return None
        return _exchanged(dataclasses.replace(node, expression=expression), bind)

    def _without(self, expression: Expression, bind: Extend) -> Expression | None:
        """The expression with the call in place of the variable; None where it is to read the variable."""
        variable = bind.variable
        if variable not in mentioned_variables(expression):
            return expression
        if holds_exists(expression) or _asks_if_bound(expression, variable):
            return None
        if self._readers[variable] > 1 and not (
            self._cached and _gives_sum(bind.expression) and _takes_sum(expression, variable)
        ):
            return None
        return expression.transform(
            lambda part: bind.expression if part == VariableReference(variable) else part
        )


def _moves(node: Node) -> bool:
    return is_delayed(node) or _is_carried(node)


def _gives_sum(expression: Expression) -> bool:
    """Whether the value is a distribution, which would have to be written as text where a variable holds it."""
    function = uncertainty_function(expression)
    return function is not None and function.gives == "distribution"


def _takes_sum(expression: Expression, variable: Variable) -> bool:
    """Whether a variable is read by uncertainty functions alone, which take a distribution as it is."""
    reference = VariableReference(variable)
    return (
        all(
            uncertainty_function(part) is not None
            for part in expression.walk()
            if reference in part.children
        )
        and expression != reference
    )


def _exchanged(node: Node, below: Extend | Filter) -> Node:
    """`below` on top of `node`, which has one input."""
    return dataclasses.replace(below, input=node.replace_children((below.input,)))


def _pulled_from_left(join: Join) -> Node | None:
    left = join.left
    if not isinstance(left, Filter):
        return b_j_pull(join)
    if not decided_by(mentioned_variables(left.condition), left.input, join.right):
        return None
    return dataclasses.replace(left, input=dataclasses.replace(join, left=left.input))


def _pulled_from_right(join: Join) -> Node | None:
    mirrored = j_comm(join)
    assert isinstance(mirrored, Join)
    pulled = _pulled_from_left(mirrored)
    if pulled is None:
        return None
    assert isinstance(pulled, Extend | Filter)
    restored = j_comm(pulled.input)
    assert restored is not None
    return dataclasses.replace(pulled, input=restored)


def _settled(node: Node) -> Node:
    """What has come to stand on top of an OPTIONAL goes back below it: it may multiply rows, and drops none."""
    if isinstance(node, Extend) and isinstance(node.input, LeftJoin) and is_delayed(node):
        pushed = b_l_push(node)
        if pushed is not None:
            return _settled(pushed)
    children = tuple(_settled(child) for child in node.children)
    if children == node.children:
        return node
    node = node.replace_children(children)
    return _settled(node) if isinstance(node, Extend) else node


def _asks_if_bound(expression: Expression, variable: Variable) -> bool:
    return any(
        isinstance(part, BuiltinCall) and part.name == "BOUND" and variable in part.variables
        for part in expression.walk()
    )
