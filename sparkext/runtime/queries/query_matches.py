"""The MATCHes of one query: their state in the JVM, and the plans that find their events in what arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sparkext.errors import UnsupportedFeatureError
from sparkext.language.algebra import Window
from sparkext.language.algebra_text import format_events
from sparkext.language.event_patterns import (
    Conjunction,
    Disjunction,
    Event,
    EventPattern,
    First,
    Last,
    Match,
    Related,
    Repetition,
    Sequence,
    Timed,
    Within,
    made_variables,
    walk,
)
from sparkext.language.expressions import VariableReference
from sparkext.language.nodes import Node, Variable, merge_variables
from sparkext.r2r.leaves.delta_patterns import Timed as TimedPart
from sparkext.r2r.leaves.delta_patterns import TimedMatch
from sparkext.r2r.leaves.element_patterns import ElementPattern
from sparkext.r2r.leaves.leaf import MergedLeaf, WindowLeaf
from sparkext.r2r.patterns.inner_patterns import transform_everywhere
from sparkext.r2r.patterns.restricted_events import restrictions
from sparkext.r2r.patterns.stage_rows import MatchRows
from sparkext.r2r.query_plans import EventFrame, compile_event
from sparkext.r2r.relations.frames import WindowContents
from sparkext.rewriting.bound_variables import certain_variables
from sparkext.runtime.queries.delta_plans import stay_of
from sparkext.runtime.queries.match_bounds import unbounded
from sparkext.s2r.derived_windows import (
    ClosedOpenWindow,
    ComposedWindow,
    DelayedWindow,
    LastClosedWindow,
)
from sparkext.s2r.windows import WindowSpec
from static_data.terms import Iri

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.r2r.compiler import PatternCompiler
    from sparkext.runtime.queries.window_registry import QueryWindow, WindowPatterns

MakeCompiler = Callable[[WindowContents], "PatternCompiler"]
"""Makes a compiler whose window patterns find these contents."""


class QueryMatches:
    """Takes the MATCHes out of a query's pattern; `pattern` has their rows in their place.

    With `restricts`, what static patterns around a MATCH say is asked of each of its events.
    """

    def __init__(
        self,
        room: EngineRoom,
        pattern: Node,
        windows: Mapping[str, QueryWindow],
        patterns: WindowPatterns,
        bag: bool,
        restricts: bool,
    ) -> None:
        self._room = room
        self._windows = windows
        self._patterns = patterns
        self._streams = sorted({window.stream for window in windows.values()})
        self._whole = pattern
        self._restricts = restricts
        self._matches: list[Match] = []
        self._restrictions: list[list[list[Node]]] = []
        self.pattern = transform_everywhere(pattern, self._taken_out)
        consuming = [match for match in self._matches if match.consumes]
        if len(consuming) > 1:
            # What one uses up would have to be gone for the other, in an order that nothing says.
            raise UnsupportedFeatureError(
                "more than one MATCH that consumes what it matches is not supported in a query",
                *(consuming[1].position or (1, 1)),
            )
        self._states = [
            MatchState(room, f"MATCH {number}", match, bag)
            for number, match in enumerate(self._matches, 1)
        ]

    def _taken_out(self, node: Node) -> Node:
        if not isinstance(node, Match):
            return node
        self._matches.append(node)
        self._restrictions.append(self._static_parts(node))
        names = shown_variables(node)
        sure = certain_variables(node) & set(names)
        number, monotone = len(self._matches) - 1, is_monotone(node)
        return MatchRows(names, sure, number, monotone, position=node.position)

    def _static_parts(self, match: Match) -> list[list[Node]]:
        """The static patterns with which each event of a MATCH is joined."""
        named = all(window.named for window in self._windows.values())
        if self._restricts and named and is_monotone(match):
            return restrictions(self._whole, match)
        return [[] for _ in match.events]

    @property
    def makes_terms(self) -> bool:
        """Whether terms come into the dictionary by way of a MATCH."""
        return any(state.makes_terms for state in self._states)

    @property
    def consume(self) -> bool:
        """Whether an evaluation takes elements' triples away from those after it."""
        return any(match.consumes for match in self._matches)

    def consumed(self) -> list[str]:
        """What each MATCH has consumed, as `restore_consumed` takes it."""
        return [str(state.jvm.consumedUses()) for state in self._states] if self.consume else []

    def restore_consumed(self, uses: Iterable[str]) -> None:
        """Have MATCHes know, before the first evaluation, what those before them have consumed."""
        for state, used in zip(self._states, uses, strict=False):
            state.jvm.restoreConsumed(used)

    def go_back(self) -> None:
        """Have what was consumed be kept for evaluations that are done once more, until `forget_consumed`."""
        for state in self._states:
            state.jvm.setGoesBack()

    @property
    def consumed_count(self) -> int:
        """How much has been consumed so far."""
        return sum(int(state.jvm.consumedCount()) for state in self._states) if self.consume else 0

    def take_back(self, count: int) -> None:
        """Have nothing be consumed but what was when so much was."""
        for match, state in zip(self._matches, self._states, strict=True):
            if match.consumes:  # one at most
                state.jvm.takeBackConsumed(count)

    def forget_consumed(self, until: int) -> int:
        """Forget what was consumed of elements up to a time, as no evaluation to come shows them; how much that was."""
        return sum(int(state.jvm.forgetConsumed(until)) for state in self._states)

    def content(self, rows: MatchRows) -> Any:
        """The JVM's solution mappings of a MATCH, with the instants until which they hold where these are asked for."""
        state = self._states[rows.number]
        if not isinstance(rows, TimedMatch):
            return state.content
        return state.arrived.content() if rows.arrived else state.jvm.timed()

    def describe(self) -> list[dict[str, Any]]:
        """What each MATCH looks for, how, and what it keeps: for `explain()`."""
        return [
            {
                "pattern": format_events(match.pattern),
                "selection": match.selection or "unrestricted",
                "consumes": match.consumes,
                "found": "as events arrive" if is_monotone(match) else "at each evaluation",
                "open": int(state.jvm.openCount()),
                "matches": int(state.jvm.matchCount()),
                "consumed": int(state.jvm.consumedCount()),
                "state_bytes": int(state.jvm.memoryBytes()),
                "unbounded": self._unbounded(match),
            }
            for match, state in zip(self._matches, self._states, strict=True)
        ]

    def unbounded(self) -> list[str]:
        """What MATCHes keep for ever."""
        return [text for match in self._matches for text in self._unbounded(match)]

    def _unbounded(self, match: Match) -> list[str]:
        return unbounded(match, lambda name: self._windows[name].spec)

    def arrived(self, number: int) -> Any:
        """The JVM's solution mappings that a MATCH found last."""
        return self._states[number].arrived

    def keep_times(self, parts: Iterable[TimedPart]) -> None:
        """Have these MATCHes know until when each of their solution mappings holds."""
        for part in parts:
            if isinstance(part, TimedMatch):
                events = self._matches[part.number].events
                stays = [stay_of(self._window(event).spec) for event in events]
                self._states[part.number].jvm.keepTimes("\n".join(map(str, stays)))

    def _window(self, event: Window) -> QueryWindow:
        assert isinstance(event.name, Iri)
        return self._windows[event.name.value]

    def compile(self, make_compiler: MakeCompiler, base_iri: str | None, label: str) -> list[Any]:
        """Plans of the events for the static data of now, one of the JVM's a MATCH."""
        return [
            self._compile(number, state, make_compiler, base_iri, label)
            for number, state in enumerate(self._states)
        ]

    def _compile(
        self,
        number: int,
        state: MatchState,
        make_compiler: MakeCompiler,
        base_iri: str | None,
        label: str,
    ) -> Any:
        made = self._room.match_plans(state.jvm)
        match, makes_terms = self._matches[number], False
        for place, (name, event) in enumerate(zip(match.names, match.events, strict=True)):
            window = self._window(event)
            arrived = self._room.arrived_elements(window.stream, window.window)
            compiler = make_compiler(self._contents(arrived))
            static = self._restrictions[number][place]
            frame = compile_event(compiler, event, (number, place), base_iri, static)
            state.declare(place, frame)
            makes_terms |= frame.makes_terms
            state.makes_terms |= frame.makes_terms
            plan = self._room.prepare(frame.frame, f"{label}, event {name}")
            stream = self._streams.index(window.stream)
            made.add(place, arrived, plan, stream, len(frame.variables), frame.triples)
        if all(shows_at_once(self._window(event).spec) for event in match.events):
            # What comes late nevertheless has all be found anew.
            state.jvm.setLateness(0)
        state.build()
        if makes_terms:
            made.setMakesTerms(self._room.dictionary)
        made.warm()
        return made

    def _contents(self, arrived: Any) -> WindowContents:
        def content(leaf: WindowLeaf | MergedLeaf) -> Any:
            assert isinstance(leaf, WindowLeaf) and isinstance(leaf.pattern, ElementPattern)
            plain = WindowLeaf(leaf.window, leaf.pattern.plain, None, leaf.graph, leaf.strict)
            return arrived.pattern(self._patterns.spec(plain), f"new {leaf.window.value}")

        return content


