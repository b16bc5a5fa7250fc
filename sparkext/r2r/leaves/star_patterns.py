"""Patterns with one subject that one record of a stream of rows may answer: found together, without a join."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sparkext.language.algebra import Window
from sparkext.language.nodes import Node, QuotedPattern, TriplePattern, Variable
from sparkext.r2r.leaves.scopes import InWindow, RecordTriple, RecordWindow
from sparkext.r2r.patterns.inner_patterns import transform_everywhere
from static_data.terms import Iri


@dataclass(frozen=True)
class StarPattern(TriplePattern):
    """Triple patterns with the same subject, a variable: the first one's terms, and the `others`.

    Their predicates are IRIs, their objects terms or variables, of which none stands twice.
    """

    others: tuple[TriplePattern, ...] = ()

    @cached_property
    def parts(self) -> tuple[TriplePattern, ...]:
        """The patterns, each by itself."""
        first = TriplePattern(self.subject, self.predicate, self.object, self.position)
        return (first, *self.others)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The subject, then the objects that are variables."""
        return tuple(dict.fromkeys(v for part in self.parts for v in part.variables))


def in_record_windows(node: Node, stars: dict[Iri, tuple[tuple[RecordTriple, ...], ...]]) -> Node:
    """The same pattern with the windows over streams of records marked: what these hold of each subject, by window.

    >>> window = Window(Iri("http://e/w"), Node())
    >>> in_record_windows(window, {window.name: ((),)}).stars
    ((),)
    """

    def mark(inner: Node) -> Node:
        if not isinstance(inner, Window) or inner.name not in stars:
            return inner
        assert isinstance(inner.name, Iri)
        return RecordWindow(
            inner.name, inner.input, inner.strict, stars[inner.name], position=inner.position
        )

    return transform_everywhere(node, mark) if stars else node


def with_stars(patterns: Sequence[TriplePattern], scope: InWindow) -> list[TriplePattern]:
    """The patterns of a group in a window, those that one record may answer put together.

    Before: ``?o a :Reading``, ``?o :value ?v``, ``?v :unit ?u``, where a record has both triples of ?o; after, a
    StarPattern of the first two, and the third.
    """
    left = list(patterns)
    found: list[TriplePattern] = []
    # Each star holds two patterns at least, so this ends.
    while star := _largest_star(left, scope):
        found.append(_together(star))
        for pattern in star:
            left.remove(pattern)
    return found + left


def _largest_star(patterns: Sequence[TriplePattern], scope: InWindow) -> tuple[TriplePattern, ...]:
    found = (
        _star(patterns, subject, star, scope.strict)
        for subject in _subjects(patterns)
        for star in scope.stars
    )
    return max(found, key=len, default=())


def _subjects(patterns: Iterable[TriplePattern]) -> list[Variable]:
    return list(dict.fromkeys(p.subject for p in patterns if isinstance(p.subject, Variable)))


def _star(
    patterns: Sequence[TriplePattern],
    subject: Variable,
    star: Collection[RecordTriple],
    strict: bool,
) -> tuple[TriplePattern, ...]:
    """The patterns with this subject of which a record has the triples; none where it is one only."""
    taken: dict[TriplePattern, None] = {}
    bound: set[object] = {subject}
    for pattern in patterns:
        if type(pattern) is not TriplePattern or pattern.subject != subject:
            continue
        if pattern.object in bound or isinstance(pattern.object, QuotedPattern):
            continue
        if any(triple.answers(pattern, strict) for triple in star):
            taken[pattern] = None
            if isinstance(pattern.object, Variable):
                bound.add(pattern.object)
    return tuple(taken) if len(taken) > 1 else ()


def _together(patterns: tuple[TriplePattern, ...]) -> StarPattern:
    first = patterns[0]
    return StarPattern(first.subject, first.predicate, first.object, first.position, patterns[1:])
