"""EXISTS by its definition: the current solution put in for variables everywhere in a pattern.

SPARQL 1.1, section 18.6. A pattern is not evaluated once a solution. Where putting values in first or joining with them
afterwards is the same, the pattern is *closed* and the join does it. Elsewhere, as under a filter that reads an outer
variable, the outer solutions (`Given`) are joined in below the place that sees the difference.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from sparkext.errors import UnsupportedFeatureError
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
    OrderBy,
    Path,
    Project,
    Reduced,
    Slice,
    ToMultiset,
    Union,
    Values,
    Window,
)
from sparkext.language.event_patterns import Match
from sparkext.language.expressions import Exists, Expression, VariableReference
from sparkext.language.nodes import Node, Variable
from sparkext.language.paths import OneOrMore
from sparkext.language.support import expressions_of, query_word
from sparkext.r2r.patterns.stage_rows import Given, LiveRows
from sparkext.rewriting.bound_variables import certain_variables

Variables = frozenset[Variable]


@dataclass(frozen=True)
class PathFromGiven(Path):
    """A path of perhaps no steps whose ends in `outer` are put in: such a term reaches itself, in the graph or not."""

    outer: frozenset[Variable] = frozenset()


def free_variables(node: Node) -> Variables:
    """The variables for which a pattern takes a value from outside, those that only its filters read included.

    >>> x, y = Variable("x"), Variable("y")
    >>> sorted(v.name for v in free_variables(Project(Filter(VariableReference(y), Bgp()), (x,))))
    ['x']
    """
    own = frozenset(v for expression in expressions_of(node) for v in read_variables(expression))
    match node:
        case Project() | Group() | Match():
            return frozenset(node.variables)
        case Graph() | Window():
            named = {node.name} if isinstance(node.name, Variable) else set()
            return free_variables(node.input) | named
        case Extend():
            return free_variables(node.input) | own | {node.variable}
        case _ if node.children:
            return own.union(*(free_variables(child) for child in node.children))
        case _:
            return frozenset(node.variables)


def read_variables(expression: Expression) -> Variables:
    """The variables whose values an expression depends on; for EXISTS, all that its pattern takes from outside."""
    if isinstance(expression, Exists):
        return free_variables(expression.pattern)
    own = expression.variables if not expression.children else ()
    return frozenset(own).union(*(read_variables(child) for child in expression.children))


def closed(node: Node, outer: Variables) -> bool:
    """Whether joining the pattern's solutions with the outer ones gives what putting them in first gives."""
    match node:
        case Bgp() | Values() | Given() | LiveRows():
            return True
        case Path():
            # A term that is put in as an end reaches itself, whether the graph holds it or not.
            searched = isinstance(node.subject, Variable) and isinstance(node.object, Variable)
            settled = isinstance(node.path, OneOrMore) or not searched
            return settled or not outer & set(node.variables)
        case Join() | Union():
            return closed(node.left, outer) and closed(node.right, outer)
        case Filter():
            return closed(node.input, outer) and _settled(node.condition, node.input, outer)
        case LeftJoin():
            sides = closed(node.left, outer) and closed(node.right, outer)
            bound = certain_variables(node.left)
            test = node.condition is None or outer & read_variables(node.condition) <= bound
            return sides and test and outer & free_variables(node.right) <= bound
        case Minus():
            bound = certain_variables(node.left)
            sides = closed(node.left, outer) and closed(node.right, outer)
            return sides and outer & free_variables(node.right) <= bound
        case Extend():
            fresh = node.variable not in outer
            return (
                closed(node.input, outer) and fresh and _settled(node.expression, node.input, outer)
            )
        case Graph() | Window() | Distinct() | Reduced() | OrderBy() | ToMultiset():
            return closed(node.children[0], outer)
        case Project():
            return closed(node.input, outer & set(node.names))
        case Group():
            keys = {
                key
                for key, expression in node.keys
                if isinstance(expression, VariableReference) and expression.variable == key
            }
            inner = outer & free_variables(node.input) & set(node.variables)
            return closed(node.input, inner) and inner <= keys & certain_variables(node.input)
        case Slice():
            return not outer & free_variables(node.input)
        case _:
            return not outer & free_variables(node)


def _settled(expression: Expression, pattern: Node, outer: Variables) -> bool:
    return outer & read_variables(expression) <= certain_variables(pattern)


def inject(node: Node, given: Given, outer: Variables) -> Node:
    """The pattern with the outer solutions joined in where it is not closed; its solutions have their columns.

    Before: ``Filter(?z = ?o, Bgp(?y q ?z))``; after: ``Filter(?z = ?o, Join(Given(?o), Bgp(?y q ?z)))``.
    """
    if isinstance(node, Path) and not closed(node, outer):
        return Join(
            given,
            PathFromGiven(node.subject, node.path, node.object, outer, position=node.position),
        )
    if closed(node, outer):
        return Join(given, node)
    match node:
        case Join():
            left = node.left if closed(node.left, outer) else inject(node.left, given, outer)
            right = node.right if closed(node.right, outer) else inject(node.right, given, outer)
            return dataclasses.replace(node, left=left, right=right)
        case Union():
            return dataclasses.replace(
                node, left=inject(node.left, given, outer), right=inject(node.right, given, outer)
            )
        case LeftJoin() | Minus():
            right = node.right if closed(node.right, outer) else inject(node.right, given, outer)
            return dataclasses.replace(node, left=inject(node.left, given, outer), right=right)
        case Filter() | Distinct() | Reduced() | OrderBy() | ToMultiset() | Graph() | Window():
            return node.replace_children((inject(node.children[0], given, outer),))
        case Extend() if node.variable not in outer:
            return node.replace_children((inject(node.input, given, outer),))
        case Project():
            # Only what the sub-select shows is put into it.
            shown = outer & set(node.names)
            inner = inject(node.input, given, shown)
            names = tuple(dict.fromkeys((*node.names, *given.names)))
            return dataclasses.replace(node, input=inner, names=names)
        case _:
            raise UnsupportedFeatureError(
                f"{query_word(node)} over variables from outside its EXISTS is not supported",
                *(node.position or (1, 1)),
            )


def without_order(node: Node) -> Node:
    """The pattern without what changes the number or the order of its solutions, but never whether there are any."""
    while True:
        match node:
            case Distinct() | Reduced() | OrderBy() | ToMultiset():
                node = node.children[0]
            case Slice(offset=0) if node.limit is None or node.limit > 0:
                node = node.input
            case _:
                return node
