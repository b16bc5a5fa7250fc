"""What the engine does not run yet, in one table, and the pass that refuses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sparkext.errors import UnsupportedFeatureError, failures_told
from sparkext.language.algebra import (
    Extend,
    Filter,
    Group,
    LeftJoin,
    Minus,
    OrderBy,
    Service,
    Slice,
    Values,
)
from sparkext.language.casts import cast_of
from sparkext.language.event_patterns import (
    Event,
    EventPattern,
    Match,
    Sequence,
    is_repeated,
    walk,
)
from sparkext.language.expressions import (
    Exists,
    Expression,
    FunctionCall,
)
from sparkext.language.nodes import Node, Position
from sparkext.language.query import Query
from sparkext.language.timestamps import is_timestamp
from sparkext.language.uncertainty import uncertainty_function

# ------------------------------------------------------------------------------------------
# The table. To support something, take its line out (or put its name into one of the sets).

REFUSED_NODES: Final[dict[type[Node], str]] = {
    Service: "SERVICE",
}
REFUSED_EXPRESSIONS: Final[dict[type[Expression], str]] = {}
# ------------------------------------------------------------------------------------------

_Finding = tuple[Position, str]
_WRITTEN: Final[dict[type[Node], str]] = {
    Extend: "BIND",
    Group: "GROUP BY or an aggregate",
    LeftJoin: "OPTIONAL",
    Minus: "MINUS",
    OrderBy: "ORDER BY",
    Slice: "LIMIT or OFFSET",
    Values: "VALUES",
}
_NOWHERE: Final = Position(1, 1)


def check_supported(query: Query, functions: frozenset[str] = frozenset()) -> None:
    """Raise `UnsupportedFeatureError` for the first thing in the text that the engine does not run.

    `functions` are the IRIs of users' functions that it does run.

    >>> from sparkext.language.translation.parser import parse_query
    >>> check_supported(parse_query("ASK { SERVICE <http://e/> { ?s ?p ?o } }"))
    Traceback (most recent call last):
    sparkext.errors.UnsupportedFeatureError: line 1, column 7: SERVICE is not supported yet
    """
    with failures_told():
        findings = sorted(_in_query(query, functions))
    if findings:
        (line, column), what = findings[0]
        raise UnsupportedFeatureError(f"{what} {_is_are(what)} not supported yet", line, column)


def query_word(node: Node) -> str:
    """What a query writes for a node of the algebra, for messages.

    >>> from sparkext.language.translation.parser import parse_query
    >>> query_word(parse_query("SELECT * { ?s ?p ?o } LIMIT 1").pattern)
    'LIMIT or OFFSET'
    """
    return _WRITTEN.get(type(node), type(node).__name__.upper())


def _is_are(what: str) -> str:
    return "are" if what.split(" in ")[0].split(" named")[0].endswith("s") else "is"


def _in_query(query: Query, functions: frozenset[str]) -> Iterator[_Finding]:
    yield from _in_node(query.pattern, functions)


def _in_node(node: Node, functions: frozenset[str]) -> Iterator[_Finding]:
    place = node.position or _NOWHERE
    if type(node) in REFUSED_NODES:
        yield place, REFUSED_NODES[type(node)]
    for expression in expressions_of(node):
        yield from _in_expression(expression, functions)
    if isinstance(node, Match):
        yield from _in_match(node)
        yield from _times_asked_in(node)
    for child in node.children:
        yield from _in_node(child, functions)


def _in_match(match: Match) -> Iterator[_Finding]:
    for part in walk(match.pattern):
        if not isinstance(part, Sequence):
            continue
        repeated = [side for side in (part.left, part.right) if is_repeated(side)]
        if len(repeated) == 2:
            yield _place_of(part), "a repetition on both sides of SEQ"
        elif repeated and match.selection not in (None, "unrestricted"):
            yield _place_of(repeated[0]), f"a repetition in a SEQ that selects {match.selection}"


def _times_asked_in(match: Match) -> Iterator[_Finding]:
    for event in match.events:
        for node in event.walk():
            for expression in expressions_of(node):
                for part in expression.walk():
                    if is_timestamp(part):
                        yield part.position or _NOWHERE, "the time of a triple in an EVENT"


def _place_of(pattern: EventPattern) -> Position:
    places = (part.position for part in walk(pattern) if isinstance(part, Event))
    return next((place for place in places if place is not None), _NOWHERE)


def expressions_of(node: Node) -> tuple[Expression, ...]:
    """The expressions that a node of the algebra computes itself."""
    match node:
        case Filter():
            return (node.condition,)
        case LeftJoin():
            return () if node.condition is None else (node.condition,)
        case Extend():
            return (node.expression,)
        case Group():
            return (
                *(key for _, key in node.keys),
                *(aggregate for _, aggregate in node.aggregates),
            )
        case OrderBy():
            return tuple(key.expression for key in node.keys)
        case Match():
            return node.aggregates
    return ()


def _in_expression(expression: Expression, functions: frozenset[str]) -> Iterator[_Finding]:
    for part in expression.walk():
        place = part.position or _NOWHERE
        if type(part) in REFUSED_EXPRESSIONS:
            yield place, REFUSED_EXPRESSIONS[type(part)]
        if isinstance(part, Exists):
            yield from _in_node(part.pattern, functions)
        match part:
            case FunctionCall() if uncertainty_function(part) is not None or is_timestamp(part):
                pass
            case FunctionCall() if part.function in functions and not part.distinct:
                pass
            case FunctionCall() if cast_of(part) is None:
                yield place, f"the function <{part.function}>"
            case FunctionCall() if part.distinct or len(part.arguments) != 1:
                yield place, f"anything but one argument in the cast <{part.function}>"
