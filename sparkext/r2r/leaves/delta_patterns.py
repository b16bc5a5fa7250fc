"""The patterns of delta evaluation: from a monotone pattern, one that finds what uses a row that has just arrived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, product
from typing import TypeAlias

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
from sparkext.language.event_patterns import Match
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.language.support import expressions_of
from sparkext.r2r.functions.function_table import is_volatile
from sparkext.r2r.leaves.scopes import DefaultGraph, InWindow, Scope, inner_scope, reads_no_window
from sparkext.r2r.patterns.inner_patterns import exists_of
from sparkext.r2r.patterns.stage_rows import InstanceRows, MatchRows
from static_data.terms import Iri

_REFUSED: tuple[tuple[type[Node], str], ...] = (
    (Match, "MATCH"),
    (Group, "an aggregate or GROUP BY over a window"),
    (Slice, "LIMIT or OFFSET in a sub-select over a window"),
    (Path, "a property path of any length over a window"),
)


@dataclass(frozen=True)
class TimedPattern(TriplePattern):
    """A triple pattern over a window with one more variable, the time at which its triple was sighted last.

    `place` tells it from all others of its query. With `arrived`, only rows that have just arrived are found; with
    `once`, a row is found once however often it was sighted, in bags, too.
    """

    window: Iri | None = None
    place: int = 0
    arrived: bool = False
    once: bool = False

    @property
    def time(self) -> Variable:
        """The variable of the time, as the JVM writes it into a column of ids."""
        return Variable(f"_:sighted {self.place}")

    @cached_property
    def plain(self) -> TriplePattern:
        """The pattern without the time."""
        return TriplePattern(self.subject, self.predicate, self.object, self.position)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in order of appearance, then the time."""
        return (*self.plain.variables, self.time)


