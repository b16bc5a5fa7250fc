"""The windows of registered queries: one per stream and specification, shared by all that declare it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sparkext.errors import StoppedQueryError, UnknownStreamError
from sparkext.language.nodes import Variable
from sparkext.language.query import Query
from sparkext.r2r.leaves.delta_patterns import TimedPattern
from sparkext.r2r.leaves.leaf import MergedLeaf, StaticLeaf, WindowLeaf
from sparkext.r2r.leaves.scopes import RecordTriple
from sparkext.r2r.leaves.star_patterns import StarPattern
from sparkext.r2r.patterns.pattern_places import (
    ANY_NAME,
    GRAPH_PLACE,
    NO_NAME,
    PatternPlaces,
    pattern_text,
)
from sparkext.runtime.queries.report_choice import says_when
from sparkext.runtime.queries.window_specs import WindowRules
from sparkext.s2r.windows import ElementsWindow, WindowSpec

if TYPE_CHECKING:
    from sparkext.bridge.engine_room import EngineRoom
    from sparkext.runtime.streams.stream import Stream


@dataclass(frozen=True)
class QueryWindow:
    """One window as a query declares it: `window` is the JVM's.

    One that is not `named` is merged with the default graph; its name is ours. In a `strict` one, patterns outside
    GRAPH see the default graphs of its elements only (RSP-QL*, Definition 14). `stars` are the triples that a record of
    its stream has, by subject.
    """

    name: str
    stream: str
    spec: WindowSpec
    key: str
    window: Any
    named: bool = True
    strict: bool = False
    stars: tuple[tuple[RecordTriple, ...], ...] = ()


PatternPlace = tuple[str, str, str]
"""Stream, window key and the text that describes a pattern to the JVM, that of a star after `_STAR`."""

_STAR = "star "

MOST_STARS = 4
"""So many stars of different patterns are kept in one window: all queries share what single patterns find."""


class WindowRegistry:
    """Windows by stream and specification, with the patterns matched in each, counted by user."""

    def __init__(self, sharing: bool, rules: WindowRules) -> None:
        self._sharing = sharing
        self._rules = rules
        # Held while patterns come into use and go: plans are made in the background, too, and queries end meanwhile.
        self.lock = threading.RLock()
        self._window_users: dict[tuple[str, str], int] = {}
        self._pattern_users: Counter[PatternPlace] = Counter()
        self._unshared = 0

    def open(
        self, query: Query, streams: Mapping[str, Stream], own_policy: bool = False
    ) -> dict[str, QueryWindow]:
        """The windows of a query by name; raises UnknownStreamError.

        `own_policy`: the query is registered with a report policy of its own.
        """
        pace = self._pace(query, own_policy)
        opened: dict[str, QueryWindow] = {}
        if not self._sharing:
            self._unshared += 1
        for declaration, spec in zip(query.windows, self._rules.specs(query), strict=True):
            iri = declaration.stream.value
            if iri not in streams:
                raise UnknownStreamError(iri, list(streams))
            key = f"{spec!r}{pace if self._sharing else f' of query {self._unshared}'}"
            given = declaration.name
            name = f"_:unnamed{len(opened) + 1}" if given is None else given.value
            strict = self._rules.profile.bare_patterns_see_times
            stars = streams[iri].record_stars
            opened[name] = QueryWindow(name, iri, spec, key, None, given is not None, strict, stars)
        return {name: replace(w, window=self._use(w, streams)) for name, w in opened.items()}

    def _use(self, window: QueryWindow, streams: Mapping[str, Stream]) -> Any:
        place = (window.stream, window.key)
        self._window_users[place] = self._window_users.get(place, 0) + 1
        log = streams[window.stream].log
        if isinstance(window.spec, ElementsWindow):
            return log.countedWindow(window.key, window.spec.count)
        return log.window(window.key)

    def close(self, window: QueryWindow, streams: Mapping[str, Stream]) -> None:
        """Give back a window; the last user's leaving ends it."""
        place = (window.stream, window.key)
        self._window_users[place] -= 1
        if not self._window_users[place]:
            del self._window_users[place]
            streams[window.stream].log.dropWindow(window.key)

    def _pace(self, query: Query, own_policy: bool) -> str:
        """What decides when the query's instants fall due, as part of the keys of its windows.

        A shared window only moves forwards, so queries share it only if none of them can fall behind the others: if
        they wait for the same streams and, where instants may fall into empty stretches, for elements of the same
        windows.
        """
        registration = query.registration
        periodic = registration is not None and registration.every_ms is not None
        if periodic or own_policy or says_when(query):
            specs = zip(query.windows, self._rules.specs(query), strict=True)
            windows = sorted(f"{w.stream.value} {spec!r}" for w, spec in specs)
            return f" at instants of its own with {windows}"
        streams = sorted({w.stream.value for w in query.windows})
        return f" with {streams}" if len(streams) > 1 else ""

    def star_count(self, window: QueryWindow) -> int:
        """How many different stars are kept in a window."""
        place = (window.stream, window.key)
        return sum(p[:2] == place and p[2].startswith(_STAR) for p in self._pattern_users)

    def use_pattern(self, place: PatternPlace) -> None:
        """Count one more query that matches a pattern in a window."""
        self._pattern_users[place] += 1

    def leave_pattern(self, place: PatternPlace) -> bool:
        """Count one query less; whether it was the last."""
        self._pattern_users[place] -= 1
        if self._pattern_users[place]:
            return False
        del self._pattern_users[place]
        return True


