"""Profiles of semantics: the table of the RSP-QL paper (section 5), the default, and RSP-QL*.

- `rspql`: windows are named, or merged in the default graph when they have no name; the present window is the one that
  opened first, (open, close]; reports on close, non-empty (WC and NC), without STEP on arrivals; any streaming
  operator; t0 is written, else the epoch.
- `rspqlstar`: the same with [open, close) and the window that closed last; outside GRAPH a window shows only its time
  triples.
- `csparql`: all windows merged in the default graph, but for those of events; WC and NC; RStream; t0 hidden.
- `cqels`: named windows; arrivals; IStream; t0 hidden.
- `sparqlstream`: all windows merged in the default graph; WC and NC; any streaming operator; t0 hidden.
- `epsparql-unrestricted`, `epsparql-chronological`, `epsparql-recent`: EP-SPARQL's settings (RSEP-QL, Table 1), named
  as the selection policy of a MATCH that writes none; arrivals; any streaming operator, ISTREAM if none is written.

MATCH selects unrestricted where neither it nor the profile says otherwise; C-SPARQL selects as SEQ^n.

COMPUTED EVERY replaces the instants in every profile, REPORT in those that fix none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final

from sparkext.errors import CheckError, ConfigurationError
from sparkext.language.event_patterns import Match, Selection
from sparkext.language.query import Query, WindowDeclaration
from sparkext.oracle.report_definitions import Condition, Rule, Strategy, first_start
from sparkext.oracle.window_definitions import (
    ClosedOpen,
    Composed,
    Delayed,
    Elements,
    Interval,
    Landmark,
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
    GRAPH, a window shows only its elements' time triples. `last_closed`: windows are [open, close), and the one that
    closed last is seen. `arrivals`: queries are evaluated as elements arrive. `operator`: the only streaming operator
    there is, `usual_operator` the one of a query that writes none. `hidden_start`: queries do not say t0. `selection`:
    the selection policy of a MATCH that writes none.
    """

    name: str
    merged: bool = False
    only_times: bool = False
    last_closed: bool = False
    arrivals: bool = False
    operator: str | None = None
    hidden_start: bool = False
    usual_operator: str = "RSTREAM"
    selection: Selection = "unrestricted"


_EP_SPARQL: Final[tuple[Selection, ...]] = ("unrestricted", "chronological", "recent")

PROFILES: Final = {
    profile.name: profile
    for profile in (
        Profile("rspql"),
        Profile("rspqlstar", only_times=True, last_closed=True),
        Profile("csparql", merged=True, operator="RSTREAM", hidden_start=True, selection="naive"),
        Profile("cqels", arrivals=True, operator="ISTREAM", hidden_start=True),
        Profile("sparqlstream", merged=True, hidden_start=True),
        *(
            Profile(
                f"epsparql-{selection}",
                arrivals=True,
                usual_operator="ISTREAM",
                selection=selection,
            )
            for selection in _EP_SPARQL
        ),
    )
}


def profile_of(name: str) -> Profile:
    """The profile of this name; raises ConfigurationError."""
    if name not in PROFILES:
        known = ", ".join(PROFILES)
        raise ConfigurationError("spark.cqels.semantics", f"must be one of {known}, not {name!r}")
    return PROFILES[name]


@dataclass(frozen=True)
class Reading:
    """How a query's clauses are read: `starting_at` is t0 where none is written, `closed_open` makes windows with STEP
    [open, close) in every profile, `bags` counts what several elements of a window hold."""

    profile: Profile = PROFILES["rspql"]
    starting_at: int = 0
    closed_open: bool = False
    bags: bool = False


def windows_of(
    query: Query, reading: Reading, starts: Sequence[int | None] | None = None
) -> list[Window]:
    """The windows of a query in the order of their clauses; `starts` puts other t0 in the place of those written."""
    return [
        _window(
            declared, reading, _every(query) is not None, None if starts is None else starts[place]
        )
        for place, declared in enumerate(query.windows)
    ]


def _every(query: Query) -> int | None:
    return None if query.registration is None else query.registration.every_ms


