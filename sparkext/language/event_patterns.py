"""Event patterns: what MATCH looks for in streams (RSEP-QL, section 3.3), and what goes beyond the paper.

Their meaning is in docs/events.md. A pattern is evaluated to event mappings (mu, t1, t2): a solution mapping and the
first and last instant that justify it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, TypeAlias

from sparkext.language.algebra import Window
from sparkext.language.expressions import Aggregate
from sparkext.language.nodes import Node, Position, Variable, merge_variables

Selection = Literal["unrestricted", "naive", "chronological", "recent"]
"""Which sequences are selected: SEQ, SEQ^n, SEQ^c or SEQ^r (RSEP-QL, section 4.3)."""

CONSUMING: Final[frozenset[Selection]] = frozenset({"chronological", "recent"})
"""The selections that consume what they have used, unless the query says WITHOUT CONSUMPTION."""

Relation = Literal[
    "meets",
    "met by",
    "overlaps",
    "overlapped by",
    "during",
    "contains",
    "starts",
    "started by",
    "finishes",
    "finished by",
    "equals",
]
"""Allen's relations of two intervals that are not one before the other."""


@dataclass(frozen=True)
class Event:
    """The event pattern declared by this name: EVENT ON :w { P } AS name."""

    name: str
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class First:
    """The mappings that no other one is before (5)."""

    input: EventPattern


@dataclass(frozen=True)
class Last:
    """The mappings that no other one is after (6)."""

    input: EventPattern


@dataclass(frozen=True)
class Sequence:
    """`left` SEQ `right` (7, 9-11); with `absent`, left SEQ NOT absent SEQ right."""

    left: EventPattern
    right: EventPattern
    absent: EventPattern | None = None


@dataclass(frozen=True)
class Conjunction:
    """Both, in whatever order: `left` AND `right`."""

    left: EventPattern
    right: EventPattern


@dataclass(frozen=True)
class Disjunction:
    """Either: `left` OR `right`."""

    left: EventPattern
    right: EventPattern


@dataclass(frozen=True)
class Related:
    """Both, their intervals in one of Allen's relations."""

    relation: Relation
    left: EventPattern
    right: EventPattern


@dataclass(frozen=True)
class Within:
    """The mappings with t2 - t1 of at most so many milliseconds."""

    input: EventPattern
    duration_ms: int


@dataclass(frozen=True)
class Repetition:
    """`input`+ BY keys: all mappings with equal keys as one, with aggregates over them."""

    input: EventPattern
    keys: tuple[Variable, ...] = ()
    aggregates: tuple[tuple[Variable, Aggregate], ...] = ()


@dataclass(frozen=True)
class Timed:
    """The same mappings with t1 and t2 as values of variables, xsd:dateTime (None: not asked for)."""

    input: EventPattern
    start: Variable | None
    end: Variable | None


EventPattern: TypeAlias = (
    Event
    | First
    | Last
    | Sequence
    | Conjunction
    | Disjunction
    | Related
    | Within
    | Repetition
    | Timed
)


def parts_of(pattern: EventPattern) -> tuple[EventPattern, ...]:
    """The event patterns that one is made of, from left to right.

    >>> a, b, c = Event("A"), Event("B"), Event("C")
    >>> parts_of(Sequence(a, c, absent=b)) == (a, b, c), parts_of(a)
    (True, ())
    """
    match pattern:
        case Event():
            return ()
        case Sequence(left, right, absent):
            return (left, right) if absent is None else (left, absent, right)
        case Conjunction(left, right) | Disjunction(left, right) | Related(_, left, right):
            return (left, right)
    return (pattern.input,)


def walk(pattern: EventPattern) -> Iterator[EventPattern]:
    """The pattern and everything below it, parents first, from left to right."""
    yield pattern
    for part in parts_of(pattern):
        yield from walk(part)