@dataclass(frozen=True)
class TimedMatch(MatchRows):
    """The solution mappings of a MATCH with one more variable, the instant until which each holds; as there."""

    place: int = 0
    arrived: bool = False

    @property
    def time(self) -> Variable:
        """The variable of the instant."""
        return Variable(f"_:sighted {self.place}")

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The columns of the match, then the instant."""
        return (*self.names, self.time)


Timed: TypeAlias = TimedPattern | TimedMatch
"""What a delta may begin with."""


def not_monotone(pattern: Node, scope: Scope) -> str | None:
    """What keeps a pattern from delta evaluation: what may take solutions away as rows arrive, or gives some without
    any window; None if nothing does.

    >>> from sparkext.r2r.leaves.scopes import DEFAULT_GRAPH
    >>> from static_data.terms import Iri
    >>> x = Variable("x")
    >>> seen = Window(Iri("http://e/w"), Bgp((TriplePattern(x, x, x),)))
    >>> not_monotone(Join(seen, seen), DEFAULT_GRAPH), not_monotone(LeftJoin(seen, seen), DEFAULT_GRAPH)
    (None, 'OPTIONAL over a window')
    """
    if timed_parts(pattern):
        return "a time of the window"
    reasons = _reasons(pattern, scope)
    found = next(reasons, None)
    if found is None and _needs_no_window(pattern, scope):
        return "an alternative that reads no window"
    return found


def _reasons(node: Node, scope: Scope) -> Iterator[str]:
    for expression in expressions_of(node):
        if is_volatile(expression):
            yield "a function with another value at each evaluation"
    for exists in exists_of(node):
        if not reads_no_window(exists.pattern, getattr(exists, "scope", scope)):
            yield "EXISTS over a window"
    if not reads_no_window(node, scope):
        for kind, reason in _REFUSED:
            if isinstance(node, kind):
                yield reason
        if isinstance(node, MatchRows) and not node.monotone:
            yield "a MATCH that selects events"
        if isinstance(node, MatchRows) and node.sure != set(node.names):
            yield "a MATCH that leaves variables unbound"
        if isinstance(node, Bgp) and isinstance(scope, DefaultGraph):
            yield "windows that are merged with the default graph"
        if isinstance(node, LeftJoin | Minus) and not reads_no_window(node.right, scope):
            yield f"{'OPTIONAL' if isinstance(node, LeftJoin) else 'MINUS'} over a window"
    inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    for child in node.children:
        yield from _reasons(child, inner)


def _needs_no_window(node: Node, scope: Scope) -> bool:
    """Whether some solution may come about without a row of a window."""
    if reads_no_window(node, scope) or isinstance(node, InstanceRows):
        return True
    inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    parts = [_needs_no_window(child, inner) for child in node.children]
    match node:
        case Join():
            return all(parts)
        case LeftJoin() | Minus():
            return parts[0]
        case _:
            return any(parts)


def timed(node: Node, scope: Scope) -> Node:
    """The same pattern with the time of every window row in its solutions; how often a solution comes is lost.

    Before: ``Distinct(Project(Window(w, Bgp(t)), ?x))``; after: ``Project(Window(w, Bgp(timed t)), ?x ?sighted0)``.
    """
    return _timed(node, scope, count())


def _timed(node: Node, scope: Scope, numbers: Iterator[int]) -> Node:
    if reads_no_window(node, scope) or isinstance(node, InstanceRows):
        return node
    if isinstance(node, MatchRows):
        return TimedMatch(node.names, node.sure, node.number, node.monotone, next(numbers))
    if isinstance(node, Bgp):
        assert isinstance(scope, InWindow)
        patterns = (
            TimedPattern(t.subject, t.predicate, t.object, t.position, scope.name, next(numbers))
            for t in node.patterns
        )
        return replace(node, patterns=tuple(patterns))
    inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    children = tuple(_timed(child, inner, numbers) for child in node.children)
    match node:
        case Distinct() | Reduced() | OrderBy():
            return children[0]
        case Project():
            times = (pattern.time for pattern in timed_parts(children[0]))
            return Project(children[0], (*node.names, *times))
        case Join() | Union() | LeftJoin() | Minus() | Filter() | Extend() | ToMultiset():
            return node.replace_children(children)
        case Graph() | Window():
            return node.replace_children(children)
        case _:
            raise AssertionError(f"{type(node).__name__} over a window is not monotone")


def timed_parts(node: Node) -> list[Timed]:
    """The window patterns and MATCHes of what `timed` made, by their place."""
    found: list[Timed] = []
    for part in node.walk():
        if isinstance(part, TimedMatch):
            found.append(part)
        elif isinstance(part, Bgp):
            found.extend(p for p in part.patterns if isinstance(p, TimedPattern))
    return sorted(found, key=lambda part: part.place)


def alternatives(node: Node) -> list[Node]:
    """A timed pattern as patterns without UNION over windows, which together have its solutions.

    Joins and what else a timed pattern has distribute over a union: before, ``Join(Bgp(t0), Union(Bgp(t1), Bgp(t2)))``;
    after, ``Join(Bgp(t0), Bgp(t1))`` and ``Join(Bgp(t0), Bgp(t2))``, in which t1 and t2 can be looked up.
    """
    if not timed_parts(node) or isinstance(node, Bgp | TimedMatch):
        return [node]
    parts = [alternatives(child) for child in node.children]
    if isinstance(node, Union):
        return [part for side in parts for part in side]
    return [node.replace_children(children) for children in product(*parts)]


def through(node: Node, place: int) -> Node:
    """The solutions of a timed pattern without UNION that use a row of this part of it which has just arrived.

    Before: ``Join(Bgp(t0, t1), P)``; after, for 1, ``Join(Bgp(t0, arrived t1), P)``.
    """

    def mark(inner: Node) -> Node:
        if isinstance(inner, TimedMatch) and inner.place == place:
            return replace(inner, arrived=True)
        if not isinstance(inner, Bgp):
            return inner
        patterns = (
            replace(t, arrived=True) if isinstance(t, TimedPattern) and t.place == place else t
            for t in inner.patterns
        )
        return replace(inner, patterns=tuple(patterns))

    return node.transform(mark)