def _window(
    declared: WindowDeclaration, reading: Reading, from_outside: bool, start: int | None
) -> Window:
    window = _alone(declared, reading, from_outside, start)
    if declared.delay_ms is not None:
        window = Delayed(window, declared.delay_ms)
    if declared.inner is not None:
        window = Composed(window, _window(declared.inner, reading, from_outside, start))
    return window


def _alone(
    declared: WindowDeclaration, reading: Reading, from_outside: bool, start: int | None
) -> Window:
    """The window of a clause without its delay and what it is applied to."""
    begin = declared.start_ms
    match declared.kind:
        case "now":
            return Now()
        case "elements" if declared.width_elements is not None:
            return Elements(declared.width_elements, declared.slide_elements)
        case "landmark":
            return Landmark(begin)
        case "interval" if begin is not None and declared.end_ms is not None:
            return Interval(begin, declared.end_ms)
        case "range" if declared.width_ms is not None and declared.slide_ms is None:
            window = Range(declared.width_ms)
            # Nothing up to t0 is in a window, with a step or without.
            return window if begin is None else Composed(window, Landmark(begin + 1))
        case "range" if declared.width_ms is not None and declared.slide_ms is not None:
            if start is None:
                start = reading.starting_at if begin is None else begin
            sliding = Sliding(declared.width_ms, declared.slide_ms, start)
            if reading.profile.last_closed:
                # An instant given from outside sees what closed before it, a report of a close what closes.
                return ClosedOpen(LastClosed(sliding, before=from_outside))
            return ClosedOpen(sliding) if reading.closed_open else sliding
    raise CheckError(f"the oracle does not know windows of the kind {declared.kind!r}")


def rules_of(query: Query, reading: Reading, windows: Sequence[Window]) -> list[Rule]:
    """The report policy of a query over these windows.

    What REPORT says comes before the profile's policy; with REPORT on some windows, the others decide nothing.
    COMPUTED EVERY joins every rule that is written, and is the policy where none is.
    """
    every, begin = _every(query), first_start(windows, reading.starting_at)
    written = _written_rules(query, windows, reading.starting_at)
    if every is not None:
        return [replace(rule, every=every, start=begin) for rule in written or [Rule()]]
    if written:
        return written
    rules = []
    for place, window in enumerate(windows):
        if window.closes_apart and not reading.profile.arrivals:
            strategies: tuple[Strategy, ...] = (Strategy.WINDOW_CLOSE, Strategy.NON_EMPTY)
        else:
            strategies = (Strategy.CONTENT_CHANGE,)
        rules.append(Rule(tuple(Condition(strategy, place) for strategy in strategies)))
    return rules


def _written_rules(query: Query, windows: Sequence[Window], starting_at: int) -> list[Rule]:
    """The conjunctions of the REPORT clauses, of REGISTER and of the windows."""
    rules = []
    places = {declared.name: place for place, declared in enumerate(query.windows)}
    for written in () if query.registration is None else query.registration.report:
        conditions = tuple(Condition(Strategy(s), places[w]) for s, w in written.conditions)
        rules.append(Rule(conditions, written.every_ms, first_start(windows, starting_at)))
    for place, declared in enumerate(query.windows):
        if declared.report is not None:
            conditions = tuple(Condition(Strategy(s), place) for s in declared.report.strategies)
            start = first_start([windows[place]], starting_at)
            rules.append(Rule(conditions, declared.report.every_ms, start))
    return rules


def merged_windows(query: Query, profile: Profile) -> list[bool]:
    """Whether the default graph has the content of each window; those that events are read from keep their names."""
    read = {event.name for match in _matches(query.pattern) for event in match.events}
    return [w.name is None or (profile.merged and w.name not in read) for w in query.windows]


def _matches(part: object) -> Iterator[Match]:
    """Every MATCH in a part of the algebra, also inside expressions."""
    if isinstance(part, Match):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _matches(item)
    elif is_dataclass(part):
        for field in fields(part):
            yield from _matches(getattr(part, field.name))


def operator_of(query: Query, profile: Profile) -> str:
    """RSTREAM, ISTREAM or DSTREAM; raises CheckError for one that the profile does not have."""
    written = None if query.registration is None else query.registration.operator
    if profile.operator is None:
        return written or profile.usual_operator
    if written not in (None, profile.operator):
        raise CheckError(f"profile {profile.name} has only {profile.operator}, not {written}")
    return profile.operator
