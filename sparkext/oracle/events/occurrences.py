"""Occurrences of triples in stream elements: which of them a match uses, and which are consumed (P^c, P^r).

The paper's sets of triples are read as sets of occurrences (S-004-7): a triple that comes again is another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from sparkext.errors import CheckError
from sparkext.language import algebra, paths
from sparkext.language.expressions import VariableReference
from sparkext.language.nodes import Node, PatternTerm, QuotedPattern, TriplePattern, Variable
from sparkext.oracle.streams import Triple, scoped
from static_data.terms import Iri, Literal, QuotedTriple, Term


class Occurrence(NamedTuple):
    """A triple of one element of a stream, by the element's number in order of time."""

    stream: str
    element: int
    triple: Triple


class Consumption:
    """K: the occurrences that one query has consumed, at all instants so far."""

    def __init__(self) -> None:
        self._consumed: dict[tuple[str, int], set[Triple]] = {}

    def add(self, occurrences: Iterable[Occurrence]) -> None:
        """They are gone, for every window on their stream (S-004-8), from the next evaluation on."""
        for stream, element, triple in occurrences:
            self._consumed.setdefault((stream, element), set()).add(triple)

    def of(self, stream: str, element: int) -> frozenset[Triple]:
        """The triples of an element that are gone."""
        return frozenset(self._consumed.get((stream, element), ()))


@dataclass(frozen=True)
class ElementTriples:
    """What is left of an element: its graph's triples, what a pattern outside GRAPH sees, and its graph's name."""

    graph: frozenset[Triple]
    default: frozenset[Triple]
    name: Term | None


def used_triples(
    pattern: Node, mu: Mapping[Variable, Term], element: ElementTriples
) -> frozenset[Triple]:
    """The triples of an element that are instances of an event's triple patterns under a solution.

    Patterns in MINUS, EXISTS and static graphs use none, and those of sub-selects only with the variables that these
    show. Raises CheckError for paths of which the solution does not tell the way.
    """
    return frozenset(_used(pattern, mu, element.default, element))


def instance(
    pattern: TriplePattern | QuotedPattern, values: Mapping[Variable, Term], scope: str = ""
) -> Triple | None:
    """The triple of a pattern, its blank nodes in this scope; None where a part is unbound, or not allowed there."""

    def term(part: PatternTerm) -> Term | None:
        if isinstance(part, Variable):
            return values.get(part)
        if isinstance(part, QuotedPattern):
            inner = instance(part, values, scope)
            return None if inner is None else QuotedTriple(*inner)  # type: ignore[arg-type]
        return scoped(part, scope)

    s, p, o = term(pattern.subject), term(pattern.predicate), term(pattern.object)
    if s is None or o is None or isinstance(s, Literal) or not isinstance(p, Iri):
        return None
    return s, p, o


def _used(
    node: Node, mu: Mapping[Variable, Term], active: frozenset[Triple], element: ElementTriples
) -> Iterator[Triple]:
    """`active` are the triples that patterns see here."""
    match node:
        case algebra.Bgp():
            for pattern in node.patterns:
                triple = instance(pattern, mu)
                if triple is not None and triple in active:
                    yield triple
            return
        case algebra.Path():
            yield from _along(node, mu, active)
            return
        case algebra.Graph(name, input_):
            if isinstance(name, Variable) or name == element.name:
                yield from _used(input_, mu, element.graph, element)
            return
        case algebra.Minus(left, _):
            yield from _used(left, mu, active, element)
            return
        case algebra.Project(input_, names):
            mu = {v: term for v, term in mu.items() if v in names}
        case algebra.Group(input_, keys, _):
            plain = {v for v, value in keys if value == VariableReference(v)}
            mu = {v: term for v, term in mu.items() if v in plain}
    for child in node.children:
        yield from _used(child, mu, active, element)


def _along(
    path: algebra.Path, mu: Mapping[Variable, Term], active: frozenset[Triple]
) -> Iterator[Triple]:
    """The triples of which any is a path of one step between the ends."""
    subject, object_ = path.subject, path.object
    match path.path:
        case paths.Link(predicate):
            found = instance(TriplePattern(subject, predicate, object_), mu)
            yield from active & {found}
        case paths.NegatedSet(predicates):
            for triple in active:
                step = TriplePattern(subject, triple[1], object_)
                if triple[1] not in predicates and instance(step, mu) == triple:
                    yield triple
        case paths.Inverse(inner):
            yield from _along(algebra.Path(object_, inner, subject), mu, active)
        case paths.Alternative(left, right):
            for choice in (left, right):
                yield from _along(algebra.Path(subject, choice, object_), mu, active)
        case _:
            raise CheckError("the oracle does not know which triples a path of several steps uses")
