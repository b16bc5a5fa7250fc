"""Groups II and III of Table 1: filters taken apart, put into another order, and pushed inward.

Every function takes a node that looks like the left side and returns the right side, or None when it looks otherwise
or the condition of the rule does not hold. A condition with RAND, UUID or BNODE stays where it is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from sparkext.language.algebra import (
    Distinct,
    Extend,
    Filter,
    Graph,
    Join,
    LeftJoin,
    Minus,
    Project,
    ToMultiset,
    Union,
    Window,
)
from sparkext.language.expressions import And, Expression, Or
from sparkext.language.nodes import Node, Variable
from sparkext.rewriting.bound_variables import (
    certain_variables,
    holds_exists,
    is_repeatable,
    mentioned_variables,
    possible_variables,
)


def decided_by(variables: Iterable[Variable], left: Node, right: Node) -> bool:
    """Whether each variable has, in every solution of left AND right (or left OPT right), its value in the left one.

    That is so when it is certain in the left pattern or not possible in the right one. Table 1 prints "and" between
    the two; "or" is as sound, and lets a filter on a join variable through.
    """
    certain, possible = certain_variables(left), possible_variables(right)
    return all(variable in certain or variable not in possible for variable in variables)


def conjuncts(condition: Expression) -> tuple[Expression, ...]:
    """The parts of an And chain, in order; a row passes the chain exactly when it passes each (FDecompI)."""
    if isinstance(condition, And):
        return conjuncts(condition.left) + conjuncts(condition.right)
    return (condition,)


def f_decomp_i(node: Node) -> Node | None:
    """FDecompI: (P FILTER R1 && R2) = ((P FILTER R1) FILTER R2). No condition; errors drop a row on both sides.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> r1, r2 = (VariableReference(Variable(name)) for name in "ab")
    >>> f_decomp_i(Filter(And(r1, r2), Bgp(()))) == Filter(r2, Filter(r1, Bgp(())))
    True
    """
    if isinstance(node, Filter) and isinstance(node.condition, And):
        first, second = node.condition.left, node.condition.right
        inner = Filter(first, node.input, position=node.position)
        return Filter(second, inner, position=node.position)
    return None


def f_decomp_ii(node: Node) -> Node | None:
    """FDecompII: (P FILTER R1 || R2) = ((P FILTER R1) UNION (P FILTER R2)). Only for sets of solutions.

    As a bag, a solution that fulfils both conditions comes back twice. No plan of the engine uses this rule.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> r1, r2 = (VariableReference(Variable(name)) for name in "ab")
    >>> f_decomp_ii(Filter(Or(r1, r2), Bgp(()))) == Union(Filter(r1, Bgp(())), Filter(r2, Bgp(())))
    True
    """
    if not (isinstance(node, Filter) and isinstance(node.condition, Or)):
        return None
    if not is_repeatable(node.condition):
        return None
    left = dataclasses.replace(node, condition=node.condition.left)
    right = dataclasses.replace(node, condition=node.condition.right)
    return Union(left, right, position=node.position)


def f_reord_i(node: Node) -> Node | None:
    """FReordI: (P FILTER R1 && R2) = (P FILTER R2 && R1). No condition.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> r1, r2 = (VariableReference(Variable(name)) for name in "ab")
    >>> f_reord_i(Filter(And(r1, r2), Bgp(()))) == Filter(And(r2, r1), Bgp(()))
    True
    """
    if isinstance(node, Filter) and isinstance(node.condition, And):
        return _swapped(node, node.condition)
    return None


def f_reord_ii(node: Node) -> Node | None:
    """FReordII: (P FILTER R1 || R2) = (P FILTER R2 || R1). No condition.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> r1, r2 = (VariableReference(Variable(name)) for name in "ab")
    >>> f_reord_ii(Filter(Or(r1, r2), Bgp(()))) == Filter(Or(r2, r1), Bgp(()))
    True
    """
    if isinstance(node, Filter) and isinstance(node.condition, Or):
        return _swapped(node, node.condition)
    return None


def _swapped(node: Filter, condition: And | Or) -> Node:
    other = dataclasses.replace(condition, left=condition.right, right=condition.left)
    return dataclasses.replace(node, condition=other)


def f_u_push(node: Node) -> Node | None:
    """FUPush: ((P1 UNION P2) FILTER R) = ((P1 FILTER R) UNION (P2 FILTER R)). No condition.

    >>> from sparkext.language.algebra import Bgp, Values
    >>> from sparkext.language.expressions import VariableReference
    >>> r, p1, p2 = VariableReference(Variable("a")), Bgp(()), Values((Variable("a"),), ())
    >>> f_u_push(Filter(r, Union(p1, p2))) == Union(Filter(r, p1), Filter(r, p2))
    True
    """
    if not (isinstance(node, Filter) and isinstance(node.input, Union)):
        return None
    union = node.input
    left = dataclasses.replace(node, input=union.left)
    return dataclasses.replace(union, left=left, right=dataclasses.replace(node, input=union.right))


def f_j_push(node: Node) -> Node | None:
    """FJPush: ((P1 AND P2) FILTER R) = ((P1 FILTER R) AND P2).

    If every ?v in vars(R) is in cVars(P1) or not in pVars(P2).

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import TriplePattern
    >>> from sparkext.language.expressions import VariableReference
    >>> from static_data.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> p1, p2 = (Bgp((TriplePattern(v, Iri("http://e/p"), v),)) for v in (a, b))
    >>> on_a, on_b = VariableReference(a), VariableReference(b)
    >>> f_j_push(Filter(on_a, Join(p1, p2))) == Join(Filter(on_a, p1), p2)
    True
    >>> print(f_j_push(Filter(on_b, Join(p1, p2))))
    None
    """
    if isinstance(node, Filter) and isinstance(node.input, Join):
        return _pushed_left(node, node.input)
    return None


def f_l_push(node: Node) -> Node | None:
    """FLPush: ((P1 OPT P2) FILTER R) = ((P1 FILTER R) OPT P2).

    If every ?v in vars(R) is in cVars(P1) or not in pVars(P2).

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import TriplePattern
    >>> from sparkext.language.expressions import VariableReference
    >>> from static_data.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> p1, p2 = (Bgp((TriplePattern(v, Iri("http://e/p"), v),)) for v in (a, b))
    >>> on_a, on_b = VariableReference(a), VariableReference(b)
    >>> f_l_push(Filter(on_a, LeftJoin(p1, p2))) == LeftJoin(Filter(on_a, p1), p2)
    True
    >>> print(f_l_push(Filter(on_b, LeftJoin(p1, p2))))
    None
    """
    if isinstance(node, Filter) and isinstance(node.input, LeftJoin):
        return _pushed_left(node, node.input)
    return None


def _pushed_left(node: Filter, join: Join | LeftJoin) -> Node | None:
    if not is_repeatable(node.condition):
        return None
    if not decided_by(mentioned_variables(node.condition), join.left, join.right):
        return None
    return dataclasses.replace(join, left=dataclasses.replace(node, input=join.left))


def f_w_push(node: Node) -> Node | None:
    """FWPush: ((WINDOW n P) FILTER R) = (WINDOW n (P FILTER R)).

    If n is an IRI or not in vars(R), and R has no EXISTS, whose pattern would be matched in the window instead.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> n, r = Variable("n"), VariableReference(Variable("a"))
    >>> f_w_push(Filter(r, Window(n, Bgp(())))) == Window(n, Filter(r, Bgp(())))
    True
    >>> print(f_w_push(Filter(VariableReference(n), Window(n, Bgp(())))))
    None
    """
    if isinstance(node, Filter) and isinstance(node.input, Window):
        return _pushed_through_name(node, node.input)
    return None


def f_g_push(node: Node) -> Node | None:
    """FGPush: ((GRAPH n P) FILTER R) = (GRAPH n (P FILTER R)), which Table 1 lacks.

    If n is an IRI or not in vars(R), and R has no EXISTS, whose pattern would be matched in the graph instead.

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> n, r = Variable("n"), VariableReference(Variable("a"))
    >>> f_g_push(Filter(r, Graph(n, Bgp(())))) == Graph(n, Filter(r, Bgp(())))
    True
    >>> print(f_g_push(Filter(VariableReference(n), Graph(n, Bgp(())))))
    None
    """
    if isinstance(node, Filter) and isinstance(node.input, Graph):
        return _pushed_through_name(node, node.input)
    return None


def _pushed_through_name(node: Filter, named: Window | Graph) -> Node | None:
    if holds_exists(node.condition) or named.name in mentioned_variables(node.condition):
        return None
    return dataclasses.replace(named, input=dataclasses.replace(node, input=named.input))


def f_b_push(node: Node) -> Node | None:
    """FBPush: ((P BIND ?v C) FILTER R) = ((P FILTER R) BIND ?v C), which Table 1 lacks.

    If ?v is not in vars(R).

    >>> from sparkext.language.algebra import Bgp
    >>> from sparkext.language.expressions import VariableReference
    >>> v, r = Variable("v"), VariableReference(Variable("a"))
    >>> f_b_push(Filter(r, Extend(Bgp(()), v, r))) == Extend(Filter(r, Bgp(())), v, r)
    True
    >>> print(f_b_push(Filter(VariableReference(v), Extend(Bgp(()), v, r))))
    None
    """
    if not (isinstance(node, Filter) and isinstance(node.input, Extend)):
        return None
    bind = node.input
    if bind.variable in mentioned_variables(node.condition):
        return None
    return dataclasses.replace(bind, input=dataclasses.replace(node, input=bind.input))


def f_s_push(node: Node) -> Node | None:
    """FSPush: a filter on a sub-select is one inside it: past the projection, DISTINCT, or the braces.

    (P FILTER R), P a projection to S, = the projection to S of (P' FILTER R), P' what it projects. If no variable
    of R is hidden by the projection: vars(R) and pVars(P') agree within S.

    >>> from sparkext.language.algebra import Values
    >>> from sparkext.language.expressions import VariableReference
    >>> a, b = Variable("a"), Variable("b")
    >>> p, r = Values((a, b), ()), VariableReference(a)
    >>> f_s_push(Filter(r, Project(p, (a,)))) == Project(Filter(r, p), (a,))
    True
    >>> print(f_s_push(Filter(VariableReference(b), Project(p, (a,)))))
    None
    """
    if not isinstance(node, Filter):
        return None
    match node.input:
        case Project(input=inner, names=names):
            hidden = possible_variables(inner) - set(names)
            if hidden & mentioned_variables(node.condition):
                return None
        case Distinct(input=inner):
            if not is_repeatable(node.condition):
                return None
        case ToMultiset(input=inner):
            pass
        case _:
            return None
    return node.input.replace_children((dataclasses.replace(node, input=inner),))


def f_m_push(node: Node) -> Node | None:
    """FMPush: ((P1 MINUS P2) FILTER R) = ((P1 FILTER R) MINUS P2). No condition: a solution stays what it is.

    >>> from sparkext.language.algebra import Bgp, Values
    >>> from sparkext.language.expressions import VariableReference
    >>> r, p1, p2 = VariableReference(Variable("a")), Bgp(()), Values((Variable("a"),), ())
    >>> f_m_push(Filter(r, Minus(p1, p2))) == Minus(Filter(r, p1), p2)
    True
    """
    if not (isinstance(node, Filter) and isinstance(node.input, Minus)):
        return None
    minus = node.input
    return dataclasses.replace(minus, left=dataclasses.replace(node, input=minus.left))


def f_o_push(node: Node) -> Node | None:
    """FOPush: (P1 OPT P2 under R) = (P1 OPT (P2 FILTER R)), for a condition R that the OPTIONAL itself holds.

    If every ?v in vars(R) is in cVars(P2) or not in pVars(P1).

    >>> from sparkext.language.algebra import Bgp, Values
    >>> from sparkext.language.expressions import VariableReference
    >>> r, p1, p2 = VariableReference(Variable("a")), Bgp(()), Values((Variable("a"),), ())
    >>> f_o_push(LeftJoin(p1, p2, r)) == LeftJoin(p1, Filter(r, p2))
    True
    >>> print(f_o_push(LeftJoin(p2, p1, r)))
    None
    """
    if not isinstance(node, LeftJoin) or node.condition is None:
        return None
    if not is_repeatable(node.condition):
        return None
    if not decided_by(mentioned_variables(node.condition), node.right, node.left):
        return None
    inner = Filter(node.condition, node.right, position=node.condition.position)
    return dataclasses.replace(node, right=inner, condition=None)
