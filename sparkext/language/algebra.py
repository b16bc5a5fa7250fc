"""The SPARQL algebra with streams: what a query means, as immutable nodes.

SPARQL 1.1, section 18.2, with RSP-QL's WINDOW. Every node knows its in-scope `variables` (ordered
by first appearance) and its `children`. Positions tell error messages where a thing stood in the
text; they take no part in equality, so the same text gives equal algebra.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from sparkext.language.paths import PathExpression
from static_data.terms import BlankNode, Iri, Literal, QuotedTriple, Term

if TYPE_CHECKING:
    from sparkext.language.expressions import Aggregate, Expression


class Position(NamedTuple):
    """A place in the query text, both numbers 1-based."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A query variable by its name without `?`.

    Names that begin with `_:` cannot be written by users: they stand for blank nodes of patterns,
    for the inner nodes of path sequences and for aggregates, and `SELECT *` does not show them.

    >>> str(Variable("x")), Variable("_:b0").hidden
    ('?x', True)
    """

    name: str

    @property
    def hidden(self) -> bool:
        """Whether the variable was made by the translation, not written by the user."""
        return self.name.startswith("_:")

    def __str__(self) -> str:
        return f"?{self.name}"

    def n3(self) -> str:
        """Return the variable as a query would write it."""
        return f"?{self.name}"


@dataclass(frozen=True)
class QuotedPattern:
    """A quoted triple with at least one variable inside, used as subject or object of a pattern."""

    subject: PatternTerm
    predicate: PatternTerm
    object: PatternTerm

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables inside, in order of appearance."""
        return _term_variables((self.subject, self.predicate, self.object))

    def n3(self) -> str:
        """Return the pattern as a query would write it."""
        return f"<< {self.subject.n3()} {self.predicate.n3()} {self.object.n3()} >>"


PatternTerm: TypeAlias = Variable | Iri | BlankNode | Literal | QuotedTriple | QuotedPattern


def _term_variables(terms: Iterable[PatternTerm]) -> tuple[Variable, ...]:
    found: dict[Variable, None] = {}
    for term in terms:
        if isinstance(term, Variable):
            found[term] = None
        elif isinstance(term, QuotedPattern):
            found.update(dict.fromkeys(term.variables))
    return tuple(found)


@dataclass(frozen=True)
class TriplePattern:
    """A triple with variables; blank nodes of the query text have become hidden variables."""

    subject: PatternTerm
    predicate: PatternTerm
    object: PatternTerm
    position: Position | None = field(default=None, compare=False, repr=False)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in order of appearance."""
        return _term_variables((self.subject, self.predicate, self.object))

    def __iter__(self) -> Iterator[PatternTerm]:
        return iter((self.subject, self.predicate, self.object))


@dataclass(frozen=True, kw_only=True)
class Node:
    """Base of all algebra nodes."""

    position: Position | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Node, ...]:
        """The input patterns, in order."""
        return ()

    def replace_children(self, children: tuple[Node, ...]) -> Node:
        """Return this node over other inputs (as many as `children` has)."""
        if children:
            raise ValueError(f"{type(self).__name__} has no inputs")
        return self

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The in-scope variables (SPARQL 1.1, section 18.2.1), hidden ones included, in order of
        appearance.
        """
        return merge_variables(*(child.variables for child in self.children))

    def walk(self) -> Iterator[Node]:
        """Yield this node and everything below it, parents first (patterns inside EXISTS are not
        entered).
        """
        yield self
        for child in self.children:
            yield from child.walk()

    def transform(self, change: Callable[[Node], Node]) -> Node:
        """Return the tree with `change` applied to every node, inputs first."""
        children = tuple(child.transform(change) for child in self.children)
        return change(self if children == self.children else self.replace_children(children))


def merge_variables(*parts: Iterable[Variable]) -> tuple[Variable, ...]:
    """Return the variables of all parts, each once, in order of first appearance."""
    return tuple(dict.fromkeys(variable for part in parts for variable in part))


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
        return _term_variables((self.subject, self.object))


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
