"""The report policy of a registered query: what its text says, what was asked for, or the profile's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkext.argument_checks import check
from sparkext.language.query import Query, ReportStrategy, strategy_named
from sparkext.s2r.profiles import Profile
from sparkext.s2r.report import (
    Condition,
    ReportPolicy,
    ReportPolicyError,
    Rule,
    Strategy,
    first_start,
    policy_of_profile,
)
from sparkext.s2r.windows import WindowSpec

ReportWish = str | Mapping[str, str] | ReportPolicy
"""Strategies of every window ("WINDOW CLOSE AND NON-EMPTY CONTENT"), of some by name, or a policy."""


def says_when(query: Query) -> bool:
    """Whether the query's text has a REPORT clause."""
    registered = query.registration is not None and bool(query.registration.report)
    return registered or any(window.report is not None for window in query.windows)


def policy_of(
    query: Query,
    windows: Sequence[WindowSpec],
    profile: Profile,
    start: int = 0,
    wish: ReportWish | None = None,
) -> ReportPolicy:
    """The policy under which a query over these windows is evaluated.

    `wish` comes before REPORT in the text, REPORT before the profile's policy. With REPORT on some
    windows, the others decide nothing. COMPUTED EVERY joins every rule of a chosen policy; alone it
    is the policy. `start` is t0 where no window has one. Raises ReportPolicyError.
    """
    every = query.registration.every_ms if query.registration is not None else None
    if wish is None and not says_when(query):
        return policy_of_profile(profile.name, windows, every, start)
    if profile.policy_fixed:
        raise ReportPolicyError(f"profile {profile.name} has a report policy of its own")
    if isinstance(wish, ReportPolicy):
        rules = wish.rules
    elif wish is not None:
        rules = _wished(query, wish)
    else:
        rules = _written(query, windows, start)
    if every is None:
        return ReportPolicy(rules)
    if any(rule.every is not None for rule in rules):
        raise ReportPolicyError("COMPUTED EVERY and EVERY in a report policy exclude each other")
    begin = first_start(windows, start)
    return ReportPolicy(tuple(Rule(rule.conditions, every, begin) for rule in rules))


def _written(query: Query, windows: Sequence[WindowSpec], start: int) -> tuple[Rule, ...]:
    rules = []
    places = {window.name: place for place, window in enumerate(query.windows)}
    if query.registration is not None:
        for rule in query.registration.report:
            conditions = tuple(
                Condition(Strategy(strategy), places[window])
                for strategy, window in rule.conditions
            )
            rules.append(Rule(conditions, rule.every_ms, first_start(windows, start)))
    for place, window in enumerate(query.windows):
        if window.report is not None:
            begin = first_start([windows[place]], start)
            conditions = _conditions(window.report.strategies, place)
            rules.append(Rule(conditions, window.report.every_ms, begin))
    return tuple(rules)


def _check_wish(wish: object) -> None:
    parts = [wish]
    if isinstance(wish, Mapping):
        parts = [*wish, *wish.values()]
    for part in parts:
        if not isinstance(part, str):
            wanted = "strategies, a dictionary of strategies by window IRI, or a ReportPolicy"
            raise check.wrong("report", wanted, wish)


def _wished(query: Query, wish: str | Mapping[str, str]) -> tuple[Rule, ...]:
    _check_wish(wish)
    names = [None if w.name is None else w.name.value for w in query.windows]
    if isinstance(wish, str):
        strategies = _strategies(wish)
        return tuple(Rule(_conditions(strategies, place)) for place in range(len(names)))
    unknown = [name for name in wish if name not in names]
    if unknown:
        raise ReportPolicyError(f"the report policy names the window <{unknown[0]}>, not declared")
    return tuple(
        Rule(_conditions(_strategies(text), names.index(name))) for name, text in wish.items()
    )


def _conditions(strategies: Sequence[ReportStrategy], place: int) -> tuple[Condition, ...]:
    return tuple(Condition(Strategy(strategy), place) for strategy in strategies)


def _strategies(text: str) -> list[ReportStrategy]:
    """The strategies of a text such as "WC AND NC".

    >>> _strategies("window close and non-empty content")
    ['WC', 'NC']
    """
    found = []
    for part in " ".join(text.upper().split()).split(" AND "):
        strategy = strategy_named(part)
        if strategy is None:
            known = "WINDOW CLOSE, CONTENT CHANGE, STRICT CONTENT CHANGE, NON-EMPTY CONTENT"
            raise ReportPolicyError(f"report: {part!r} is not a report strategy (known: {known})")
        found.append(strategy)
    return found
