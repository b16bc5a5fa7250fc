"""Group I of Table 1: associativity, commutativity and distributivity of UNION, AND and OPT.

Every function takes a node that looks like the left side and returns the right side, or None when it looks otherwise.
"""

from __future__ import annotations

import dataclasses

from sparkext.language.algebra import Join, LeftJoin, Union
from sparkext.language.nodes import Node


def u_ass(node: Node) -> Node | None:
    """UAss: ((P1 UNION P2) UNION P3) = (P1 UNION (P2 UNION P3)). No condition.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2, p3 = Bgp(()), Values((Variable("a"),), ()), Values((Variable("b"),), ())
    >>> u_ass(Union(Union(p1, p2), p3)) == Union(p1, Union(p2, p3))
    True
    """
    if isinstance(node, Union) and isinstance(node.left, Union):
        inner = dataclasses.replace(node.left, left=node.left.right, right=node.right)
        return dataclasses.replace(node, left=node.left.left, right=inner)
    return None


def j_ass(node: Node) -> Node | None:
    """JAss: ((P1 AND P2) AND P3) = (P1 AND (P2 AND P3)). No condition.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2, p3 = Bgp(()), Values((Variable("a"),), ()), Values((Variable("b"),), ())
    >>> j_ass(Join(Join(p1, p2), p3)) == Join(p1, Join(p2, p3))
    True
    """
    if isinstance(node, Join) and isinstance(node.left, Join):
        inner = dataclasses.replace(node.left, left=node.left.right, right=node.right)
        return dataclasses.replace(node, left=node.left.left, right=inner)
    return None


def u_comm(node: Node) -> Node | None:
    """UComm: (P1 UNION P2) = (P2 UNION P1). No condition.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2 = Bgp(()), Values((Variable("a"),), ())
    >>> u_comm(Union(p1, p2)) == Union(p2, p1)
    True
    """
    if isinstance(node, Union):
        return dataclasses.replace(node, left=node.right, right=node.left)
    return None


def j_comm(node: Node) -> Node | None:
    """JComm: (P1 AND P2) = (P2 AND P1). No condition.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2 = Bgp(()), Values((Variable("a"),), ())
    >>> j_comm(Join(p1, p2)) == Join(p2, p1)
    True
    """
    if isinstance(node, Join):
        return dataclasses.replace(node, left=node.right, right=node.left)
    return None


def j_u_dist_r(node: Node) -> Node | None:
    """JUDistR: ((P1 UNION P2) AND P3) = ((P1 AND P3) UNION (P2 AND P3)). No condition.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2, p3 = Bgp(()), Values((Variable("a"),), ()), Values((Variable("b"),), ())
    >>> j_u_dist_r(Join(Union(p1, p2), p3)) == Union(Join(p1, p3), Join(p2, p3))
    True
    """
    if isinstance(node, Join) and isinstance(node.left, Union):
        return _distributed(node, node.left)
    return None


def l_u_dist_r(node: Node) -> Node | None:
    """LUDistR: ((P1 UNION P2) OPT P3) = ((P1 OPT P3) UNION (P2 OPT P3)). No condition.

    The mirror image, P1 OPT (P2 UNION P3), does not distribute: a solution of P1 that only P2 extends would also come
    back bare from the part of P3.

    >>> from sparkext.language.algebra import Bgp, Values

    >>> from sparkext.language.nodes import Variable
    >>> p1, p2, p3 = Bgp(()), Values((Variable("a"),), ()), Values((Variable("b"),), ())
    >>> l_u_dist_r(LeftJoin(Union(p1, p2), p3)) == Union(LeftJoin(p1, p3), LeftJoin(p2, p3))
    True
    """
    if isinstance(node, LeftJoin) and isinstance(node.left, Union):
        return _distributed(node, node.left)
    return None


def _distributed(node: Join | LeftJoin, union: Union) -> Node:
    return dataclasses.replace(
        union,
        left=dataclasses.replace(node, left=union.left),
        right=dataclasses.replace(node, left=union.right),
    )
