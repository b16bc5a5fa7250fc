"""Rule: what a group says of a MATCH's variables by static patterns is asked of each event before it is kept."""

from __future__ import annotations

from collections.abc import Iterator

from sparkext.language.algebra import Bgp, Extend, Filter, Graph, Join
from sparkext.language.event_patterns import Match
from sparkext.language.nodes import Node, TriplePattern, Variable
from static_data.terms import Iri


def restrictions(node: Node, match: Match) -> list[list[Node]]:
    """For each event of a MATCH, the static patterns of one variable with which the group around it is joined.

    Before: ``Join(Match(E1 SEQ E2), Bgp(?x a :Rare, ?x :name ?n))``, ?x a variable of E1; after: E1 is joined with
    ``Bgp(?x a :Rare)``, so that only rare ones are kept, and E2 with nothing. The group's own join stays as it is.

    A triple pattern of one variable holds for a value once or not at all, so no mapping comes more often. That is sound
    where matches are only gained by events: what is selected among events must be selected among all of them.
    """
    groups = list(_groups_of(node, match))
    static = (
        list(_static(groups[0])) if len(groups) == 1 else []
    )  # an equal MATCH elsewhere is another
    found: list[list[Node]] = []
    for event in match.events:
        own = set(event.variables)
        found.append([pattern for pattern in static if set(pattern.variables) <= own])
    return found


def _groups_of(node: Node, match: Match) -> Iterator[list[Node]]:
    """What the MATCH is joined with: the parts of the join in which it stands."""
    parts = list(_joined(node))
    for part in parts:
        if part == match:
            yield parts
        if isinstance(part, Graph):
            continue  # patterns there are those of its graph
        for child in part.children:
            yield from _groups_of(child, match)


def _joined(node: Node) -> Iterator[Node]:
    match node:
        case Join():
            yield from _joined(node.left)
            yield from _joined(node.right)
        case Filter() | Extend():
            yield from _joined(node.input)
        case _:
            yield node


def _static(parts: list[Node]) -> Iterator[Node]:
    for part in parts:
        match part:
            case Bgp():
                yield from (Bgp((t,)) for t in part.patterns if _has_one_variable(t))
            case Graph(name=Iri() as name, input=Bgp(patterns=patterns)):
                yield from (Graph(name, Bgp((t,))) for t in patterns if _has_one_variable(t))


def _has_one_variable(pattern: TriplePattern) -> bool:
    return len(pattern.variables) == 1 and sum(isinstance(t, Variable) for t in pattern) == 1
