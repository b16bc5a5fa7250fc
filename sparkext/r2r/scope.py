"""Which variables a pattern binds in every solution: joins on them may be plain equality joins."""

from __future__ import annotations

from sparkext.language.algebra import (
    Bgp,
    Extend,
    Graph,
    Group,
    Join,
    LeftJoin,
    Node,
    Path,
    Project,
    Union,
    Values,
    Variable,
    Window,
)
from sparkext.language.expressions import Constant, VariableReference
from sparkext.r2r.stage_rows import StageRows


def certain_variables(node: Node) -> frozenset[Variable]:
    """The in-scope variables of `node` that no solution leaves unbound.

    >>> from sparkext.language.algebra import TriplePattern
    >>> from static_data.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> left, right = (Bgp((TriplePattern(v, Iri("http://e/p"), v),)) for v in (a, b))
    >>> certain_variables(LeftJoin(left, right)) == {a}, certain_variables(Union(left, right)) == set()
    (True, True)
    """
    match node:
        case Bgp() | Path() | StageRows():
            return frozenset(node.variables)
        case Join():
            return certain_variables(node.left) | certain_variables(node.right)
        case Union():
            return certain_variables(node.left) & certain_variables(node.right)
        case LeftJoin():
            return certain_variables(node.left)
        case Values():
            return frozenset(
                name
                for place, name in enumerate(node.names)
                if node.rows and all(row[place] is not None for row in node.rows)
            )
        case Graph() | Window():
            named = {node.name} if isinstance(node.name, Variable) else set()
            return certain_variables(node.input) | named
        case Extend():
            inner = certain_variables(node.input)
            expression = node.expression
            bound = isinstance(expression, Constant) or (
                isinstance(expression, VariableReference) and expression.variable in inner
            )
            return inner | {node.variable} if bound else inner
        case Group():
            inner = certain_variables(node.input)
            keys = {
                key
                for key, expression in node.keys
                if isinstance(expression, VariableReference) and expression.variable in inner
            }
            counts = {name for name, aggregate in node.aggregates if aggregate.name == "COUNT"}
            return frozenset(keys | counts)
        case Project():
            return certain_variables(node.input) & frozenset(node.names)
        case _:
            # Filter, Distinct, Reduced, OrderBy, Slice, ToMultiset, and Minus by its left side.
            return certain_variables(node.children[0])
