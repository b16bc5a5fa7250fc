"""One pattern that answers many instances of a template: its holes are variables that a relation of instances binds.

The relation has a row for each instance: its number and its constants. Joined in wherever solutions depend on a
constant that a join alone does not settle, it gives each instance its own solutions, with its number. So it does where
lots are drawn: each instance draws its own.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

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
    Window,
)
from sparkext.language.expressions import (
    Aggregate,
    BuiltinCall,
    Constant,
    Exists,
    Expression,
    VariableReference,
)
from sparkext.language.nodes import Node, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.patterns.inner_patterns import map_expressions
from sparkext.r2r.patterns.local_names import variables_of
from sparkext.r2r.templates.inline_rows import InlineRows
from sparkext.rewriting.bound_variables import certain_variables, is_repeatable
from static_data.terms import XSD_INTEGER, Literal

# What an aggregate over no rows is, where it is no error.
_OVER_NONE = {
    "COUNT": Constant(Literal("0", XSD_INTEGER)),
    "SUM": Constant(Literal("0", XSD_INTEGER)),
    "AVG": Constant(Literal("0", XSD_INTEGER)),
    "GROUP_CONCAT": Constant(Literal("")),
}


class NotShareableError(Exception):
    """A pattern whose constants cannot be those of many instances at once."""


@dataclass(frozen=True)
class Instances:
    """The relation of instances: a pattern whose solutions bind `number` and `holes`, all of them in each."""

    rows: Node
    number: Variable
    holes: frozenset[Variable]


def shared(pattern: Node, instances: Instances) -> Node:
    """The pattern for all instances: its solutions are those of each, with the number of it.

    A SELECT has it as its last variable. Raises NotShareableError.
    """
    return _numbered(_part(pattern, instances), instances)


@dataclass(frozen=True)
class _Part:
    """A pattern over holes; `numbered` where each solution has the number of the instance that it is one of.

    Else it is right once it is joined with the relation of instances.
    """

    node: Node
    numbered: bool = False


def _numbered(part: _Part, instances: Instances) -> Node:
    return part.node if part.numbered else Join(instances.rows, part.node)


def _bound(part: _Part, wanted: frozenset[Variable], instances: Instances) -> Node:
    """The part with a number, and these constants, in each of its solutions."""
    if part.numbered and wanted <= certain_variables(part.node):
        return part.node
    return Join(instances.rows, part.node)


def _uses(node: Node, instances: Instances) -> bool:
    """Whether the solutions are not the same for all instances."""
    read = (e for inner in node.walk() for e in expressions_of(inner))
    return not (instances.holes.isdisjoint(variables_of(node)) and all(map(is_repeatable, read)))


def _reads(expression: Expression, instances: Instances) -> bool:
    """Whether the value is not the same for all instances."""
    constant = instances.holes.isdisjoint(variables_of(expression))
    return not (constant and is_repeatable(expression))


def _part(node: Node, instances: Instances) -> _Part:
    if not _uses(node, instances) and not isinstance(node, Project | Distinct | OrderBy | Reduced):
        return _Part(node)
    match node:
        case Bgp() | Path():
            return _Part(node)
        case InlineRows():
            return _Part(node.joined(instances.rows), True)
        case Join():
            return _join(node, instances)
        case Union():
            # Each side binds what the other may leave unbound: a join with neither would compare nothing.
            sides = (_numbered(_part(side, instances), instances) for side in node.children)
            return _Part(node.replace_children(tuple(sides)), True)
        case Window() | Graph():
            part = _part(node.input, instances)
            return _Part(dataclasses.replace(node, input=part.node), part.numbered)
        case Filter():
            return _reading(node, (node.condition,), instances)
        case Extend():
            return _reading(node, (node.expression,), instances)
        case LeftJoin():
            return _optional(node, instances)
        case Minus():
            return _minus(node, instances)
        case Group():
            return _group(node, instances)
        case Project():
            inner = _numbered(_part(node.input, instances), instances)
            return _Part(
                dataclasses.replace(node, input=inner, names=(*node.names, instances.number)), True
            )
        case Distinct() | Reduced():
            return _over(node, instances)
        case OrderBy():
            read = tuple(key.expression for key in node.keys)
            return (
                _reading(node, read, instances)
                if _uses(node, instances)
                else _over(node, instances)
            )
        case ToMultiset():
            return _over(node, instances)
        case Slice():
            raise NotShareableError("a LIMIT or OFFSET in a sub-select")
    raise NotShareableError(f"a constant in {type(node).__name__}")


def _join(node: Join, instances: Instances) -> _Part:
    left, right = _part(node.left, instances), _part(node.right, instances)
    if left.numbered != right.numbered:
        # What has a number may show it alone, as a sub-select does: then it says nothing of the other side's constants.
        whole, other = (left, right) if left.numbered else (right, left)
        open_ = instances.holes.intersection(variables_of(other.node))
        if not open_ <= certain_variables(whole.node):
            numbered = _Part(_numbered(other, instances), True)
            left, right = (numbered, right) if other is left else (left, numbered)
    made = dataclasses.replace(node, left=left.node, right=right.node)
    return _Part(made, left.numbered or right.numbered)


def _over(node: Distinct | Reduced | OrderBy | ToMultiset, instances: Instances) -> _Part:
    inner = _numbered(_part(node.input, instances), instances)
    return _Part(dataclasses.replace(node, input=inner), True)


def _reading(
    node: Filter | Extend | OrderBy, read: tuple[Expression, ...], instances: Instances
) -> _Part:
    """An operator that reads constants, which must be bound below it, or draws lots for each instance."""
    part = _part(node.input, instances)
    if not any(_reads(expression, instances) for expression in read):
        return _Part(dataclasses.replace(node, input=part.node), part.numbered)
    wanted = instances.holes & {v for e in read for v in variables_of(e)}
    made = dataclasses.replace(node, input=_bound(part, wanted, instances))
    return _Part(map_expressions(made, lambda e: _inside_exists(e, instances)), True)


def _inside_exists(expression: Expression, instances: Instances) -> Expression:
    def change(part: Expression) -> Expression:
        if isinstance(part, Exists) and _uses(part.pattern, instances):
            return dataclasses.replace(part, pattern=_part(part.pattern, instances).node)
        return part

    return expression.transform(change)


def _optional(node: LeftJoin, instances: Instances) -> _Part:
    left = _part(node.left, instances)
    inside = _uses(node.right, instances)
    reads = node.condition is not None and _reads(node.condition, instances)
    if not inside and not reads:
        return _Part(dataclasses.replace(node, left=left.node), left.numbered)
    right = _part(node.right, instances).node
    # Constants are bound on the left, so that the right side and the condition are about the same instance.
    outer = _bound(left, instances.holes, instances)
    made = dataclasses.replace(node, left=outer, right=right)
    return _Part(map_expressions(made, lambda e: _inside_exists(e, instances)), True)


def _minus(node: Minus, instances: Instances) -> _Part:
    left = _part(node.left, instances)
    if not _uses(node.right, instances):
        return _Part(dataclasses.replace(node, left=left.node), left.numbered)
    own = certain_variables(node.left) & certain_variables(node.right)
    if not own - instances.holes:
        # Solutions that share no variable exclude nothing; with holes and numbers, all share some.
        raise NotShareableError("a constant in a MINUS that may share no variable")
    outer = _bound(left, instances.holes, instances)
    right = _part(node.right, instances).node
    return _Part(dataclasses.replace(node, left=outer, right=right), True)


def _group(node: Group, instances: Instances) -> _Part:
    """Groups of each instance; without keys, an instance has one even where it has no rows."""
    part = _part(node.input, instances)
    read = [*(key for _, key in node.keys), *(aggregate for _, aggregate in node.aggregates)]
    needs = instances.holes & {v for e in read for v in variables_of(e)}
    inner = _bound(part, needs, instances)
    number = (instances.number, VariableReference(instances.number))
    made = dataclasses.replace(node, input=inner, keys=(*node.keys, number))
    if node.keys:
        return _Part(made, True)
    # Over no rows, aggregates without a value here are errors.
    there = Variable("rows of the group")
    shown = {name: Variable(f"{name.name} of the group") for name, _ in node.aggregates}
    renamed = tuple((shown[name], aggregate) for name, aggregate in node.aggregates)
    counted = (there, Aggregate("COUNT", None))
    whole: Node = LeftJoin(
        instances.rows, dataclasses.replace(made, aggregates=(*renamed, counted))
    )
    for name, aggregate in node.aggregates:
        value: Expression = VariableReference(shown[name])
        if aggregate.name in _OVER_NONE:
            bound = BuiltinCall("BOUND", (VariableReference(there),))
            value = BuiltinCall("IF", (bound, value, _OVER_NONE[aggregate.name]))
        whole = Extend(whole, name, value)
    return _Part(whole, True)
