"""C-SPARQL's `timestamp(s, p, o)`: the windows that each call asks, and look-ups of times in them.

A call means the time of the latest element that holds the triple, among the elements that the windows of its group
show. Inside WINDOW that is this window; elsewhere those that the group reads, which are the windows without a name
where its patterns look at the default graph, and each WINDOW and the windows of each MATCH in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import (
    Bgp,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    OrderBy,
    Path,
    Window,
)
from sparkext.language.expressions import (
    And,
    BuiltinCall,
    Exists,
    Expression,
    FunctionCall,
    VariableReference,
)
from sparkext.language.nodes import Node, TriplePattern, Variable
from sparkext.language.support import expressions_of
from sparkext.language.timestamps import asked_triple, is_timestamp
from sparkext.r2r.leaves.delta_patterns import TimedPattern
from sparkext.r2r.leaves.scopes import DefaultGraph, InWindow, Scope, inner_scope
from sparkext.r2r.patterns.inner_patterns import map_expressions
from sparkext.r2r.patterns.stage_rows import LatestTime
from sparkext.rewriting.bound_variables import certain_variables
from static_data.terms import Iri


@dataclass(frozen=True)
class PlacedTimestamp(Expression):
    """A call of `timestamp` with the windows that it asks, by the names that the engine knows them by.

    One that stands `inside` asks the window around it.
    """

    triple: TriplePattern
    arguments: tuple[Expression, ...]
    windows: tuple[Iri, ...]
    inside: bool

    @property
    def children(self) -> tuple[Expression, ...]:
        """The arguments, whose variables are read."""
        return self.arguments

    def replace_children(self, children: tuple[Expression, ...]) -> PlacedTimestamp:
        """The call with other arguments."""
        call = FunctionCall("", tuple(children), position=self.position)
        return replace(self, triple=asked_triple(call), arguments=tuple(children))


def place_timestamps(node: Node, scope: Scope) -> Node:
    """The same pattern with the windows that each call of `timestamp` asks.

    Raises UnsupportedFeatureError for a call whose group reads no window.
    """
    inner = inner_scope(node, scope) if isinstance(node, Graph | Window) else scope
    children = tuple(place_timestamps(child, inner) for child in node.children)
    if any(new is not old for new, old in zip(children, node.children, strict=True)):
        node = node.replace_children(children)
    if not any(_mentions(expression) for expression in expressions_of(node)):
        return node
    windows = _windows_read(node, scope)

    def placed(part: Expression) -> Expression:
        if isinstance(part, Exists):
            return replace(part, pattern=place_timestamps(part.pattern, scope))
        if not (isinstance(part, FunctionCall) and is_timestamp(part)):
            return part
        if not windows:
            raise UnsupportedFeatureError(
                "timestamp asks for the time of a triple in a window, and its group reads none",
                *(part.position or (1, 1)),
            )
        triple = asked_triple(part)
        inside = isinstance(scope, InWindow)
        return PlacedTimestamp(triple, part.arguments, windows, inside, position=part.position)

    return map_expressions(node, lambda expression: expression.transform(placed))


def _mentions(expression: Expression) -> bool:
    return any(isinstance(part, Exists) or is_timestamp(part) for part in expression.walk())


def _windows_read(node: Node, scope: Scope) -> tuple[Iri, ...]:
    if isinstance(scope, InWindow):
        return (scope.name,)
    own = scope.windows if isinstance(scope, DefaultGraph) else ()
    found = (window for child in node.children for window in _windows_below(child, scope))
    return tuple(dict.fromkeys(found)) or own


def _windows_below(node: Node, scope: Scope) -> Iterator[Iri]:
    if isinstance(node, Window) and isinstance(node.name, Iri):
        yield node.name
        return
    looks = isinstance(node, Path) or (isinstance(node, Bgp) and node.patterns)
    if looks and isinstance(scope, DefaultGraph):
        yield from scope.windows
    inner = inner_scope(node, scope) if isinstance(node, Graph) else scope
    for child in node.children:
        yield from _windows_below(child, inner)


def look_up_times(node: Node) -> Node:
    """The same pattern with calls of `timestamp` that know their windows as look-ups in these.

    Before: ``Filter(timestamp(?x, p, ?y) in w < 9, P)``; after:
    ``Filter(latest(?t) < 9, LeftJoin(P, Window(w, Bgp(?x p ?y with its time ?t))))``. Where P has matched the triple in
    w, and w is the only window, a Join does.
    """
    return _LookUps().node(node, in_exists=False)


class _LookUps:
    def __init__(self) -> None:
        self._numbers = count()

    def node(self, node: Node, in_exists: bool) -> Node:
        children = tuple(self.node(child, in_exists) for child in node.children)
        if any(new is not old for new, old in zip(children, node.children, strict=True)):
            node = node.replace_children(children)

        def entered(part: Expression) -> Expression:
            if isinstance(part, Exists):
                return replace(part, pattern=self.node(part.pattern, in_exists=True))
            return part

        if any(isinstance(p, Exists) for e in expressions_of(node) for p in e.walk()):
            node = map_expressions(node, lambda expression: expression.transform(entered))
        calls = _calls_of(node)
        if not calls:
            return node
        known: dict[PlacedTimestamp, LatestTime] = {}
        match node:
            case LeftJoin():
                for call in calls:
                    node, known[call] = self._beside_optional(node, call, in_exists)
            case Filter() | Extend() | Group() | OrderBy():
                below = node.input
                for call in calls:
                    below, known[call] = self._looked_up(below, call, in_exists)
                node = node.replace_children((below,))
            case _:
                raise AssertionError(f"{type(node).__name__} has no expressions")

        def known_call(part: Expression) -> Expression:
            return known[part] if isinstance(part, PlacedTimestamp) else part

        return map_expressions(node, lambda expression: expression.transform(known_call))

    def _beside_optional(
        self, node: LeftJoin, call: PlacedTimestamp, in_exists: bool
    ) -> tuple[LeftJoin, LatestTime]:
        """The condition of an OPTIONAL speaks of both sides: the time is looked up on one that has all variables."""
        read = set(call.triple.variables)
        left, right = set(node.left.variables), set(node.right.variables)
        if not read <= left | right and not in_exists:
            return node, LatestTime(call.triple, ())
        if read <= certain_variables(node.right) or read <= right - left:
            side, found = self._looked_up(node.right, call, in_exists)
            return replace(node, right=side), found
        if read <= certain_variables(node.left) or read <= left - right:
            side, found = self._looked_up(node.left, call, in_exists)
            return replace(node, left=side), found
        raise UnsupportedFeatureError(
            "timestamp in the FILTER of an OPTIONAL is not supported where only some of its variables are bound inside",
            *(call.position or (1, 1)),
        )

    def _looked_up(
        self, pattern: Node, call: PlacedTimestamp, in_exists: bool
    ) -> tuple[Node, LatestTime]:
        triple = call.triple
        # EXISTS puts the values of outer variables in; elsewhere what the pattern does not bind is unbound.
        if not in_exists and not set(triple.variables) <= set(pattern.variables):
            return pattern, LatestTime(triple, ())
        certain = certain_variables(pattern)
        unsure = [v for v in triple.variables if v not in certain]
        matched = not unsure and (
            _holds(pattern, triple)
            if call.inside
            else call.windows[1:] == () and _matches(pattern, triple, call.windows[0])
        )
        asked: Expression | None = None
        if unsure:  # a look-up must not bind them
            flag = Variable(f"_:asked {next(self._numbers)}")
            pattern, asked = Extend(pattern, flag, _all_bound(unsure)), VariableReference(flag)
        times = []
        for window in call.windows:
            timed = TimedPattern(
                triple.subject,
                triple.predicate,
                triple.object,
                triple.position,
                window,
                next(self._numbers),
                once=True,
            )
            times.append(VariableReference(timed.time))
            look_up = Window(window, Bgp((timed,)))
            pattern = Join(pattern, look_up) if matched else LeftJoin(pattern, look_up, asked)
        return pattern, LatestTime(triple, tuple(times), position=call.position)


def _calls_of(node: Node) -> list[PlacedTimestamp]:
    found = (part for expression in expressions_of(node) for part in expression.walk())
    return list(dict.fromkeys(part for part in found if isinstance(part, PlacedTimestamp)))


def _all_bound(variables: Sequence[Variable]) -> Expression:
    tests: list[Expression] = [BuiltinCall("BOUND", (VariableReference(v),)) for v in variables]
    return reduce(And, tests)


def _matches(node: Node, triple: TriplePattern, window: Iri) -> bool:
    """Whether every solution of a pattern comes of an element of the window that holds the triple."""
    match node:
        case Window() if node.name == window:
            return _holds(node.input, triple)
        case Join():
            return any(_matches(side, triple, window) for side in node.children)
        case LeftJoin():
            return _matches(node.left, triple, window)
        case Filter() | Extend():
            return _matches(node.input, triple, window)
    return False


def _holds(node: Node, triple: TriplePattern) -> bool:
    match node:
        case Bgp():
            return triple in node.patterns
        case Join():
            return any(_holds(side, triple) for side in node.children)
        case LeftJoin():
            return _holds(node.left, triple)
        case Filter() | Extend() | Graph():
            return _holds(node.input, triple)
    return False
