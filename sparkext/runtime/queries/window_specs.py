"""From window clauses to windows, under a profile."""

from __future__ import annotations

from dataclasses import dataclass

from sparkext.language.query import Query, WindowDeclaration
from sparkext.s2r.derived_windows import (
    ClosedOpenWindow,
    ComposedWindow,
    DelayedWindow,
    LastClosedWindow,
)
from sparkext.s2r.profiles import PROFILES, Profile
from sparkext.s2r.windows import (
    ElementsWindow,
    IntervalWindow,
    LandmarkWindow,
    NowWindow,
    RangeWindow,
    SlidingWindow,
    WindowSpec,
)


@dataclass(frozen=True, slots=True)
class WindowRules:
    """How the windows of a query are to be read: `start` is t0 where none is written, `closed_open`
    makes windows with STEP `[open, close)`.

    >>> from static_data.terms import Iri
    >>> clause = WindowDeclaration(Iri("http://e/w"), Iri("http://e/s"), "range", 30, 10)
    >>> WindowRules().spec(clause)
    SlidingWindow(width=30, slide=10, start=0)
    """

    profile: Profile = PROFILES["rspql"]
    start: int = 0
    closed_open: bool = False

    def specs(self, query: Query) -> list[WindowSpec]:
        """The windows of a query, in order."""
        # An instant given from outside takes the printed rule of RSP-QL*, Definition 15.
        given = query.registration is not None and query.registration.every_ms is not None
        return [self.spec(declaration, given) for declaration in query.windows]

    def spec(self, declaration: WindowDeclaration, given_instants: bool = False) -> WindowSpec:
        """The window that one FROM [NAMED] WINDOW clause describes."""
        spec = self._uncomposed(declaration, given_instants)
        if declaration.inner is None:
            return spec
        return ComposedWindow(spec, self.spec(declaration.inner, given_instants))

    def _uncomposed(self, declaration: WindowDeclaration, given_instants: bool) -> WindowSpec:
        match declaration.kind:
            case "now":
                return NowWindow()
            case "elements":
                return ElementsWindow(declaration.width_elements or 1, declaration.slide_elements)
            case "landmark":
                return LandmarkWindow(declaration.start_ms)
            case "interval":
                assert declaration.start_ms is not None and declaration.end_ms is not None
                return IntervalWindow(declaration.start_ms, declaration.end_ms)
        spec = self._range(declaration, given_instants)
        return spec if declaration.delay_ms is None else DelayedWindow(spec, declaration.delay_ms)

    def _range(self, declaration: WindowDeclaration, given_instants: bool) -> WindowSpec:
        assert declaration.width_ms is not None
        width, slide, start = declaration.width_ms, declaration.slide_ms, declaration.start_ms
        if slide is None:
            window = RangeWindow(width)
            # Nothing up to t0 is ever in a window, with a step or without.
            return window if start is None else ComposedWindow(window, LandmarkWindow(start + 1))
        sliding = SlidingWindow(width, slide, self.start if start is None else start)
        if self.profile.last_closed:
            return ClosedOpenWindow(LastClosedWindow(sliding, strictly=given_instants))
        return ClosedOpenWindow(sliding) if self.closed_open else sliding
