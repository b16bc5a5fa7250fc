"""Property path expressions as algebra (SPARQL 1.1, section 18.2.2.3)."""

from __future__ import annotations

from dataclasses import dataclass

from static_data.terms import Iri


class PathExpression:
    """Base of all property path expressions."""


@dataclass(frozen=True)
class Link(PathExpression):
    """One step along a predicate."""

    predicate: Iri


@dataclass(frozen=True)
class Inverse(PathExpression):
    """`^path`: the path walked from object to subject."""

    path: PathExpression


@dataclass(frozen=True)
class Sequence(PathExpression):
    """`left / right`."""

    left: PathExpression
    right: PathExpression


@dataclass(frozen=True)
class Alternative(PathExpression):
    """`left | right`."""

    left: PathExpression
    right: PathExpression


@dataclass(frozen=True)
class ZeroOrMore(PathExpression):
    """`path*`."""

    path: PathExpression


@dataclass(frozen=True)
class OneOrMore(PathExpression):
    """`path+`."""

    path: PathExpression


@dataclass(frozen=True)
class ZeroOrOne(PathExpression):
    """`path?`."""

    path: PathExpression


@dataclass(frozen=True)
class NegatedSet(PathExpression):
    """`!(a | b)`: one step along any predicate that is not among these (NPS); inverse steps are
    `Inverse(NegatedSet)`.
    """

    predicates: tuple[Iri, ...]
