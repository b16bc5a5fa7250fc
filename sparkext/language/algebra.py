"""The SPARQL algebra with streams: what a query means, as immutable nodes.

SPARQL 1.1, section 18.2, with RSP-QL's WINDOW. Every node knows its in-scope `variables` (ordered
by first appearance) and its `children`. Positions tell error messages where a thing stood in the
text; they take no part in equality, so the same text gives equal algebra.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

from sparkext.language.expressions import Aggregate, Expression
from sparkext.language.nodes import (
    Node,
    PatternTerm,
    TriplePattern,
    Variable,
    merge_variables,
    term_variables,
)
from sparkext.language.paths import PathExpression
from static_data.terms import Iri, Term


@dataclass(frozen=True)
class Bgp(Node):
    """A basic graph pattern; the one without patterns is the empty pattern Z, with one empty
    solution.
    """

    patterns: tuple[TriplePattern, ...] = ()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return merge_variables(*(pattern.variables for pattern in self.patterns))


@dataclass(frozen=True)
class Path(Node):
    """A property path pattern that does not reduce to triple patterns."""

    subject: PatternTerm
    path: PathExpression
    object: PatternTerm

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return term_variables((self.subject, self.object))


@dataclass(frozen=True)
class Values(Node):
    """Inline data; None in a row is UNDEF."""

    names: tuple[Variable, ...]
    rows: tuple[tuple[Term | None, ...], ...]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return merge_variables(self.names)


@dataclass(frozen=True)
class _BinaryNode(Node):
    left: Node
    right: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    def replace_children(self, children: tuple[Node, ...]) -> Node:
        left, right = children
        return dataclasses.replace(self, left=left, right=right)


@dataclass(frozen=True)
class Join(_BinaryNode):
    """Compatible solutions of both sides."""


@dataclass(frozen=True)
class LeftJoin(_BinaryNode):
    """OPTIONAL: solutions of the left side, extended where the right side matches and `condition`
    (None: true) holds.
    """

    condition: Expression | None = None


@dataclass(frozen=True)
class Union(_BinaryNode):
    """Solutions of either side, all kept."""


@dataclass(frozen=True)
class Minus(_BinaryNode):
    """Solutions of the left side without a compatible right one that shares a variable."""

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return self.left.variables


@dataclass(frozen=True)
class _UnaryNode(Node):
    input: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.input,)

    def replace_children(self, children: tuple[Node, ...]) -> Node:
        (input_,) = children
        return dataclasses.replace(self, input=input_)


@dataclass(frozen=True)
class Filter(Node):
    """Solutions of the input for which the condition is true (several FILTERs of a group: one `And`
    chain).
    """

    condition: Expression
    input: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.input,)

    def replace_children(self, children: tuple[Node, ...]) -> Node:
        (input_,) = children
        return dataclasses.replace(self, input=input_)


@dataclass(frozen=True)
class Extend(_UnaryNode):
    """BIND and SELECT (e AS ?v): the variable gets the expression's value, or stays unbound on
    error.
    """

    variable: Variable
    expression: Expression

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return merge_variables(self.input.variables, (self.variable,))


@dataclass(frozen=True)
class _NamedNode(Node):
    name: Iri | Variable
    input: Node

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.input,)

    def replace_children(self, children: tuple[Node, ...]) -> Node:
        (input_,) = children
        return dataclasses.replace(self, input=input_)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        name = (self.name,) if isinstance(self.name, Variable) else ()
        return merge_variables(name, self.input.variables)


@dataclass(frozen=True)
class Graph(_NamedNode):
    """The input matched in one named graph, or in each with the variable bound to its name."""


@dataclass(frozen=True)
class Window(_NamedNode):
    """The input matched in the content of a declared window, or of each of them (RSP-QL).

    With `strict`, patterns outside GRAPH see the elements' default graphs only (RSP-QL*, Definition 14).
    """

    strict: bool = False


@dataclass(frozen=True)
class Service(_NamedNode):
    """The input matched at a remote endpoint."""

    silent: bool = False


@dataclass(frozen=True)
class Group(_UnaryNode):
    """Groups of equal keys, one row each: the keys, then one variable an aggregate.

    Without keys (an aggregate but no GROUP BY) there is always exactly one group, also over no rows
    at all.
    """

    keys: tuple[tuple[Variable, Expression], ...]
    aggregates: tuple[tuple[Variable, Aggregate], ...]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return merge_variables((key for key, _ in self.keys), (name for name, _ in self.aggregates))


@dataclass(frozen=True)
class Project(_UnaryNode):
    """Only the given variables, in the given order."""

    names: tuple[Variable, ...]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return merge_variables(self.names)


@dataclass(frozen=True)
class Distinct(_UnaryNode):
    """Each solution once."""


@dataclass(frozen=True)
class Reduced(_UnaryNode):
    """Each solution at least once; duplicates may go."""


@dataclass(frozen=True)
class OrderKey:
    """One ORDER BY condition."""

    expression: Expression
    descending: bool = False


@dataclass(frozen=True)
class OrderBy(_UnaryNode):
    """Solutions in order of the keys, the first one weighing most."""

    keys: tuple[OrderKey, ...]


@dataclass(frozen=True)
class Slice(_UnaryNode):
    """`limit` solutions (None: all) from number `offset` on, counted from 0."""

    offset: int
    limit: int | None


@dataclass(frozen=True)
class ToMultiset(_UnaryNode):
    """A sub-select: its sequence of solutions taken as a bag."""
