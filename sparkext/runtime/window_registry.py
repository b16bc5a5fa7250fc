"""The windows of registered queries: one per stream and specification, shared by all that declare it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkext.errors import UnknownStreamError
from sparkext.language.algebra import Variable
from sparkext.language.query import Query
from sparkext.r2r.leaves import WindowLeaf
from sparkext.runtime.report_choice import says_when
from sparkext.runtime.window_specs import WindowRules
from sparkext.s2r.windows import ElementsWindow, WindowSpec

if TYPE_CHECKING:
    from sparkext.runtime.engine_room import EngineRoom
    from sparkext.runtime.streams import Stream


@dataclass(frozen=True)
class QueryWindow:
    """One window as a query declares it: `window` is the JVM's."""

    name: str
    stream: str
    spec: WindowSpec
    key: str
    window: Any


PatternPlace = tuple[str, str, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""Stream, window key and the numbers that describe a pattern to the JVM."""


class WindowRegistry:
    """Windows by stream and specification, with the patterns matched in each, counted by user."""

    def __init__(self, sharing: bool, rules: WindowRules) -> None:
        self._sharing = sharing
        self._rules = rules
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
        opened = {}
        if not self._sharing:
            self._unshared += 1
        for declaration, spec in zip(query.windows, self._rules.specs(query), strict=True):
            iri = declaration.stream.value
            if iri not in streams:
                raise UnknownStreamError(iri, list(streams))
            key = f"{spec!r}{pace if self._sharing else f' of query {self._unshared}'}"
            assert declaration.name is not None  # unnamed windows are refused by check_supported
            name = declaration.name.value
            opened[name] = QueryWindow(name, iri, spec, key, None)
        return {
            name: QueryWindow(w.name, w.stream, w.spec, w.key, self._use(w, streams))
            for name, w in opened.items()
        }

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

    def use_pattern(self, place: PatternPlace) -> None:
        """Count one more query that matches a pattern in a window."""
        self._pattern_users[place] += 1

    def leave_pattern(self, place: PatternPlace) -> bool:
        """Count one query less; whether it was the last."""
        self._pattern_users[place] -= 1
        return not +self._pattern_users[place]


class WindowPatterns:
    """The pattern contents that one query keeps in its windows."""

    def __init__(
        self, room: EngineRoom, registry: WindowRegistry, windows: Mapping[str, QueryWindow]
    ) -> None:
        self._room = room
        self._registry = registry
        self._windows = windows
        self._contents: dict[WindowLeaf, Any] = {}
        self._places: dict[PatternPlace, QueryWindow] = {}

    def content(self, leaf: WindowLeaf) -> Any:
        """The JVM's content of a pattern: shared with every query that matches the same in the same window."""
        if leaf not in self._contents:
            window = self._windows[leaf.window.value]
            numbers = self._numbers(leaf)
            place = (window.stream, window.key, *numbers)
            if place not in self._places:
                self._places[place] = window
                self._registry.use_pattern(place)
            name = f"{window.name} {leaf.pattern.predicate.n3()}"
            self._contents[leaf] = self._room.window_pattern(window.window, name, *numbers)
        return self._contents[leaf]

    def present_rows(self, leaf: WindowLeaf) -> int:
        """How many rows the pattern finds now; 0 before it was first asked for."""
        return int(self.content(leaf).rowCount())

    def close(self) -> None:
        """Give the patterns back; those that no other query matches are no longer kept up."""
        for place, window in self._places.items():
            if self._registry.leave_pattern(place):
                self._room.drop_window_pattern(window.window, *place[2:])
        self._places.clear()
        self._contents.clear()

    def _numbers(
        self, leaf: WindowLeaf
    ) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        terms = list(leaf.pattern)
        # Constants of a query stay in the dictionary with it: a stream may bring them at any time.
        constants = tuple(
            0 if isinstance(t, Variable) else int(self._room.dictionary.encodeRetained(t.n3()))
            for t in terms
        )
        places = {v: [p for p, t in enumerate(terms) if t == v] for v in leaf.pattern.variables}
        columns = tuple(places[v][0] for v in leaf.variables) or (0,)
        equal = tuple(
            n for found in places.values() for other in found[1:] for n in (found[0], other)
        )
        return constants, columns, equal
