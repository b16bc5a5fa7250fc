"""Group IV of Table 1: BIND moved through GRAPH, WINDOW, AND and OPT.

Every function takes a node that looks like one side and returns the other, or None when it looks otherwise or the
condition of the rule does not hold. An expression with EXISTS never passes WINDOW or GRAPH; one with RAND, UUID or
BNODE stays below or above the join where it is written.
"""

from __future__ import annotations

import dataclasses

from sparkext.language.algebra import Extend, Graph, Join, LeftJoin, Window
from sparkext.language.nodes import Node
from sparkext.rewriting.bound_variables import (
    holds_exists,
    is_repeatable,
    mentioned_variables,
    possible_variables,
)
from sparkext.rewriting.filters import decided_by


def b_g_push(node: Node) -> Node | None:
    """BGPush: (GRAPH n (P BIND ?v C)) = ((GRAPH n P) BIND ?v C).

    If n is an IRI, or neither in vars(C) nor ?v; the table prints no condition.

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> n, v, c = Variable("n"), Variable("v"), VariableReference(Variable("a"))
    >>> b_g_push(Graph(n, Extend(Bgp(()), v, c))) == Extend(Graph(n, Bgp(())), v, c)
    True
    >>> print(b_g_push(Graph(n, Extend(Bgp(()), v, VariableReference(n)))))
    None
    """
    if isinstance(node, Graph) and isinstance(node.input, Extend):
        return _outside_name(node, node.input)
    return None


def b_w_push(node: Node) -> Node | None:
    """BWPush: (WINDOW n (P BIND ?v C)) = ((WINDOW n P) BIND ?v C).

    If n is an IRI, or neither in vars(C) nor ?v; the table prints no condition.

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> n, v, c = Variable("n"), Variable("v"), VariableReference(Variable("a"))
    >>> b_w_push(Window(n, Extend(Bgp(()), v, c))) == Extend(Window(n, Bgp(())), v, c)
    True
    >>> print(b_w_push(Window(n, Extend(Bgp(()), n, c))))
    None
    """
    if isinstance(node, Window) and isinstance(node.input, Extend):
        return _outside_name(node, node.input)
    return None


def _outside_name(node: Graph | Window, bind: Extend) -> Node | None:
    if holds_exists(bind.expression):
        return None
    if node.name == bind.variable or node.name in mentioned_variables(bind.expression):
        return None
    return dataclasses.replace(bind, input=dataclasses.replace(node, input=bind.input))


def b_j_push(node: Node) -> Node | None:
    """BJPush: ((P1 AND P2) BIND ?v C) = ((P1 BIND ?v C) AND P2).

    If every variable of vars(C) is in cVars(P1) or not in pVars(P2). (?v is in neither pattern: a BIND cannot bind a
    variable again.)

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> v, a = Variable("v"), Variable("a")
    >>> p1, p2 = Bgp(()), Values((a,), ())
    >>> c = VariableReference(Variable("b"))
    >>> b_j_push(Extend(Join(p1, p2), v, c)) == Join(Extend(p1, v, c), p2)
    True
    >>> print(b_j_push(Extend(Join(p1, p2), v, VariableReference(a))))
    None
    """
    if isinstance(node, Extend) and isinstance(node.input, Join):
        return _pushed_left(node, node.input)
    return None


def b_l_push(node: Node) -> Node | None:
    """BLPush: ((P1 OPT P2) BIND ?v C) = ((P1 BIND ?v C) OPT P2).

    If every variable of vars(C) is in cVars(P1) or not in pVars(P2), and the condition of the OPT does not read ?v.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> v, a = Variable("v"), Variable("a")
    >>> p1, p2 = Bgp(()), Values((a,), ())
    >>> c = VariableReference(Variable("b"))
    >>> b_l_push(Extend(LeftJoin(p1, p2), v, c)) == LeftJoin(Extend(p1, v, c), p2)
    True
    >>> print(b_l_push(Extend(LeftJoin(p1, p2), v, VariableReference(a))))
    None
    """
    if isinstance(node, Extend) and isinstance(node.input, LeftJoin):
        return _pushed_left(node, node.input)
    return None


def b_j_pull(node: Node) -> Node | None:
    """BJPush from right to left: ((P1 BIND ?v C) AND P2) = ((P1 AND P2) BIND ?v C).

    If every variable of vars(C) is in cVars(P1) or not in pVars(P2), and ?v is not in pVars(P2): there, the join
    compares it.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> v, c = Variable("v"), VariableReference(Variable("b"))
    >>> p1, p2 = Bgp(()), Values((Variable("a"),), ())
    >>> b_j_pull(Join(Extend(p1, v, c), p2)) == Extend(Join(p1, p2), v, c)
    True
    >>> print(b_j_pull(Join(Extend(p1, v, c), Values((v,), ()))))
    None
    """
    if isinstance(node, Join) and isinstance(node.left, Extend):
        return _pulled_out(node, node.left)
    return None


def b_l_pull(node: Node) -> Node | None:
    """BLPush from right to left: ((P1 BIND ?v C) OPT P2) = ((P1 OPT P2) BIND ?v C).

    If every variable of vars(C) is in cVars(P1) or not in pVars(P2), and ?v is neither in pVars(P2) nor read by the
    condition of the OPT.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> from sparkext.language.expressions import VariableReference
    >>> v, c = Variable("v"), VariableReference(Variable("b"))
    >>> p1, p2 = Bgp(()), Values((Variable("a"),), ())
    >>> b_l_pull(LeftJoin(Extend(p1, v, c), p2)) == Extend(LeftJoin(p1, p2), v, c)
    True
    >>> print(b_l_pull(LeftJoin(Extend(p1, v, c), Values((v,), ()))))
    None
    """
    if isinstance(node, LeftJoin) and isinstance(node.left, Extend):
        return _pulled_out(node, node.left)
    return None


def _moves(bind: Extend, first: Node, second: Node, join: Join | LeftJoin) -> bool:
    if not is_repeatable(bind.expression) or bind.variable in possible_variables(second):
        return False
    condition = join.condition if isinstance(join, LeftJoin) else None
    if condition is not None and bind.variable in mentioned_variables(condition):
        return False
    return decided_by(mentioned_variables(bind.expression), first, second)


def _pushed_left(bind: Extend, join: Join | LeftJoin) -> Node | None:
    if not _moves(bind, join.left, join.right, join):
        return None
    return dataclasses.replace(join, left=dataclasses.replace(bind, input=join.left))


def _pulled_out(join: Join | LeftJoin, bind: Extend) -> Node | None:
    if not _moves(bind, bind.input, join.right, join):
        return None
    return dataclasses.replace(bind, input=dataclasses.replace(join, left=bind.input))