def shown_variables(match: Match) -> tuple[Variable, ...]:
    """The variables of a MATCH that can be read outside."""
    return tuple(v for v in match.variables if not v.hidden)


def shows_at_once(spec: WindowSpec) -> bool:
    """Whether an element is in the window from its own time on, if it is at all.

    >>> from sparkext.s2r.windows import RangeWindow
    >>> shows_at_once(RangeWindow(5)), shows_at_once(DelayedWindow(RangeWindow(5), 10))
    (True, False)
    """
    if isinstance(spec, ComposedWindow):
        return shows_at_once(spec.outer) and shows_at_once(spec.inner)
    return not isinstance(spec, LastClosedWindow | ClosedOpenWindow | DelayedWindow)


def is_monotone(match: Match) -> bool:
    """Whether what arrives only adds solution mappings to those of a MATCH, as long as no element leaves its window."""
    return match.selection in (None, "unrestricted") and not any(
        isinstance(part, First | Last | Repetition)
        or (isinstance(part, Sequence) and part.absent is not None)
        for part in walk(match.pattern)
    )


class MatchState:
    """What the JVM keeps of one MATCH: event mappings that can still take part, and what they gave."""

    def __init__(self, room: EngineRoom, name: str, match: Match, bag: bool) -> None:
        self._match = match
        self._room = room
        self._numbers = {v: n for n, v in enumerate(_all_variables(match))}
        # Rows need a column; what stands for none of the variables is never bound.
        width = len(self._numbers) + 1
        shown = [self._numbers[v] for v in shown_variables(match)] or [width - 1]
        self.jvm = room.event_match(name, width, shown, len(match.names), bag)
        self.content = self.jvm.content()
        self.arrived = room.arrived_matches(self.jvm)
        self._built = False
        pattern = walk(match.pattern)
        self._pattern_makes_terms = any(isinstance(part, Timed | Repetition) for part in pattern)
        self.makes_terms = self._pattern_makes_terms
        """Whether the pattern, or an expression of an event, makes terms."""

    def declare(self, event: int, frame: EventFrame) -> None:
        """Tell what columns an event's mappings have."""
        if not self._built:
            columns = [self._numbers[v] for v in frame.variables]
            certain = [self._numbers[v] for v in frame.variables if v in frame.certain]
            self.jvm.declare(event, self._room.ints(columns), self._room.ints(certain))

    def build(self) -> None:
        """Tell what is looked for, once the events are declared."""
        if not self._built:
            match = self._match
            if self._pattern_makes_terms:
                self.jvm.setMakesTerms(self._room.dictionary)
            self.jvm.root(
                self._node(match.pattern), match.selection or "unrestricted", match.consumes
            )
            self._built = True

    def _node(self, pattern: EventPattern) -> int:
        jvm, node, number = self.jvm, self._node, self._number
        match pattern:
            case Event(name):
                return int(jvm.event(self._match.names.index(name)))
            case First(inner):
                return int(jvm.first(node(inner)))
            case Last(inner):
                return int(jvm.last(node(inner)))
            case Sequence(left, right, absent):
                without = -1 if absent is None else node(absent)
                return int(jvm.sequence(node(left), node(right), without))
            case Conjunction(left, right):
                return int(jvm.conjunction(node(left), node(right)))
            case Disjunction(left, right):
                return int(jvm.disjunction(node(left), node(right)))
            case Related(relation, left, right):
                return int(jvm.related(relation, node(left), node(right)))
            case Within(inner, duration_ms):
                return int(jvm.within(node(inner), duration_ms))
            case Timed(inner, start, end):
                return int(jvm.timed(node(inner), number(start), number(end)))
            case Repetition():
                return self._repetition(pattern)

    def _repetition(self, pattern: Repetition) -> int:
        keys = self._room.ints([self._number(key) for key in pattern.keys])
        made = int(self.jvm.repetition(self._node(pattern.input), keys))
        for name, aggregate in pattern.aggregates:
            argument = aggregate.argument
            if argument is not None and not isinstance(argument, VariableReference):
                raise UnsupportedFeatureError(
                    "an aggregate of an expression in a repetition is not supported: BIND it in the event",
                    *(aggregate.position or (1, 1)),
                )
            read = -1 if argument is None else self._number(argument.variable)
            self.jvm.aggregate(
                made,
                self._number(name),
                aggregate.name,
                read,
                aggregate.distinct,
                " " if aggregate.separator is None else aggregate.separator,
            )
        return made

    def _number(self, variable: Variable | None) -> int:
        return -1 if variable is None else self._numbers[variable]


def _all_variables(match: Match) -> tuple[Variable, ...]:
    """Those of events, also where a repetition hides them, and those that the pattern makes or reads."""
    events: tuple[Window, ...] = match.events
    inside = (tuple(v for v in event.variables if not v.hidden) for event in events)
    read = (v for aggregate in match.aggregates for v in aggregate.variables)
    return merge_variables(*inside, made_variables(match.pattern), read)
