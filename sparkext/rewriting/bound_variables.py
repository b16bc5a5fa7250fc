"""Which variables a pattern or an expression speaks of: cVars, pVars and vars of the rewriting rules.

Schmidt, Meier and Lausen, "Foundations of SPARQL query optimization" (2010), section 3; Table 1 of the uncertainty
paper takes the names over.
"""

from __future__ import annotations

from typing import Final

from sparkext.language.algebra import (
    Extend,
    Graph,
    Group,
    Join,
    LeftJoin,
    Project,
    Service,
    Union,
    Values,
    Window,
)
from sparkext.language.event_patterns import (
    Disjunction,
    Event,
    EventPattern,
    Match,
    Repetition,
    Sequence,
    Timed,
    parts_of,
)
from sparkext.language.expressions import (
    BuiltinCall,
    Constant,
    Exists,
    Expression,
    VariableReference,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of

# Called twice with the same arguments, they may give two values.
_UNREPEATABLE: Final = {"RAND", "UUID", "STRUUID", "BNODE", "ROW"}


def certain_variables(node: Node) -> frozenset[Variable]:
    """cVars: the in-scope variables of `node` that no solution leaves unbound.

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import TriplePattern
    >>> from static_data.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> left, right = (Bgp((TriplePattern(v, Iri("http://e/p"), v),)) for v in (a, b))
    >>> certain_variables(LeftJoin(left, right)) == {a}, certain_variables(Union(left, right)) == set()
    (True, True)
    """
    match node:
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
        case Match():
            return _in_every_event(node, node.pattern)
        case Service():
            return frozenset()  # with SILENT, a failing endpoint gives one empty solution
        case _ if not node.children:
            # Triple patterns and paths bind all of theirs; rows made elsewhere tell which ones.
            return frozenset(getattr(node, "sure", node.variables))
        case _:
            # Filter, Distinct, Reduced, OrderBy, Slice, ToMultiset, and Minus by its left side.
            return certain_variables(node.children[0])


def _in_every_event(match: Match, pattern: EventPattern) -> frozenset[Variable]:
    """The variables that every mapping of a part of an event pattern binds."""
    match pattern:
        case Event(name):
            event = match.event(name)
            return certain_variables(event).intersection(match.variables_of(pattern))
        case Sequence(left, right):
            return _in_every_event(match, left) | _in_every_event(match, right)
        case Disjunction(left, right):
            return _in_every_event(match, left) & _in_every_event(match, right)
        case Repetition(input_, keys, aggregates):
            counts = {name for name, aggregate in aggregates if aggregate.name == "COUNT"}
            return _in_every_event(match, input_).intersection(keys) | counts
        case Timed(input_, start, end):
            times = {name for name in (start, end) if name is not None}
            return _in_every_event(match, input_) | times
    return frozenset().union(*(_in_every_event(match, part) for part in parts_of(pattern)))


def possible_variables(node: Node) -> frozenset[Variable]:
    """pVars: the variables that some solution of `node` may bind, which are those in scope.

    >>> from sparkext.language.algebra import Bgp

    >>> from sparkext.language.nodes import TriplePattern
    >>> from static_data.terms import Iri
    >>> a, b = Variable("a"), Variable("b")
    >>> left, right = (Bgp((TriplePattern(v, Iri("http://e/p"), v),)) for v in (a, b))
    >>> possible_variables(LeftJoin(left, right)) == {a, b}
    True
    """
    return frozenset(node.variables)


def mentioned_variables(expression: Expression) -> frozenset[Variable]:
    """vars: every variable that the value of `expression` may depend on.

    A solution's values are put into the pattern of an EXISTS, so all variables of that pattern count, in scope or
    not.
    """
    found: set[Variable] = set()
    for part in expression.walk():
        if isinstance(part, VariableReference):
            found.add(part.variable)
        elif isinstance(part, Exists):
            for node in part.pattern.walk():
                found.update(node.variables)
                for inner in expressions_of(node):
                    found |= mentioned_variables(inner)
        else:
            found.update(() if part.children else part.variables)
    return frozenset(found)


def is_repeatable(expression: Expression) -> bool:
    """Whether `expression` has one value a solution, however often and wherever it is computed.

    >>> is_repeatable(BuiltinCall("RAND", ())), is_repeatable(BuiltinCall("NOW", ()))
    (False, True)
    """
    for part in expression.walk():
        if isinstance(part, BuiltinCall) and part.name in _UNREPEATABLE:
            return False
        if isinstance(part, Exists):
            inner = (e for node in part.pattern.walk() for e in expressions_of(node))
            if not all(map(is_repeatable, inner)):
                return False
    return True


def holds_exists(expression: Expression) -> bool:
    """Whether an EXISTS stands anywhere in `expression`: its pattern is matched in the graph around the filter."""
    return any(isinstance(part, Exists) for part in expression.walk())
