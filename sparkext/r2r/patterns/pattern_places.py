"""The places of a triple pattern by number, quoted triples inside it included: how the JVM is told of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sparkext.language.nodes import PatternTerm, QuotedPattern, TriplePattern, Variable
from static_data.terms import Iri, Term

GRAPH_PLACE = 3

ANY_NAME = -1
"""In place of a graph's id: a graph that has a name."""

NO_NAME = -2
"""In place of a graph's id: the default graph of an element."""


@dataclass(frozen=True)
class PatternPlaces:
    """What a pattern asks of each place of a quad.

    Subject, predicate, object and graph are places 0 to 3. The n-th of `quoted` is a place that holds a quoted triple,
    whose own subject, predicate and object are places 4 + 3n to 6 + 3n; so every depth has its numbers. `terms` are the
    terms by place, None at the graph of a pattern that no GRAPH is around.
    """

    terms: tuple[PatternTerm | None, ...]
    quoted: tuple[int, ...]

    @classmethod
    def of(cls, pattern: TriplePattern, graph: Iri | Variable | None = None) -> PatternPlaces:
        """Number the places of a pattern.

        >>> inner = QuotedPattern(Variable("s"), Iri("http://e/p"), Variable("o"))
        >>> places = PatternPlaces.of(TriplePattern(inner, Iri("http://e/q"), Variable("s")))
        >>> places.quoted, [str(t) for t in places.terms[4:]], places.equal()
        ((0,), ['?s', "Iri(value='http://e/p')", '?o'], ((2, 4),))
        """
        terms: list[PatternTerm | None] = [*pattern, graph]
        quoted: list[int] = []
        place = 0
        while place < len(terms):
            term = terms[place]
            if isinstance(term, QuotedPattern):
                quoted.append(place)
                terms += [term.subject, term.predicate, term.object]
            place += 1
        return cls(tuple(terms), tuple(quoted))

    def of_variable(self, variable: Variable) -> tuple[int, ...]:
        """The places where a variable stands."""
        return tuple(place for place, term in enumerate(self.terms) if term == variable)

    def columns(self, variables: Iterable[Variable]) -> tuple[int, ...]:
        """The place that shows each variable; a relation needs a column, so there is always one."""
        return tuple(self.of_variable(v)[0] for v in variables) or (0,)

    def equal(self) -> tuple[tuple[int, int], ...]:
        """Pairs of places that must hold the same term."""
        variables = dict.fromkeys(term for term in self.terms if isinstance(term, Variable))
        places = [self.of_variable(v) for v in variables]
        return tuple((found[0], other) for found in places for other in found[1:])

    def constants(self, encode: Callable[[Term], int]) -> tuple[int, ...]:
        """The id at each place, 0 where there is a variable."""
        return tuple(
            0 if term is None or isinstance(term, Variable | QuotedPattern) else encode(term)
            for term in self.terms
        )


def pattern_text(
    constants: Iterable[int],
    quoted: Iterable[int],
    columns: Iterable[int],
    equal: Iterable[tuple[int, int]],
    bag: bool = False,
) -> str:
    """A pattern as QuadPattern.parse reads it.

    >>> pattern_text((0, 17, 0, 0), (), (0, 2), ((0, 2),))
    '0,17,0,0||0,2|0,2|set'
    """
    pairs = (place for pair in equal for place in pair)
    parts = (",".join(map(str, numbers)) for numbers in (constants, quoted, columns, pairs))
    return "|".join([*parts, "bag" if bag else "set"])
