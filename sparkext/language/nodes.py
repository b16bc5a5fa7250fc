"""What algebra and expressions are made of: positions, variables, patterns of terms, and the base of
all algebra nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypeAlias

from static_data.terms import BlankNode, Iri, Literal, QuotedTriple


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
        return term_variables((self.subject, self.predicate, self.object))

    def n3(self) -> str:
        """Return the pattern as a query would write it."""
        return f"<< {self.subject.n3()} {self.predicate.n3()} {self.object.n3()} >>"


PatternTerm: TypeAlias = Variable | Iri | BlankNode | Literal | QuotedTriple | QuotedPattern


def term_variables(terms: Iterable[PatternTerm]) -> tuple[Variable, ...]:
    """Return the variables among the terms and inside them, each once, in order of appearance."""
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
        return term_variables((self.subject, self.predicate, self.object))

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
