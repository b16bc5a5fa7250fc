"""Expression nodes of the query algebra: what FILTER, BIND, HAVING, ORDER BY and SELECT compute.

Nodes are immutable values. `position` says where the text stood, `occurrence` tells equal ones of a
pattern apart where they are counted; neither takes part in equality.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from sparkext.language.nodes import Node, Position, QuotedPattern, Variable
from static_data.terms import Term


@dataclass(frozen=True, kw_only=True)
class Expression:
    """Base of all expressions."""

    position: Position | None = field(default=None, compare=False, repr=False)
    occurrence: int = field(default=0, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expression, ...]:
        """The direct sub-expressions, in order of writing."""
        return ()

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        """Return this node over other sub-expressions (as many as `children` has)."""
        if children:
            raise ValueError(f"{type(self).__name__} has no sub-expressions")
        return self

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables mentioned, each once, in order of appearance (for EXISTS: those of its
        pattern).
        """
        return tuple(dict.fromkeys(v for child in self.children for v in child.variables))

    def walk(self) -> Iterator[Expression]:
        """Yield this expression and everything below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def transform(self, change: Callable[[Expression], Expression]) -> Expression:
        """Return the expression with `change` applied to every node, children first."""
        children = tuple(child.transform(change) for child in self.children)
        return change(self if children == self.children else self.replace_children(children))


@dataclass(frozen=True)
class VariableReference(Expression):
    """The value of a variable; unbound is an error, as SPARQL has it."""

    variable: Variable

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return (self.variable,)


@dataclass(frozen=True)
class Constant(Expression):
    """A term written in the query."""

    term: Term


@dataclass(frozen=True)
class _Binary(Expression):
    left: Expression
    right: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        left, right = children
        return dataclasses.replace(self, left=left, right=right)


@dataclass(frozen=True)
class _Unary(Expression):
    operand: Expression

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand,)

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        (operand,) = children
        return dataclasses.replace(self, operand=operand)


@dataclass(frozen=True)
class Or(_Binary):
    """`left || right`, with SPARQL's three-valued logic."""


@dataclass(frozen=True)
class And(_Binary):
    """`left && right`, with SPARQL's three-valued logic."""


@dataclass(frozen=True)
class Not(_Unary):
    """`!operand` on the effective boolean value."""


@dataclass(frozen=True)
class Comparison(_Binary):
    """`left operator right` with operator one of `=`, `!=`, `<`, `>`, `<=`, `>=`."""

    operator: str


@dataclass(frozen=True)
class Arithmetic(_Binary):
    """`left operator right` with operator one of `+`, `-`, `*`, `/`."""

    operator: str


@dataclass(frozen=True)
class UnaryMinus(_Unary):
    """`-operand`."""


@dataclass(frozen=True)
class UnaryPlus(_Unary):
    """`+operand`."""


@dataclass(frozen=True)
class In(Expression):
    """`operand IN (choices)`, or NOT IN when `negated`."""

    operand: Expression
    choices: tuple[Expression, ...]
    negated: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return (self.operand, *self.choices)

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        return dataclasses.replace(self, operand=children[0], choices=tuple(children[1:]))


@dataclass(frozen=True)
class BuiltinCall(Expression):
    """A SPARQL built-in: `name` in upper case, without `is`/underscore changes (BOUND, ISIRI,
    SAMETERM, IF, COALESCE...).

    ISURI is written ISIRI and URI is written IRI, so each function has one name.
    """

    name: str
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        return dataclasses.replace(self, arguments=tuple(children))


@dataclass(frozen=True)
class FunctionCall(Expression):
    """A call of a function named by an IRI, casts such as xsd:integer(?x) included."""

    function: str
    arguments: tuple[Expression, ...]
    distinct: bool = False

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        return dataclasses.replace(self, arguments=tuple(children))


@dataclass(frozen=True)
class QuotedPatternExpression(Expression):
    """`<< s p o >>` with variables inside, used as a value; without any it is a `Constant`."""

    pattern: QuotedPattern

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return self.pattern.variables


@dataclass(frozen=True)
class Exists(Expression):
    """`EXISTS { pattern }`, or NOT EXISTS when `negated`."""

    pattern: Node
    negated: bool = False

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return self.pattern.variables


@dataclass(frozen=True)
class Aggregate(Expression):
    """COUNT, SUM, AVG, MIN, MAX, SAMPLE or GROUP_CONCAT over the rows of a group.

    `argument` is None for COUNT(*). `separator` is set for GROUP_CONCAT only (a blank when not
    written). In the algebra, aggregates stand in `Group.aggregates` only; expressions refer to them
    by their variable.
    """

    name: str
    argument: Expression | None
    distinct: bool = False
    separator: str | None = None

    @property
    def children(self) -> tuple[Expression, ...]:
        return () if self.argument is None else (self.argument,)

    def replace_children(self, children: tuple[Expression, ...]) -> Expression:
        return dataclasses.replace(self, argument=children[0] if children else None)


def conjunction(conditions: Sequence[Expression]) -> Expression:
    """Return the conditions joined by `&&`, in order; at least one is needed."""
    result = conditions[0]
    for condition in conditions[1:]:
        result = And(result, condition, position=result.position)
    return result
