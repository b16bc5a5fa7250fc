"""Lazy variables: BINDs of uncertainty functions moved above the joins, and put into what reads them.

A BIND goes up through joins, OPTIONAL, MINUS, filters, WINDOW and GRAPH by the rules of `sparkext.rewriting.binds`,
read from right to left. Where a filter or another such BIND reads its variable, the call itself is put there: its value
then needs no term, and the BIND can go on. What nobody reads is left out by the compiler.
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
    Node,
    Project,
    ToMultiset,
    Variable,
    Window,
)
from sparkext.language.expressions import BuiltinCall, Expression, VariableReference
from sparkext.language.support import expressions_of
from sparkext.language.uncertainty import calls_uncertainty
from sparkext.rewriting.binds import b_g_push, b_j_pull, b_l_pull, b_w_push
from sparkext.rewriting.bound_variables import (
    holds_exists,
    is_repeatable,
    mentioned_variables,
    possible_variables,
)
from sparkext.rewriting.unions_and_joins import j_comm


def delay_binds(pattern: Node, cached: bool = True) -> Node:
    """Return an equivalent pattern whose BINDs of uncertainty functions stand as late as the rules let them.

    A call is put into a reader beside others only if `cached`: else it would be made once for each.

    >>> from sparkext.language.algebra_text import format_algebra
    >>> from sparkext.language.parser import parse_query
    >>> text = '''PREFIX rspu: <http://w3id.org/rsp/rspu#>
    ... SELECT * { GRAPH <e:g> { ?s <e:p> ?x BIND(rspu:mean(?x) AS ?m) } ?s <e:q> ?y FILTER(?m > 1) }'''
    >>> print(format_algebra(delay_binds(parse_query(text).pattern.input)))
    Extend ?m = <http://w3id.org/rsp/rspu#mean>(?x)
      Filter <http://w3id.org/rsp/rspu#mean>(?x) > 1
        Join
          Graph <e:g>
            Bgp
              ?s <e:p> ?x
          Bgp
            ?s <e:q> ?y
    """
    return _Delay(cached, _readers(pattern)).node(pattern)


def _readers(pattern: Node) -> Counter[Variable]:
    """How many nodes read each variable; those of the whole pattern are read by who asks for it."""
    readers = Counter(pattern.variables)
    for node in pattern.walk():
        read = {v for expression in expressions_of(node) for v in mentioned_variables(expression)}
        if isinstance(node, Project):
            read.update(node.names)
        readers.update(read)
    return readers


class _Delay:
    def __init__(self, cached: bool, readers: Counter[Variable]) -> None:
        self._cached = cached
        self._readers = readers

    def node(self, node: Node) -> Node:
        """The pattern with its BINDs moved, inner ones first."""
        children = tuple(self.node(child) for child in node.children)
        if children != node.children:
            node = node.replace_children(children)
        return self._raised(node)

    def _raised(self, node: Node) -> Node:
        raised = self._swapped(node)
        if raised is None:
            return node
        assert isinstance(raised, Extend)
        return dataclasses.replace(raised, input=self._raised(raised.input))

    def _swapped(self, node: Node) -> Node | None:
        """The same with a BIND that stood right below `node` on top, None where there is none or it cannot be."""
        match node:
            case Join(left=left) if _is_delayed(left) and (pulled := b_j_pull(node)) is not None:
                return pulled
            case Join(right=right) if _is_delayed(right):
                return _pulled_from_right(node)
            case LeftJoin(left=left) if _is_delayed(left):
                return b_l_pull(node)
            case Window(input=inner) if _is_delayed(inner):
                return b_w_push(node)
            case Graph(input=inner) if _is_delayed(inner):
                return b_g_push(node)
            case ToMultiset(input=Extend() as bind) if _is_delayed(bind):
                return dataclasses.replace(bind, input=dataclasses.replace(node, input=bind.input))
            case Minus(left=Extend() as bind) if _is_delayed(bind):
                if bind.variable in possible_variables(node.right):
                    return None
                return dataclasses.replace(bind, input=dataclasses.replace(node, left=bind.input))
            case Filter(input=Extend() as bind) if _is_delayed(bind):
                condition = self._without(node.condition, bind)
                if condition is None:
                    return None
                below = dataclasses.replace(node, condition=condition, input=bind.input)
                return dataclasses.replace(bind, input=below)
            case Extend(input=Extend() as bind) if _is_delayed(bind):
                return self._past_bind(node, bind)
        return None

    def _past_bind(self, node: Extend, bind: Extend) -> Node | None:
        if not is_repeatable(node.expression):
            return None
        expression = self._without(node.expression, bind)
        if expression is None or (
            # Of two that are to be delayed the order stays, once the upper one does not read the lower one.
            calls_uncertainty(node.expression) and expression == node.expression
        ):
            return None
        below = dataclasses.replace(node, expression=expression, input=bind.input)
        return dataclasses.replace(bind, input=below)

    def _without(self, expression: Expression, bind: Extend) -> Expression | None:
        """The expression with the call in place of the variable; None where it must read the variable."""
        variable = bind.variable
        if variable not in mentioned_variables(expression):
            return expression
        if holds_exists(expression) or _asks_if_bound(expression, variable):
            return None
        if not self._cached and self._readers[variable] > 1:
            return None
        return expression.transform(
            lambda part: bind.expression if part == VariableReference(variable) else part
        )


def _is_delayed(node: Node) -> bool:
    return (
        isinstance(node, Extend)
        and calls_uncertainty(node.expression)
        and is_repeatable(node.expression)
        and not holds_exists(node.expression)
    )


def _pulled_from_right(join: Join) -> Node | None:
    mirrored = j_comm(join)
    pulled = None if mirrored is None else b_j_pull(mirrored)
    if pulled is None:
        return None
    assert isinstance(pulled, Extend)
    restored = j_comm(pulled.input)
    assert restored is not None
    return dataclasses.replace(pulled, input=restored)


def _asks_if_bound(expression: Expression, variable: Variable) -> bool:
    return any(
        isinstance(part, BuiltinCall) and part.name == "BOUND" and variable in part.variables
        for part in expression.walk()
    )
