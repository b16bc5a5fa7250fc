"""Profiles of semantics: the table of the RSP-QL paper (section 5), the default, and RSP-QL*.

- `rspql`: windows are named, or merged in the default graph when they have no name; the present window is the one that
  opened first, (open, close]; reports on close, non-empty (WC and NC), without STEP on arrivals; any streaming
  operator; t0 is written, else the epoch.
- `rspqlstar`: the same with [open, close) and the window that closed last; outside GRAPH a window shows only its time
  triples.
- `csparql`: all windows merged in the default graph; WC and NC; RStream; t0 hidden.
- `cqels`: named windows; arrivals; IStream; t0 hidden.
- `sparqlstream`: all windows merged in the default graph; WC and NC; any streaming operator; t0 hidden.

COMPUTED EVERY replaces the instants in every profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sparkext.errors import CheckError, ConfigurationError
from sparkext.language.query import Query, WindowDeclaration
from sparkext.oracle.report_definitions import Condition, Rule, Strategy, first_start
from sparkext.oracle.window_definitions import (
    ClosedOpen,
    Elements,
    LastClosed,
    Now,
    Range,
    Sliding,
    Window,
)


@dataclass(frozen=True)
class Profile:
    """What a profile fixes.

    `merged`: all windows' content is in the default graph, and none can be read by its name. `only_times`: outside
    GRAPH a window shows only its time triples. `operator`: the only streaming operator there is.
    """

    name: str
    merged: bool = False
    only_times: bool = False
    closed_open: bool = False
    arrivals: bool = False
    operator: str | None = None
    hidden_start: bool = False


PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("rspql"),
        Profile("rspqlstar", only_times=True, closed_open=True),
        Profile("csparql", merged=True, operator="RSTREAM", hidden_start=True),
        Profile("cqels", arrivals=True, operator="ISTREAM", hidden_start=True),
        Profile("sparqlstream", merged=True, hidden_start=True),
    )
}


def profile_of(name: str) -> Profile:
    """The profile of this name; raises ConfigurationError."""
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise ConfigurationError("spark.cqels.semantics", f"must be one of {known}, not {name!r}")
    return PROFILES[name]


def windows_of(
    query: Query, profile: Profile, starts: Sequence[int | None] | None = None
) -> list[Window]:
    """The windows of a query in the order of their clauses; `starts` puts other t0 in the place of those written."""
    every = _every(query)
    found = []
    for place, declared in enumerate(query.windows):
        start = None if starts is None else starts[place]
        found.append(_window(declared, profile, every is not None, start))
    return found


def _every(query: Query) -> int | None:
    return None if query.registration is None else query.registration.every_ms


def _window(
    declared: WindowDeclaration, profile: Profile, from_outside: bool, start: int | None
) -> Window:
    window = _plain_window(declared, start)
    if not profile.closed_open or isinstance(window, Now | Elements):
        return window
    if isinstance(window, Sliding):
        # An instant given from outside sees what closed before it, a report of a close what closes.
        return ClosedOpen(LastClosed(window, before=from_outside))
    return ClosedOpen(window)


def _plain_window(declared: WindowDeclaration, start: int | None) -> Window:
    match declared.kind:
        case "now":
            return Now()
        case "elements" if declared.width_elements is not None:
            return Elements(declared.width_elements, declared.slide_elements)
        case "range" if declared.width_ms is not None:
            if declared.slide_ms is None:
                return Range(declared.width_ms)
            written = declared.start_ms if start is None else start
            return Sliding(declared.width_ms, declared.slide_ms, written or 0)
    raise CheckError(f"the oracle does not know windows of the kind {declared.kind!r}")


def rules_of(query: Query, profile: Profile, windows: Sequence[Window]) -> list[Rule]:
    """The report policy of a query over these windows."""
    every = _every(query)
    if every is not None:
        return [Rule(every=every, start=first_start(windows))]
    rules = []
    for place, window in enumerate(windows):
        if window.closes_apart and not profile.arrivals:
            strategies: tuple[Strategy, ...] = (Strategy.WINDOW_CLOSE, Strategy.NON_EMPTY)
        else:
            strategies = (Strategy.CONTENT_CHANGE,)
        rules.append(Rule(tuple(Condition(strategy, place) for strategy in strategies)))
    return rules


def operator_of(query: Query, profile: Profile) -> str:
    """RSTREAM, ISTREAM or DSTREAM: the profile's own where it has only one."""
    return profile.operator or query.stream_operator
