"""Event patterns evaluated by their definitions (RSEP-QL, section 4; beyond the paper, docs/events.md).

Recursive over the algebra, one case an operator; nothing is kept and nothing is clever. Numbers in brackets are the
paper's equations, S-004-n its slips as docs/semantics.md reads them. Times are whole milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import inf
from typing import TypeAlias

from sparkext.errors import CheckError
from sparkext.language import event_patterns as ep
from sparkext.language.expressions import Aggregate
from sparkext.language.nodes import Variable
from sparkext.oracle.events.occurrences import Occurrence
from static_data.terms import XSD, Iri, Literal, Term

Solution: TypeAlias = frozenset[tuple[Variable, Term]]
"""A solution mapping: the variables that are bound, each with its term."""

Aggregated: TypeAlias = Callable[
    [Sequence[Solution], Sequence[tuple[Variable, Aggregate]]], Mapping[Variable, Term]
]
"""What aggregates are over some solutions, without those that are errors."""


@dataclass(frozen=True)
class EventMapping:
    """(mu, t1, t2): a solution mapping and the first and last instant that justify it."""

    mu: Solution
    first: int
    last: int

    def before(self, other: EventMapping) -> bool:
        """This ends before the other begins (S-004-11)."""
        return self.last < other.first


Found: TypeAlias = dict[EventMapping, frozenset[Occurrence]]
"""A set of event mappings, each with the occurrences of triples that any of its derivations uses."""


@dataclass(frozen=True)
class Scope:
    """The active window interval[low, high]: elements of other times take no part (W^id: no bounds)."""

    low: float = -inf
    high: float = inf

    def holds(self, time: int) -> bool:
        """Whether an element of this time takes part."""
        return self.low <= time <= self.high

    def before(self, time: int) -> Scope:
        """interval[0, time - 1] of this one (7)."""
        return Scope(self.low, min(self.high, time - 1))

    def after(self, time: int) -> Scope:
        """interval[time + 1, ...] of this one."""
        return Scope(max(self.low, time + 1), self.high)


@dataclass(frozen=True)
class EventPatternEvaluation:
    """The event mappings of MATCH at one instant under a selection policy.

    `basic` has the mappings of its basic events, by name (4).
    """

    match: ep.Match
    selection: ep.Selection
    basic: Mapping[str, Found]
    aggregated: Aggregated

    def found(self) -> Found:
        """[[E]] with W^id, before MATCH drops the times (8)."""
        return self._of(self.match.pattern, Scope(), frozenset())

    def _of(self, pattern: ep.EventPattern, scope: Scope, mu: Solution) -> Found:
        """[[mu(E)]]_W."""
        match pattern:
            case ep.Event(name):
                found = self.basic[name].items()
                return {m: why for m, why in found if scope.holds(m.first) and compatible(m.mu, mu)}
            case ep.First(input_):
                return first(self._of(input_, scope, mu))
            case ep.Last(input_):
                return last(self._of(input_, scope, mu))
            case ep.Sequence():
                return self._sequence(pattern, scope, mu)
            case ep.Conjunction(left, right):
                return self._both(left, right, scope, mu, lambda one, other: True)
            case ep.Related(relation, left, right):
                return self._both(left, right, scope, mu, RELATIONS[relation])
            case ep.Disjunction(left, right):
                parts = (self._of(left, scope, mu), self._of(right, scope, mu))
                return united(item for part in parts for item in part.items())
            case ep.Within(input_, duration):
                found = self._of(input_, scope, mu).items()
                return {m: why for m, why in found if m.last - m.first <= duration}
            case ep.Timed(input_, start, end):
                return self._timed(self._of(input_, scope, mu), start, end, mu)
            case ep.Repetition():
                return self._repetition(pattern, scope, mu)

    # ---- two patterns

    def _both(
        self,
        left: ep.EventPattern,
        right: ep.EventPattern,
        scope: Scope,
        mu: Solution,
        related: Callable[[EventMapping, EventMapping], bool],
    ) -> Found:
        """Compatible pairs that are so related, over the time that they span together."""
        rights = self._of(right, scope, mu)
        return united(
            (EventMapping(m1.mu | m2.mu, min(m1.first, m2.first), max(m1.last, m2.last)), w1 | w2)
            for m1, w1 in self._of(left, scope, mu).items()
            for m2, w2 in rights.items()
            if compatible(m1.mu, m2.mu) and related(m1, m2)
        )

    def _sequence(self, sequence: ep.Sequence, scope: Scope, mu: Solution) -> Found:
        runs = ep.is_repeated(sequence.left), ep.is_repeated(sequence.right)
        if all(runs):
            raise CheckError("the oracle does not know SEQ between two repetitions")
        match self.selection:
            case "unrestricted":
                pairs = (self._run_after if runs[1] else self._unrestricted)(sequence, scope, mu)
            case _ if any(runs):
                raise CheckError("the oracle knows repetitions in an unrestricted SEQ only")
            case "naive":
                pairs = self._naive(sequence, scope, mu)
            case selection:
                pairs = self._selected(sequence, scope, mu, selection == "chronological")
        return united(
            (EventMapping(m1.mu | m2.mu, m1.first, m2.last), w1 | w2)
            for (m1, w1), (m2, w2) in pairs
        )

    def _partners(
        self, sequence: ep.Sequence, m2: EventMapping, scope: Scope, mu: Solution
    ) -> Found:
        """[[mu2(E1)]] before t3: what the left side has for a mapping of the right one (7; S-004-5, S-004-12)."""
        found = self._of(sequence.left, scope.before(m2.first), mu | m2.mu)
        return {m1: w1 for m1, w1 in found.items() if self._is_pair(sequence, m1, m2, scope)}

    def _is_pair(
        self, sequence: ep.Sequence, m1: EventMapping, m2: EventMapping, scope: Scope
    ) -> bool:
        """SEQ NOT: nothing that fits both happens between them; without NOT every pair is one."""
        if sequence.absent is None:
            return True
        between = scope.after(m1.last).before(m2.first)
        return not self._of(sequence.absent, between, m1.mu | m2.mu)

    def _unrestricted(self, sequence: ep.Sequence, scope: Scope, mu: Solution) -> Iterator[_Pair]:
        """SEQ (7)."""
        for m2, w2 in self._of(sequence.right, scope, mu).items():
            for m1, w1 in self._partners(sequence, m2, scope, mu).items():
                yield (m1, w1), (m2, w2)

    def _run_after(self, sequence: ep.Sequence, scope: Scope, mu: Solution) -> Iterator[_Pair]:
        """SEQ with a repetition on the right: the run of what comes after each mapping of the left side."""
        for m1, w1 in self._of(sequence.left, scope, mu).items():
            later = self._of(sequence.right, scope.after(m1.last), mu | m1.mu)
            for m2, w2 in later.items():
                if self._is_pair(sequence, m1, m2, scope):
                    yield (m1, w1), (m2, w2)

    def _naive(self, sequence: ep.Sequence, scope: Scope, mu: Solution) -> Iterator[_Pair]:
        """SEQ^n (9): the last of each side, over all bindings, where they are compatible and in order (S-004-10)."""
        rights = last(self._of(sequence.right, scope, mu))
        for m1, w1 in last(self._of(sequence.left, scope, mu)).items():
            for m2, w2 in rights.items():
                in_order = compatible(m1.mu, m2.mu) and m1.before(m2)
                if in_order and self._is_pair(sequence, m1, m2, scope):
                    yield (m1, w1), (m2, w2)

    def _selected(
        self, sequence: ep.Sequence, scope: Scope, mu: Solution, earliest: bool
    ) -> Iterator[_Pair]:
        """SEQ^c (10) and SEQ^r (11), for each binding of the variables that both sides have (S-004-4)."""
        theirs = self.match.variables_of(sequence.right)
        shared = {v for v in self.match.variables_of(sequence.left) if v in theirs}
        with_partner = []
        for m2, w2 in self._of(sequence.right, scope, mu).items():
            partners = self._partners(sequence, m2, scope, mu)
            if partners:
                with_partner.append((m2, w2, partners))
        for m2, w2, partners in with_partner:
            binding = restricted(m2.mu, shared)
            rivals = [m for m, _, _ in with_partner if restricted(m.mu, shared) == binding]
            if any(rival.before(m2) if earliest else m2.before(rival) for rival in rivals):
                continue
            # The appendix has FIRST and LAST in each other's place (S-004-6).
            for m1, w1 in (first if earliest else last)(partners).items():
                yield (m1, w1), (m2, w2)

    # ---- one pattern

    def _timed(
        self, found: Found, start: Variable | None, end: Variable | None, mu: Solution
    ) -> Found:
        timed = []
        for m, why in found.items():
            times = {(start, date_time(m.first)), (end, date_time(m.last))}
            bound = frozenset((name, value) for name, value in times if name is not None)
            # One variable for both is t1 = t2; one that the other side of a SEQ has must be equal.
            if is_function(bound) and compatible(bound, mu):
                timed.append((EventMapping(m.mu | bound, m.first, m.last), why))
        return united(timed)

    def _repetition(self, repetition: ep.Repetition, scope: Scope, mu: Solution) -> Found:
        """E+: all mappings with one binding of the keys as one; the other variables are not those outside."""
        keys = set(repetition.keys)
        found = self._of(repetition.input, scope, restricted(mu, keys))
        runs: dict[Solution, Found] = {}
        for m, why in found.items():
            runs.setdefault(restricted(m.mu, keys), {})[m] = why
        united_runs = []
        for binding, run in runs.items():
            values = self.aggregated([m.mu for m in run], repetition.aggregates)
            bound = binding | frozenset(values.items())
            if compatible(bound, mu):
                times = min(m.first for m in run), max(m.last for m in run)
                why = frozenset(o for used in run.values() for o in used)
                united_runs.append((EventMapping(bound, *times), why))
        return united(united_runs)


_Item: TypeAlias = tuple[EventMapping, frozenset[Occurrence]]
_Pair: TypeAlias = tuple[_Item, _Item]


def united(items: Iterable[_Item]) -> Found:
    """The set of these mappings: one that is found twice is there once, justified by both."""
    found: Found = {}
    for mapping, why in items:
        found[mapping] = found.get(mapping, frozenset()) | why
    return found


def first(found: Found) -> Found:
    """FIRST (5): those that no other is before; ties stay.

    >>> a, b = EventMapping(frozenset(), 1, 3), EventMapping(frozenset(), 3, 4)
    >>> list(first({a: frozenset(), b: frozenset()})) == [a, b], list(first({b: frozenset()})) == [b]
    (True, True)
    """
    return {m: why for m, why in found.items() if not any(other.before(m) for other in found)}


def last(found: Found) -> Found:
    """LAST (6): those that are before no other; ties stay."""
    return {m: why for m, why in found.items() if not any(m.before(other) for other in found)}


def compatible(one: Solution, other: Solution) -> bool:
    """Whether no variable has two terms (an unbound one has none)."""
    return is_function(one | other)


def is_function(pairs: frozenset[tuple[Variable, Term]]) -> bool:
    """Whether each variable has one term."""
    return len({variable for variable, _ in pairs}) == len(pairs)


def restricted(mu: Solution, variables: Iterable[Variable]) -> Solution:
    """The solution mapping on these variables."""
    kept = set(variables)
    return frozenset((variable, term) for variable, term in mu if variable in kept)


def date_time(time: int) -> Literal:
    """The instant as xsd:dateTime in UTC with milliseconds.

    >>> date_time(8).lexical, date_time(-62135596800001).lexical
    ('1970-01-01T00:00:00.008Z', '0000-12-31T23:59:59.999Z')
    """
    days, rest = divmod(time, 86_400_000)
    # The calendar repeats itself every 400 years; `date` has the years 1 to 9999 only.
    cycles, days = divmod(days, 146_097)
    day = date(1970, 1, 1) + timedelta(days)
    year = day.year + 400 * cycles
    seconds, millis = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    sign = "-" if year < 0 else ""
    text = f"{sign}{abs(year):04d}-{day:%m-%d}T{hour:02d}:{minute:02d}:{second:02d}.{millis:03d}Z"
    return Literal(text, Iri(f"{XSD}dateTime"))


def _swapped(
    relation: Callable[[EventMapping, EventMapping], bool],
) -> Callable[[EventMapping, EventMapping], bool]:
    return lambda one, other: relation(other, one)


def _meets(one: EventMapping, other: EventMapping) -> bool:
    return one.last == other.first


def _overlaps(one: EventMapping, other: EventMapping) -> bool:
    return one.first < other.first < one.last < other.last


def _during(one: EventMapping, other: EventMapping) -> bool:
    return other.first < one.first and one.last < other.last


def _starts(one: EventMapping, other: EventMapping) -> bool:
    return one.first == other.first and one.last < other.last


def _finishes(one: EventMapping, other: EventMapping) -> bool:
    return one.last == other.last and other.first < one.first


def _equals(one: EventMapping, other: EventMapping) -> bool:
    return (one.first, one.last) == (other.first, other.last)


RELATIONS: Mapping[ep.Relation, Callable[[EventMapping, EventMapping], bool]] = {
    "meets": _meets,
    "met by": _swapped(_meets),
    "overlaps": _overlaps,
    "overlapped by": _swapped(_overlaps),
    "during": _during,
    "contains": _swapped(_during),
    "starts": _starts,
    "started by": _swapped(_starts),
    "finishes": _finishes,
    "finished by": _swapped(_finishes),
    "equals": _equals,
}