def made_variables(pattern: EventPattern) -> tuple[Variable, ...]:
    """The variables that a pattern makes itself, times and aggregates, also where a repetition hides them.

    >>> inner = Timed(Event("A"), Variable("t"), None)
    >>> [str(variable) for variable in made_variables(Repetition(inner))]
    ['?t']
    """
    made: list[Variable] = []
    for part in walk(pattern):
        if isinstance(part, Timed):
            made += (name for name in (part.start, part.end) if name is not None)
        elif isinstance(part, Repetition):
            made += (name for name, _ in part.aggregates)
    return merge_variables(made)


def is_repeated(pattern: EventPattern) -> bool:
    """Whether a pattern is a repetition, perhaps with a limit or times around it.

    >>> is_repeated(Within(Repetition(Event("A")), 1000)), is_repeated(Event("A"))
    (True, False)
    """
    while isinstance(pattern, Timed | Within):
        pattern = pattern.input
    return isinstance(pattern, Repetition)


def change_aggregates(
    pattern: EventPattern, change: Callable[[Aggregate], Aggregate]
) -> EventPattern:
    """The pattern with `change` applied to the aggregates of its repetitions."""
    match pattern:
        case Event():
            return pattern
        case Sequence() | Conjunction() | Disjunction() | Related():
            left = change_aggregates(pattern.left, change)
            right = change_aggregates(pattern.right, change)
            changed = replace(pattern, left=left, right=right)
            if isinstance(changed, Sequence) and changed.absent is not None:
                return replace(changed, absent=change_aggregates(changed.absent, change))
            return changed
    inner = change_aggregates(pattern.input, change)
    if isinstance(pattern, Repetition):
        aggregates = tuple((name, change(aggregate)) for name, aggregate in pattern.aggregates)
        return replace(pattern, input=inner, aggregates=aggregates)
    return replace(pattern, input=inner)


@dataclass(frozen=True)
class Match(Node):
    """MATCH: the solution mappings of an event pattern (8).

    `names` and `events` are the events of the pattern, in order of appearance: EVENT ON :w { P } AS E is name E and
    Window(:w, P). With `consumes`, the triples of elements that justify a match are not used again in later
    evaluations (P^c, P^r; slip S-004-7: occurrences); `unrestricted`, `naive` never do.

    Without a `selection` it is the profile's (under none, unrestricted), with the consumption that goes with it unless
    the query `keeps` what it uses (WITHOUT CONSUMPTION).
    """

    pattern: EventPattern
    names: tuple[str, ...]
    events: tuple[Window, ...]
    selection: Selection | None = None
    consumes: bool = False
    keeps: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        return self.events

    def replace_children(self, children: tuple[Node, ...]) -> Match:
        events = tuple(child for child in children if isinstance(child, Window))
        if len(events) != len(self.names):
            raise ValueError("the inputs of MATCH are the windows of its events")
        return replace(self, events=events)

    def event(self, name: str) -> Window:
        """The window and pattern of an event; raises ValueError."""
        return self.events[self.names.index(name)]

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        return self.variables_of(self.pattern)

    def variables_of(self, pattern: EventPattern) -> tuple[Variable, ...]:
        """The variables that mappings of a part of the pattern may bind."""
        match pattern:
            case Event(name):  # its blank nodes are its own: used twice, it may match two
                return tuple(v for v in self.event(name).variables if not v.hidden)
            case Sequence(left, right):  # what is absent binds nothing
                return merge_variables(self.variables_of(left), self.variables_of(right))
            case Repetition(_, keys, aggregates):
                return merge_variables(keys, (name for name, _ in aggregates))
            case Timed(input_, start, end):
                times = (v for v in (start, end) if v is not None)
                return merge_variables(self.variables_of(input_), times)
        return merge_variables(*(self.variables_of(part) for part in parts_of(pattern)))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates of its repetitions."""
        repetitions = (part for part in walk(self.pattern) if isinstance(part, Repetition))
        return tuple(aggregate for part in repetitions for _, aggregate in part.aggregates)
