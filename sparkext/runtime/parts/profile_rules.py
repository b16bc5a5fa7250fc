"""What a semantics profile makes of a query, and what it does not let the query say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparkext.errors import ProfileError
from sparkext.language.algebra import Graph, Window
from sparkext.language.event_patterns import CONSUMING, Match
from sparkext.language.nodes import Node, Position, Variable
from sparkext.language.query import Query, WindowDeclaration
from sparkext.r2r.patterns.inner_patterns import transform_everywhere
from sparkext.s2r.profiles import Profile
from static_data.terms import Iri

_NOWHERE = Position(1, 1)


def under_profile(query: Query, profile: Profile) -> Query:
    """The query as the profile reads it: with its streaming operator, its selection of events, and its
    windows merged where they have no names there, but for those that events are read from.

    Raises ProfileError for what the profile does not have: another streaming operator, STARTING AT
    where it hides t0, a report policy, a pattern over one window where windows are merged, and
    windows without a name where they are not.
    """
    _check_operator(query, profile)
    for declaration in query.windows:
        _check_window(declaration, profile)
    registration = query.registration
    if profile.policy_fixed and registration is not None and registration.report:
        _refuse(registration.position, profile, "has a report policy of its own: REPORT")
    pattern, of_events = _matches(query.pattern, profile)
    made = replace(query, pattern=pattern, default_operator=profile.operators[0])
    if not profile.merged:
        return made
    names = {declaration.name for declaration in query.windows}
    for node in _nodes(query.pattern):
        _check_merged(node, names, profile)
    windows = (w if w.name in of_events else replace(w, name=None) for w in query.windows)
    return replace(made, windows=tuple(windows))


def _matches(pattern: Node, profile: Profile) -> tuple[Node, set[Iri | Variable]]:
    """The pattern with a selection in each MATCH, and the windows that their events are read from."""
    windows: set[Iri | Variable] = set()

    def selecting(node: Node) -> Node:
        if not isinstance(node, Match):
            return node
        windows.update(event.name for event in node.events)
        if node.selection is not None:
            return node
        consumes = profile.selection in CONSUMING and not node.keeps
        return replace(node, selection=profile.selection, consumes=consumes, keeps=False)

    return transform_everywhere(pattern, selecting), windows


def _check_operator(query: Query, profile: Profile) -> None:
    registration = query.registration
    written = None if registration is None else registration.operator
    if registration is not None and written is not None and written not in profile.operators:
        known = " or ".join(profile.operators)
        _refuse(registration.position, profile, f"has only {known}: {written}")


def _check_window(declaration: WindowDeclaration, profile: Profile) -> None:
    place = declaration.position
    part: WindowDeclaration | None = declaration
    while part is not None:
        if profile.start_hidden and part.kind == "range" and part.start_ms is not None:
            _refuse(place, profile, "hides t0 (see spark.cqels.startingAt): STARTING AT")
        part = part.inner
    if profile.policy_fixed and declaration.report is not None:
        _refuse(place, profile, "has a report policy of its own: REPORT")
    if profile.merged is False and declaration.name is None:
        _refuse(place, profile, "does not merge windows: FROM WINDOW without NAMED")


def _check_merged(node: Node, names: set[Iri | None], profile: Profile) -> None:
    place = node.position
    if isinstance(node, Window):
        name = "a variable" if isinstance(node.name, Variable) else node.name.n3()
        _refuse(place, profile, f"merges all windows into the default graph: WINDOW with {name}")
    if isinstance(node, Graph) and node.name in names:
        _refuse(
            place,
            profile,
            f"merges all windows into the default graph: GRAPH with the window {node.name.n3()}",
        )


def _nodes(node: Node) -> Iterator[Node]:
    """All nodes, but the windows of events, which keep their names."""
    yield node
    for child in node.children if not isinstance(node, Match) else ():
        yield from _nodes(child)


def _refuse(position: Position | None, profile: Profile, what: str) -> None:
    line, column = position or _NOWHERE
    fact, _, refused = what.rpartition(": ")
    raise ProfileError(f"{refused} cannot be used: profile {profile.name} {fact}", line, column)