Merged: TypeAlias = dict[MergedLeaf, Any]
"""Contents of windows merged with static data."""


class WindowPatterns:
    """The pattern contents that one query keeps in its windows."""

    def __init__(
        self,
        room: EngineRoom,
        registry: WindowRegistry,
        windows: Mapping[str, QueryWindow],
        static: Callable[[StaticLeaf], Any],
        bag: bool,
    ) -> None:
        self._room = room
        self._registry = registry
        self._windows = windows
        self._static = static
        self._bag = bag
        self._contents: dict[WindowLeaf, Any] = {}
        self._arrived: dict[int, Any] = {}  # by the number of the pattern
        self._stars: dict[PatternPlace, Any] = {}
        self._places: dict[PatternPlace, QueryWindow] = {}
        self._merged: Merged = {}
        self._closed = False

    def content(self, leaf: WindowLeaf | MergedLeaf) -> Any:
        """The JVM's content of a pattern: shared with every query that matches the same in the same window.

        Raises StoppedQueryError where the patterns have been given back.
        """
        static = None
        if isinstance(leaf, MergedLeaf) and leaf not in self._merged:
            static = self._static(leaf.static_part)  # may take long: without the lock
        with self._registry.lock:
            if self._closed:
                raise StoppedQueryError
            if isinstance(leaf, WindowLeaf):
                return self._content(leaf)
            if leaf not in self._merged:
                if static is None:  # set aside since
                    static = self._static(leaf.static_part)
                self._merged[leaf] = self._merge(leaf, static)
            return self._merged[leaf]

    def _content(self, leaf: WindowLeaf) -> Any:
        if isinstance(leaf.pattern, TimedPattern):
            return self._timed(leaf, leaf.pattern)
        if isinstance(leaf.pattern, StarPattern):
            return self._star(leaf, leaf.pattern).content()
        if leaf not in self._contents:
            window = self._windows[leaf.window.value]
            spec = self.spec(leaf)
            place = (window.stream, window.key, spec)
            if place not in self._places:
                self._places[place] = window
                self._registry.use_pattern(place)
            name = f"{window.name} {leaf.pattern.predicate.n3()}"
            self._contents[leaf] = self._room.window_pattern(window.window, name, spec)
        return self._contents[leaf]

    def _star(self, leaf: WindowLeaf, pattern: StarPattern) -> Any:
        window = self._windows[leaf.window.value]
        ids = [
            [self._room.constant(part.predicate.n3()) for part in pattern.parts],
            [
                0 if isinstance(part.object, Variable) else self._room.constant(part.object.n3())
                for part in pattern.parts
            ],
        ]
        graph, counted = "default" if leaf.strict else "any", "bag" if self._bag else "set"
        spec = "|".join([*(",".join(map(str, numbers)) for numbers in ids), graph, counted])
        place = (window.stream, window.key, _STAR + spec)
        if place not in self._stars:
            self._places[place] = window
            self._registry.use_pattern(place)
            name = f"{window.name} {' '.join(part.predicate.n3() for part in pattern.parts)}"
            self._stars[place] = self._room.window_star(window.window, name, spec)
        return self._stars[place]

    def finds_stars(self) -> bool:
        """Whether patterns with one subject are to be found together: not where other queries keep many others so."""
        others = max((self._registry.star_count(w) for w in self._windows.values()), default=0)
        return bool(self._stars) or others < MOST_STARS

    @property
    def stars(self) -> list[Any]:
        """What the patterns of stars find together, in the JVM."""
        return list(self._stars.values())

    def leave_stars(self) -> None:
        """Give back the patterns of stars."""
        with self._registry.lock:
            for place in self._stars:
                self._leave(place, self._places.pop(place))
            self._stars.clear()

    def arrived(self, pattern: TimedPattern) -> Any:
        """The JVM's rows of a pattern in what arrived last, of which `content` gave the relation."""
        return self._arrived[pattern.place]

    def forget_arrived(self) -> None:
        """Have the rows of what arrived last be others for patterns that are asked for from now on."""
        self._arrived.clear()

    def _timed(self, leaf: WindowLeaf, pattern: TimedPattern) -> Any:
        plain = replace(leaf, pattern=pattern.plain)
        if pattern.once:
            plain = replace(plain, kept=plain.variables)
        window = self._windows[leaf.window.value]
        if pattern.arrived:
            if pattern.place not in self._arrived:
                name = f"new in {window.name} {pattern.predicate.n3()}"
                arrived = self._room.arrived_pattern(window.window, name, self.spec(plain))
                self._arrived[pattern.place] = arrived
            return self._arrived[pattern.place].content()
        if leaf not in self._contents:
            untimed = self._content(plain)  # counted as in use
            self._contents[leaf] = self._room.timed_pattern(
                window.window, untimed.name(), self.spec(plain)
            )
        return self._contents[leaf]

    def present_rows(self, leaf: WindowLeaf) -> int:
        """How many rows the pattern finds now; 0 before it was first asked for."""
        return int(self.content(leaf).rowCount())

    def set_merged_aside(self) -> Merged:
        """Have what is merged with static data made anew when it is asked for next, as these have changed.

        What there was stays up to date, for the plans that read it, until `leave_merged`.
        """
        merged, self._merged = self._merged, {}
        return merged

    def leave_merged(self, merged: Merged) -> None:
        """Give back what was set aside."""
        for leaf, content in merged.items():
            for name in leaf.graph.windows:
                content.leave(self._windows[name.value].window)

    def close(self) -> None:
        """Give the patterns back; those that no other query matches are no longer kept up."""
        with self._registry.lock:
            self._closed = True
            self.leave_merged(self.set_merged_aside())
            for place, window in self._places.items():
                self._leave(place, window)
            self._places.clear()
            self._contents.clear()
            self._stars.clear()
            self._arrived.clear()

    def _leave(self, place: PatternPlace, window: QueryWindow) -> None:
        if not self._registry.leave_pattern(place):
            return
        spec = place[2]
        if spec.startswith(_STAR):
            self._room.drop_window_star(window.window, spec.removeprefix(_STAR))
        else:
            self._room.drop_window_pattern(window.window, spec)

    def _merge(self, leaf: MergedLeaf, static: Any) -> Any:
        name = f"default graph {leaf.pattern.predicate.n3()}"
        content = self._room.merged_content(name, static, self._bag)
        for window in leaf.graph.windows:
            declared = self._windows[window.value]
            part = WindowLeaf(window, leaf.pattern, strict=declared.strict)
            content.merge(declared.window, self.spec(part))
        return content

    def spec(self, leaf: WindowLeaf) -> str:
        """What the JVM is told of a window's pattern."""
        places = PatternPlaces.of(leaf.pattern, leaf.graph)
        # Constants of a query stay in the dictionary with it: a stream may bring them at any time.
        constants = list(places.constants(lambda term: self._room.constant(term.n3())))
        if isinstance(leaf.graph, Variable):
            constants[GRAPH_PLACE] = ANY_NAME
        elif leaf.graph is None and leaf.strict:
            constants[GRAPH_PLACE] = NO_NAME
        columns = places.columns(leaf.variables)
        # What is kept of a pattern is kept once, however often it is sighted.
        bag = self._bag and leaf.kept is None
        return pattern_text(constants, places.quoted, columns, places.equal(), bag)
